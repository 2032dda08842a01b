"""Means and standard deviations of coordinates."""

from math import isfinite

import pytest
import torch

import ebmkit
from ebmkit.components.metrics.moments import Moments
from ebmkit.contracts.question import Question
from ebmkit.engine.evaluation import Evaluation
from ebmkit.engine.sampling import view_of
from ebmkit.errors.base import Mistakes


@pytest.mark.parametrize("event", [(1,), (2,), (10,), (1, 2, 3)])
def test_against_torch(event, tmp_path):
    spec = tmp_path / "spec.yaml"
    d = torch.Size(event).numel()
    spec.write_text(f"ebmkit: 1\nmodel: {{use: gaussian, mean: {[0.0] * d}, shape: {list(event)}}}\nsampler: exact\n")
    view = view_of(ebmkit.load_spec(spec), None)
    x = 3 * torch.randn(50, *event, generator=torch.Generator().manual_seed(0)) + 1
    view.give(x, {})
    metric = Moments(coordinates=(d - 1, 0) if d > 1 else (0,), samples=50)
    found, flat = metric.measure(view), x.flatten(1).double()
    assert tuple(found) == metric.results()
    for k in {0, d - 1}:
        assert found[f"mean(x{k})"] == pytest.approx(float(flat[:, k].mean()), rel=1e-12)
        assert found[f"std(x{k})"] == pytest.approx(float(flat[:, k].std()), rel=1e-12)


def test_what_it_refuses():
    with pytest.raises(ValueError, match="twice"):
        Moments(coordinates=(1, 1))
    assert (
        Moments(coordinates=(0, 4)).refusal(Question((2, 2), None))
        == "measures coordinate 4, but a state has 4, from 0 on"
    )
    assert Moments(coordinates=(3,)).refusal(Question((2, 2), None)) is None


def test_a_single_sample_is_refused_before_the_run():
    spec = {"ebmkit": 1, "model": {"use": "gaussian", "mean": [0.0]}, "sampler": "mala", "evaluate": ["moments"]}
    one = {**spec, "samples": 1}
    plan = ebmkit.load_spec(one)
    results = Evaluation(view_of(plan, None)).measure(plan.spec.evaluate).results
    assert all(map(isfinite, results.values()))  # of the two samples that it draws at least
    ebmkit.load_spec({**one, "chains": {"count": 2}})
    with pytest.raises(Mistakes, match="a standard deviation, which a single sample does not have"):
        ebmkit.load_spec({**one, "chains": {"count": 1}})
