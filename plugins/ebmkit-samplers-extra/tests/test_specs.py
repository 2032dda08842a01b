"""The samplers in specs: inside replica exchange, and refused where they make no sense.

The package must be installed, as `pip install -e .` does.
"""

from typing import Any, NamedTuple

import pytest
import torch
from ebmkit_samplers_extra import BayesianRegression
from targets import Posterior, assert_uniform, generator

import ebmkit
from ebmkit.api import Sampler, StepInfo, run_chain

COMPARISONS, CHAINS, TEMPERATURES = 500, 30_000, (1.0, 2.5)
REGRESSION = {
    "use": "samplers_extra.bayesian_regression",
    "inputs": [[1.0, 0.5], [1.0, -1.0], [0.3, 2.0]],
    "targets": [0.3, 1.2, -0.5],
    "correlation": 0.4,
}


def sampler_of(text, model=REGRESSION):
    """The sampler of a spec, checked against a model."""
    return ebmkit.load_spec({"ebmkit": 1, "model": model, "sampler": text}).spec.sampler


class ReplicasState(NamedTuple):
    x: Any
    exchange: Any


class Replicas(Sampler):
    """`parallel_tempering` with all its replicas as states `(R B, d)`, in rows of one temperature after the other."""

    traces = frozenset()
    steps: int = 4

    def __init__(self, exchange):
        object.__setattr__(self, "exchange", exchange)

    def init(self, energy, x, rng):
        return ReplicasState(x, self.exchange.begin(energy, x.view(len(TEMPERATURES), -1, *x.shape[1:]), rng))

    def step(self, energy, state, rng):
        exchange, _ = self.exchange.step(energy, state.exchange, rng)
        return ReplicasState(exchange.replicas.x * exchange.unit, exchange), StepInfo()


@pytest.mark.parametrize(
    "inner",
    [
        {"use": "samplers_extra.barker", "step_size": 0.8},
        {"use": "samplers_extra.sghmc", "step_size": 0.01},
        {"use": "samplers_extra.elliptical_slice"},
    ],
    ids=lambda inner: inner["use"],
)
def test_replicas_keep_the_targets_of_their_temperatures(inner):
    exchange = sampler_of(
        {"use": "parallel_tempering", "sampler": {**inner, "steps": 3}, "temperatures": list(TEMPERATURES)}
    )
    inputs = tuple(map(tuple, REGRESSION["inputs"]))
    model = BayesianRegression(inputs=inputs, targets=tuple(REGRESSION["targets"]), correlation=0.4)
    target, module = Posterior(model), model.build((2,))
    start = torch.cat([target.draws(CHAINS, 5 + row, level) for row, level in enumerate(TEMPERATURES)])
    x = run_chain(Replicas(exchange), module, start, generator(2)).x
    for states, temperature in zip(x.chunk(len(TEMPERATURES)), TEMPERATURES, strict=True):
        assert_uniform(target.uniforms(states, temperature), COMPARISONS)
    assert float((x == start).all(1).logical_not().double().mean()) > 0.2


@pytest.mark.parametrize(
    ("sections", "says"),
    [
        ({"sampler": "samplers_extra.svgd", "chains": {"count": 4}}, "lets its chains move each other"),
        (
            {"sampler": {"use": "parallel_tempering", "sampler": "samplers_extra.svgd"}},
            "lets its chains move each other, but replicas differ in temperature",
        ),
        ({"sampler": "samplers_extra.elliptical_slice", "model": "gaussian"}, "needs 'gaussian_prior'"),
        ({"sampler": {"use": "samplers_extra.sghmc", "terms": 2}, "model": "gaussian"}, "needs 'subsampled'"),
        (
            {
                "sampler": {
                    "use": "parallel_tempering",
                    "sampler": {"use": "samplers_extra.sghmc", "terms": 2, "gradient_variance": 0.1},
                }
            },
            "has a 'gradient_variance', but replicas are moved in units that differ",
        ),
        (
            {"model": {**REGRESSION, "targets": [0.0]}, "sampler": "exact"},
            "'inputs' has 3 rows, but 'targets' 1 numbers",
        ),
        (
            {"model": {**REGRESSION, "inputs": [[1.0], [1.0, 2.0], [1.0]]}, "sampler": "exact"},
            "row 1 of 'inputs' has 2",
        ),
    ],
    ids=["long chains", "replicas", "no prior", "no terms", "known noise", "targets", "inputs", "rows"],
)
def test_what_makes_no_sense_is_refused(sections, says):
    with pytest.raises(Exception, match=says):
        ebmkit.load_spec({"ebmkit": 1, "model": REGRESSION, **sections})
