"""`rhat` and `ess`: the worst coordinate of long chains."""

import math
from types import SimpleNamespace

import pytest
import torch

from ebmkit.components.metrics.ess import Ess
from ebmkit.components.metrics.rhat import Rhat
from ebmkit.diagnostics.ess import ess_bulk, ess_tail
from ebmkit.diagnostics.rhat import rhat
from ebmkit.engine.sampling import view_of
from ebmkit.errors import Mistakes
from ebmkit.language.load import load_spec
from tests.components.oracles import EVENTS, generator

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)
both = pytest.mark.parametrize("metric", [Rhat(), Ess()], ids=["rhat", "ess"])


SAMPLED = SimpleNamespace(samples=10_000)


def view(x, evaluations=1):
    """As much of a run as these metrics read: long chains, once samples were asked for."""
    found = SimpleNamespace(draws=None, asked=[], spec=SAMPLED)

    def samples(n):
        found.asked.append(n)
        found.draws = SimpleNamespace(x=x, seen={}, evaluations=evaluations)

    found.samples = samples
    return found


def slowed(x, rho):
    """An autoregressive chain in the coordinate that comes last, so that it is the worst."""
    last = x.flatten(2)[..., -1]
    for t in range(1, x.shape[1]):
        last[:, t] = rho * last[:, t - 1] + math.sqrt(1 - rho**2) * last[:, t]
    return x


@shapes
def test_the_worst_coordinate_counts(event):
    x = slowed(torch.randn(4, 1000, *event, generator=generator(0)), 0.9)
    bulk, tail = ess_bulk(x), ess_tail(x)
    assert int(bulk.flatten().argmin()) == bulk.numel() - 1
    found = Ess().measure(view(x, evaluations=3000))
    assert tuple(found) == Ess().results() == ("ess_bulk", "ess_tail", "ess_per_evaluation")
    assert found == {
        "ess_bulk": float(bulk.min()),
        "ess_tail": float(tail.min()),
        "ess_per_evaluation": float(bulk.min()) / 12_000,
    }
    assert abs(found["ess_bulk"] / (4000 * 0.1 / 1.9) - 1) < 0.5  # of one coordinate, not of a mean
    x.flatten(2)[0, :, -1] += 3
    found = Rhat().measure(view(x))
    assert tuple(found) == Rhat().results() == ("rhat_max",)
    assert found["rhat_max"] == float(rhat(x).flatten()[-1])
    assert found["rhat_max"] > 1.3


def test_a_sampler_that_asks_for_no_energy_pays_for_its_draws():
    x = torch.randn(4, 1000, 2, generator=generator(0))
    found = Ess().measure(view(x, evaluations=0))
    assert found["ess_per_evaluation"] == found["ess_bulk"] / 4000


@both
def test_samples_are_drawn_before_they_are_looked_at(metric):
    looked_at = view(torch.randn(4, 100, 2, generator=generator(0)))
    metric.measure(looked_at)
    assert looked_at.asked  # one is enough: long chains draw what the spec sets
    assert metric.traits().needs == {"samples", "chains"}


@both
@shapes
def test_a_coordinate_that_never_moves_is_named(metric, event):
    x = torch.randn(4, 101, *event, generator=generator(0))
    d = math.prod(event)
    for still in (0.1, 0.1 * torch.arange(4).view(4, 1)):  # the same in all chains, or another in each
        x.flatten(2)[..., -1] = still
        with pytest.raises(ValueError, match=rf"1 of {d} coordinates of a state never move, .* x\[{d - 1}\]"):
            metric.measure(view(x))
    x.flatten(2)[:, 50, -1] += 1  # only in the middle, which is left out
    with pytest.raises(ValueError, match="never move"):
        metric.measure(view(x))


@both
def test_units_that_flip_are_measured(metric):
    """Also one that is high in fewer than one of twenty draws."""
    x = (torch.rand(4, 400, 3, generator=generator(0)) < torch.tensor([0.5, 0.02, 0.97])).double()
    assert all(math.isfinite(value) for value in metric.measure(view(x)).values())


@both
def test_few_draws_and_short_chains_are_refused(metric):
    with pytest.raises(ValueError, match="3 draws per chain are too few"):
        metric.measure(view(torch.randn(4, 3, 2, generator=generator(0))))
    ends = SimpleNamespace(samples=lambda n: None, draws=None, spec=SAMPLED)
    with pytest.raises(ValueError, match="not from long chains"):
        metric.measure(ends)


def test_a_single_chain_has_an_effective_number_and_no_rhat():
    x = torch.randn(1, 1000, 2, generator=generator(0))
    assert Ess().measure(view(x))["ess_bulk"] > 500
    with pytest.raises(ValueError, match="2 or more"):
        Rhat().measure(view(x))


# a whole run

SPEC = {"ebmkit": 1, "model": {"use": "gaussian", "mean": [0.0, 0.0]}, "chains": {"count": 4, "burn_in": 50}}


@pytest.mark.parametrize("sampler", ["exact", {"use": "metropolis", "scale": 2.0}], ids=["exact", "metropolis"])
def test_long_chains_of_a_spec(sampler):
    spec = {**SPEC, "sampler": sampler, "samples": 4000, "evaluate": ["rhat", "ess"]}
    run = view_of(load_spec(spec), None)
    found = Rhat().measure(run) | Ess().measure(run)
    assert run.draws.x.shape == (4, 1000, 2)
    assert found["rhat_max"] < 1.05
    assert found["rhat_max"] == float(rhat(run.draws.x).max())
    # Independent draws are worth themselves; a walk over two dimensions is worth less, at an energy a step.
    worth = found["ess_bulk"] / 4000
    assert (0.7 < worth < 1.4) if sampler == "exact" else (0.05 < worth < 0.4)
    assert found["ess_per_evaluation"] == pytest.approx(worth, rel=0.01)


def test_both_need_long_chains():
    for name in ("rhat", "ess"):
        spec = {key: value for key, value in SPEC.items() if key != "chains"}
        with pytest.raises(Mistakes) as caught:
            load_spec({**spec, "sampler": "exact", "evaluate": [name]})
        (mistake,) = caught.value.mistakes
        assert "there is no 'chains:'" in mistake.message
