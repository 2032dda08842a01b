"""A model that takes only some shapes and does not say so breaks one law, not all."""

from ebmkit.api import component
from ebmkit.testing import examine
from tests.testing.laws.planted_models import VectorsOnly

LAW = "takes_every_shape_that_it_does_not_refuse"


def test_a_shape_that_is_not_taken_breaks_one_law_which_names_the_cure():
    report = examine(VectorsOnly)
    assert set(report.broken) == {LAW}
    assert "on states of shape (1, 4, 4): RuntimeError: mat1 and mat2" in report.broken[LAW]
    assert "says so in refusal(question), as in if len(question.event) != 1:" in report.broken[LAW]
    assert {"keeps_the_dtype", "treats_states_apart", "runs_on_the_device"} <= set(report.obeyed)


def test_a_model_that_refuses_is_right():
    @component("refuses")
    class Refuses(VectorsOnly):
        def refusal(self, question):
            return None if len(question.event) == 1 else "takes vectors only"

    report = examine(Refuses)
    assert report.broken == {}
    assert LAW in report.obeyed


def test_a_model_that_fails_on_every_shape_is_not_a_matter_of_shape():
    @component("fails")
    class Fails(VectorsOnly):
        def build(self, event):
            return super().build((3,))

    report = examine(Fails)
    assert LAW not in report.broken
    assert "mat1 and mat2" in report.broken["gives_one_number_a_state"]
