"""What the proofs of samplers are worth: bugs are planted, and counted are those that a proof catches.

The proofs are the tests of the other files, each at a false-alarm rate of at most 1e-6 with fixed seeds. What is right
has to pass all of them, and what differs from it but has the same law, all that are about laws.
"""

import sys

import pytest

from tests.chains import planted_chains, planted_warmup
from tests.components.inits import planted_starts
from tests.components.samplers import (
    planted_exact,
    planted_gibbs,
    planted_gibbs_with_gradients,
    planted_hmc,
    planted_icm,
    planted_langevin,
    planted_mala,
    planted_metropolis,
    planted_mixed_mala,
    planted_nuts,
    planted_parallel_tempering,
    planted_simulated_annealing,
    planted_underdamped_langevin,
)
from tests.planting import caught, in_step, name_of, planted

TABLES = {
    "metropolis": planted_metropolis,
    "langevin": planted_langevin,
    "mala": planted_mala,
    "mixed_mala": planted_mixed_mala,
    "hmc": planted_hmc,
    "nuts": planted_nuts,
    "underdamped_langevin": planted_underdamped_langevin,
    "gibbs": planted_gibbs,
    "gibbs_with_gradients": planted_gibbs_with_gradients,
    "icm": planted_icm,
    "annealing": planted_simulated_annealing,
    "exact": planted_exact,
    "parallel_tempering": planted_parallel_tempering,
    "chains": planted_chains,
    "warm-up": planted_warmup,
    "starts": planted_starts,
}
BATTERIES = {name: table.PROOFS for name, table in TABLES.items()}
#: Some keep the law and cost only speed, as half a kick too few does, which is as wrong backwards as it is forwards:
#: only proofs to the letter can catch them.
BUGS = [bug for table in TABLES.values() for bug in table.BUGS]
SAME_LAW = [variant for table in TABLES.values() for variant in table.AS_RIGHT]
#: Bugs that are caught in a moment, each by another way.
QUICK = [
    bug
    for bug in BUGS
    if name_of(bug)
    in {
        "metropolis: no Hastings term",
        "langevin: noise off by sqrt 2",
        "mala: no kinetic energy in the choice",
        "mixed_mala: jumps without their ratio",
        "hmc: half a kick too many",
        "nuts: states of a half drawn evenly",
        "gibbs: neighbours of the sweep before",
        "parallel_tempering: exchanges with the wrong sign",
        "chains: a network in training mode",
        "starts: a buffer that never restarts a chain",
    }
]

every = pytest.mark.parametrize("battery", BATTERIES)


@pytest.mark.parametrize("bug", QUICK, ids=name_of)
def test_some_bugs_are_caught(bug):
    assert caught(bug, BATTERIES[bug.looked_at_by])


@pytest.mark.long
def test_bugs_are_caught(capsys):
    by = {name_of(bug): caught(bug, BATTERIES[bug.looked_at_by]) for bug in BUGS}
    survivors = [name for name, proof in by.items() if proof is None]
    total, found = len(by), len(by) - len(survivors)
    by_law = sum(proof is not None and not proof.to_the_letter for proof in by.values())
    with capsys.disabled():
        print(f"\n{total} planted, {found} caught, {by_law} of them by proofs that are not to the letter")
        print(*(f"  survives: {name}" for name in survivors), sep="\n")
    assert found >= max(28, total - 2), survivors


@pytest.mark.long
@every
def test_what_is_right_is_not_flagged(battery):
    for proof in BATTERIES[battery]:
        proof.run()


@pytest.mark.long
@pytest.mark.parametrize("variant", SAME_LAW, ids=name_of)
def test_what_has_the_same_law_is_not_flagged(variant):
    with planted(variant.file, variant.old, variant.new):
        for proof in BATTERIES[variant.looked_at_by]:
            if not proof.to_the_letter:
                proof.run()


# The table, and how bugs are planted ----------------------------------------------------------------------------------


@pytest.mark.parametrize("plant", [*BUGS, *SAME_LAW], ids=name_of)
def test_the_table_is_in_step_with_the_code(plant):
    in_step(plant)


def test_there_are_enough_bugs_of_every_kind():
    assert len(BUGS) >= 34
    assert len({name_of(bug) for bug in BUGS}) == len(BUGS)
    assert {bug.looked_at_by for bug in BUGS} == set(BATTERIES)
    assert all(plant.looked_at_by == name for name, table in TABLES.items() for plant in [*table.BUGS, *table.AS_RIGHT])
    assert len(QUICK) == 10


def test_text_that_is_no_longer_there_is_noticed():
    with (
        pytest.raises(AssertionError, match=r"samplers/hmc\.py: .* occurs 0 times"),
        planted("components/samplers/hmc.py", "no_longer_there()", "pass"),
    ):
        pass


def test_behind_a_bug_everything_is_as_it_was():
    from ebmkit.components.samplers import hmc, mala
    from tests.statistics import exact_start

    before = dict(sys.modules)
    head = "def leapfrog(energy: Energy, phase: Phase, step_size: Tensor, mass: Mass, steps: int = {}) -> Phase: ..."
    with planted("components/samplers/leapfrog.py", head.format(1), head.format(2)):
        from ebmkit.components.samplers import hmc as other
        from ebmkit.components.samplers import leapfrog

        assert other is not hmc
        assert leapfrog.leapfrog.__defaults__ == (2,)
        # What does not know of the bug is not loaded again.
        assert sys.modules["tests.statistics.exact_start"] is exact_start
    from ebmkit.components.samplers import hmc as again

    assert again is hmc
    assert sys.modules["ebmkit.components.samplers.mala"] is mala
    assert before.items() <= sys.modules.items()
    assert sys.modules["ebmkit.components.samplers.leapfrog"].leapfrog.__defaults__ == (1,)
