"""What the proofs of metrics are worth: bugs are planted, and every one of them has to be caught."""

import pytest

from tests.components.metrics import planted_ais
from tests.planting import caught, in_step, name_of

BUGS, AS_RIGHT, PROOFS = planted_ais.BUGS, planted_ais.AS_RIGHT, planted_ais.PROOFS
QUICK = {"increments with the wrong sign", "moves at the beta before", "error without sqrt n"}


@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug.name in QUICK], ids=name_of)
def test_some_bugs_are_caught(bug):
    assert caught(bug, PROOFS)


@pytest.mark.long
@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug.name not in QUICK], ids=name_of)
def test_bugs_are_caught(bug):
    assert caught(bug, PROOFS)


@pytest.mark.parametrize("variant", AS_RIGHT, ids=name_of)
def test_right_variants_pass(variant):
    assert caught(variant, PROOFS) is None


@pytest.mark.parametrize("plant", [*BUGS, *AS_RIGHT], ids=name_of)
def test_plants_are_in_step(plant):
    in_step(plant)
