"""What the proofs of metrics are worth: bugs are planted, and every one of them has to be caught."""

import pytest

from tests.components.metrics import planted_ais, planted_reconstruction
from tests.planting import caught, in_step, name_of

TABLES = {"ais": planted_ais, "reconstruction": planted_reconstruction}
PROOFS = {name: table.PROOFS for name, table in TABLES.items()}
BUGS = [bug for table in TABLES.values() for bug in table.BUGS]
AS_RIGHT = [variant for table in TABLES.values() for variant in table.AS_RIGHT]
QUICK = {
    "increments with the wrong sign",
    "moves at the beta before",
    "error without sqrt n",
    "spins taken for 0 and 1",
    "log odds of spins as of 0 and 1",
}


@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug.name in QUICK], ids=name_of)
def test_some_bugs_are_caught(bug):
    assert caught(bug, PROOFS[bug.looked_at_by])


@pytest.mark.long
@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug.name not in QUICK], ids=name_of)
def test_bugs_are_caught(bug):
    assert caught(bug, PROOFS[bug.looked_at_by])


@pytest.mark.parametrize("variant", AS_RIGHT, ids=name_of)
def test_right_variants_pass(variant):
    assert caught(variant, PROOFS[variant.looked_at_by]) is None


@pytest.mark.parametrize("plant", [*BUGS, *AS_RIGHT], ids=name_of)
def test_plants_are_in_step(plant):
    in_step(plant)
