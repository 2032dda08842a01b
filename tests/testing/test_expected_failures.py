"""Laws that a component is known to break."""

import pytest

from ebmkit.api import Bregman, component, torch
from ebmkit.testing import Broken, ExpectedFailure, HeldAfterAll, check_component, examine, trials

BOUNDED = {"is_strictly_convex": "it saturates by design"}


@component("saturating")
class Saturating(Bregman):
    """Convex below 1 and concave above it."""

    def psi(self, u):
        return torch.atan(u - 1) * u


@component("square")
class Square(Bregman):
    """Breaks no law."""

    def psi(self, u):
        return u.square()


def test_a_law_that_is_expected_to_fail_is_reported_with_its_reason():
    known = dict.fromkeys(examine(Saturating).broken, "known")
    assert "is_strictly_convex" in known
    report = check_component(Saturating, expected_failures=known)
    assert report.broken == {}
    assert report.expected.keys() == known.keys()
    assert "as expected (known), bregman 'saturating' breaks 'is_strictly_convex'" in str(report)
    assert f"{len(known)} broken as expected" in str(report)


def test_a_law_that_holds_after_all_fails():
    with pytest.raises(Broken, match="'square' obeys 'is_strictly_convex', which is expected to fail") as raised:
        check_component(Square, expected_failures=BOUNDED)
    assert "(it saturates by design); remove it from expected_failures" in str(raised.value)


def test_trials_say_the_same_one_by_one():
    by_law = {trial.law.__name__: trial for trial in trials([Saturating], expected_failures=BOUNDED)}
    with pytest.raises(ExpectedFailure, match="saturates by design"):
        by_law["is_strictly_convex"].run()
    by_law["works_elementwise"].run()
    (held,) = (trial for trial in trials([Square], expected_failures=BOUNDED) if trial.expected)
    with pytest.raises(HeldAfterAll):
        held.run()


def test_a_function_gives_the_laws_of_each_component():
    def of(made):
        return BOUNDED if made.component_name == "saturating" else {}

    expected = [
        trial.component.component_name for trial in trials([Square, Saturating], expected_failures=of) if trial.expected
    ]
    assert expected == ["saturating"]


@pytest.mark.parametrize(
    ("failures", "says"),
    [
        ({"is_strictly_convx": "a reason"}, "there is no law 'is_strictly_convx'; did you mean 'is_strictly_convex'?"),
        ({"keeps_the_target": "a reason"}, "there is no law 'keeps_the_target'"),  # a law of samplers
        ({"is_strictly_convex": " "}, "give the reason why 'is_strictly_convex' is expected to fail"),
    ],
)
def test_what_cannot_be_expected_is_an_error(failures, says):
    for check in (
        lambda: check_component(Square, expected_failures=failures),
        lambda: trials([Square], expected_failures=failures),
    ):
        with pytest.raises(ValueError) as raised:  # noqa: PT011, its words are compared below
            check()
        assert says in str(raised.value)
