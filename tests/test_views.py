"""Views made by hand offer nothing that a view of a run does not."""

import pytest
import torch

from ebmkit.engine.run_view import RunView
from tests.views import OF_THE_RUN, FakeView, viewed_spec


def test_what_no_view_has_cannot_be_given():
    assert FakeView(traces={"energy": torch.zeros(3)}).traces
    with pytest.raises(AssertionError, match="no view has parts"):
        FakeView(parts=None)
    with pytest.raises(AssertionError, match="no view shows stages of a spec"):
        viewed_spec(stages=())


def test_what_is_not_given_is_not_there():
    view = FakeView(torch.zeros(5, 2))
    assert len(view.samples(3)) == 3
    assert view.data("test") is None
    with pytest.raises(AttributeError):
        _ = view.module


def test_what_the_report_reads_is_there_in_a_run(view_of_a_run):
    assert all(hasattr(view_of_a_run, name) for name in OF_THE_RUN)


@pytest.fixture
def view_of_a_run() -> RunView:
    from ebmkit import load_spec
    from ebmkit.engine.sampling import view_of

    return view_of(load_spec({"ebmkit": 1, "model": {"use": "gaussian", "mean": [0.0]}, "sampler": "exact"}), None)
