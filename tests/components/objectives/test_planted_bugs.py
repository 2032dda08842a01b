"""What the proofs of objectives are worth: bugs are planted, and counted are those that a proof catches.

The proofs are tests of the other files and laws, most of them identities to many digits. What is right has to pass all
of them, and so has what is written otherwise but is the same.
"""

from collections import Counter

import pytest

from tests.components.bregman import planted_generators
from tests.components.models import planted_exponential_family, planted_rbm
from tests.components.noise import planted_noise, planted_snapshot
from tests.components.objectives import (
    planted_conditional_nce,
    planted_contests,
    planted_control_variate,
    planted_denoising_score_matching,
    planted_diffusion_recovery,
    planted_exact_mle,
    planted_jem,
    planted_mle,
    planted_nce,
    planted_ranking_nce,
    planted_score_matching,
)
from tests.planting import caught, in_step, name_of, planted

TABLES = {
    "mle": planted_mle,
    "exact_mle": planted_exact_mle,
    "score_matching": planted_score_matching,
    "denoising_score_matching": planted_denoising_score_matching,
    "nce": planted_nce,
    "generators": planted_generators,
    "noise": planted_noise,
    "ranking_nce": planted_ranking_nce,
    "conditional_nce": planted_conditional_nce,
    "contests": planted_contests,
    "snapshot": planted_snapshot,
    "control_variate": planted_control_variate,
    "jem": planted_jem,
    "diffusion_recovery": planted_diffusion_recovery,
    "exponential_family": planted_exponential_family,
    "rbm": planted_rbm,
}
BATTERIES = {name: table.PROOFS for name, table in TABLES.items()}
BUGS = [bug for table in TABLES.values() for bug in table.BUGS]
AS_RIGHT = [variant for table in TABLES.values() for variant in table.AS_RIGHT]
#: Bugs that are caught in a moment, each by another file.
QUICK = [
    bug
    for bug in BUGS
    if name_of(bug)
    in {
        "mle: phases swapped",
        "exact_mle: no cell in the quadrature",
        "score_matching: trace divided by the dimension",
        "nce: noise ratio inverted",
        "snapshot: interval off by one",
        "diffusion_recovery: no precision in the chain",
        "rbm: log Z without hidden biases",
    }
]


@pytest.mark.parametrize("bug", QUICK, ids=name_of)
def test_some_bugs_are_caught_and_a_correct_copy_is_not(bug):
    proofs = BATTERIES[bug.looked_at_by]
    found = caught(bug, proofs)
    assert found
    assert caught(bug._replace(new=bug.old), proofs[: proofs.index(found) + 1]) is None


@pytest.mark.long
def test_bugs_are_caught(capsys):
    by = {name_of(bug): caught(bug, BATTERIES[bug.looked_at_by]) for bug in BUGS}
    survivors = [name for name, proof in by.items() if proof is None]
    total, found = len(by), len(by) - len(survivors)
    with capsys.disabled():
        print(f"\n{total} planted, {found} caught")
        for name, count in Counter(proof.name for proof in by.values() if proof).items():
            print(f"  {count:3} by {name}")
        print(*(f"  survives: {name}" for name in survivors), sep="\n")
    assert found >= max(28, total - 2), survivors


@pytest.mark.long
@pytest.mark.parametrize("battery", BATTERIES)
def test_what_is_right_is_not_flagged(battery):
    for proof in BATTERIES[battery]:
        proof.run()


@pytest.mark.long
@pytest.mark.parametrize("variant", AS_RIGHT, ids=name_of)
def test_what_is_as_right_is_not_flagged(variant):
    with planted(variant.file, variant.old, variant.new):
        for proof in BATTERIES[variant.looked_at_by]:
            proof.run()


def test_the_table_is_in_step_with_the_code():
    for plant in [*BUGS, *AS_RIGHT]:
        in_step(plant)


def test_there_are_enough_bugs_of_every_kind():
    assert len(BUGS) >= 100
    assert len({name_of(bug) for bug in BUGS}) == len(BUGS)
    assert {bug.looked_at_by for bug in BUGS} == set(BATTERIES)
    assert all(plant.looked_at_by == name for name, table in TABLES.items() for plant in [*table.BUGS, *table.AS_RIGHT])
    assert len(QUICK) == 7
