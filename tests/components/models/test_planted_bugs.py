"""What the proofs of discrete models are worth: bugs are planted, and counted are those that a proof catches.

The proofs are tests of the other files, against enumeration or to many digits. What is right has to pass all of them,
and so has what is written otherwise but is the same.
"""

import pytest

from tests.components.models import planted_categorical, planted_deep, planted_grid_mrf, planted_hopfield
from tests.planting import caught, in_step, name_of, planted

TABLES = {
    "hopfield": planted_hopfield,
    "grid_mrf": planted_grid_mrf,
    "categorical": planted_categorical,
    "deep": planted_deep,
}
BATTERIES = {name: table.PROOFS for name, table in TABLES.items()}
BUGS = [bug for table in TABLES.values() for bug in table.BUGS]
AS_RIGHT = [variant for table in TABLES.values() for variant in table.AS_RIGHT]
#: Bugs that are caught in a moment, each in another file.
QUICK = [
    bug
    for bug in BUGS
    if name_of(bug)
    in {
        "hopfield: a diagonal",
        "hopfield: flips are masks",
        "grid_mrf: no flow back",
        "categorical: fields counted by half",
        "categorical: couplings of one direction",
        "deep: the sum of two biases",
    }
]


@pytest.mark.parametrize("bug", QUICK, ids=name_of)
def test_some_bugs_are_caught(bug):
    assert caught(bug, BATTERIES[bug.looked_at_by])


@pytest.mark.long
def test_bugs_are_caught(capsys):
    survivors = [name_of(bug) for bug in BUGS if caught(bug, BATTERIES[bug.looked_at_by]) is None]
    with capsys.disabled():
        print(f"\n{len(BUGS)} planted, {len(BUGS) - len(survivors)} caught")
        print(*(f"  survives: {name}" for name in survivors), sep="\n")
    assert len(survivors) <= 2, survivors


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


@pytest.mark.parametrize("plant", [*BUGS, *AS_RIGHT], ids=name_of)
def test_the_table_is_in_step_with_the_code(plant):
    in_step(plant)


def test_there_are_enough_bugs_of_every_kind():
    assert len(BUGS) >= 58
    assert len({name_of(bug) for bug in BUGS}) == len(BUGS)
    assert len(QUICK) == 6
    assert all(plant.looked_at_by == name for name, table in TABLES.items() for plant in [*table.BUGS, *table.AS_RIGHT])
