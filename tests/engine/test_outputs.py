"""What model and noise return to an objective is checked, whatever the objective does with it."""

from __future__ import annotations

import copy
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from ebmkit import load_spec
from ebmkit.components.models.mlp import MLP
from ebmkit.components.noise.gaussian import GaussianNoise
from ebmkit.components.noise.nets.mixed_density import MixedDensity
from ebmkit.components.noise.nets.uniform import UniformDensity
from ebmkit.engine import session
from ebmkit.engine.outputs import Outputs
from ebmkit.errors.running import Diverged

POINTS = torch.linspace(-1, 1, 16).view(8, 2)


class Shift(nn.Module):
    """Energies that are `x_1` plus a number."""

    def __init__(self) -> None:
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(()))

    def forward(self, x: Any) -> Any:
        return x[:, 0] + self.shift


def watched(model: nn.Module, extras: nn.Module | None = None) -> Outputs:
    return Outputs(model, MLP(), extras, {})


def numbers(outputs: Outputs) -> list[float]:
    return [float(number) for _, number in outputs.numbers()]


def test_methods_are_themselves_again_afterwards():
    model = Shift()
    outputs = watched(model)
    with outputs:
        assert "forward" in vars(model)
        with outputs.paused():
            assert "forward" not in vars(model)
            model(POINTS * nan)
        model(POINTS)
    assert "forward" not in vars(model)
    assert numbers(outputs) == [pytest.approx(float(POINTS[:, 0].sum()))]
    with pytest.raises(ZeroDivisionError), outputs:
        _ = 1 / 0
    assert "forward" not in vars(model)


def test_what_is_changed_in_place_was_seen_before():
    model = Shift()
    outputs = watched(model.requires_grad_(False))
    with outputs:
        energy = model(POINTS.where(POINTS.min() < POINTS, -inf))
        energy.clamp_(min=-10)
    (statistic, number), *_ = outputs.numbers()
    assert float(number) == -inf
    assert statistic.name == "the energy"


def test_a_number_that_is_read_a_step_later_is_still_explained():
    """As on a GPU, where the next step has begun."""
    model = Shift()
    outputs = watched(model)
    with outputs:
        model(POINTS.where(POINTS.max() > POINTS, nan)[:, [1, 0]])
    (late, number), *_ = outputs.numbers()
    with outputs:
        model(POINTS)
    assert not bool(number.isfinite())
    assert late.cause is not None
    assert late.cause().detail == "nan at 1 of 8 states, but it was given states that are not finite"


def test_a_copy_made_inside_a_loss_has_its_own_weights():
    model = Shift()
    outputs = watched(model)
    with outputs:
        other = copy.deepcopy(model)
        nn.init.constant_(other.shift, 5.0)
        assert torch.equal(other(POINTS), POINTS[:, 0] + 5)
    assert len(numbers(outputs)) == 0
    assert torch.equal(copy.deepcopy(other)(POINTS), POINTS[:, 0] + 5)


def test_transformations_of_functions_pass():
    model = Shift()
    outputs = watched(model)
    with outputs:
        slope = torch.func.vmap(torch.func.grad(lambda x: model(x.unsqueeze(0)).squeeze(0)))(POINTS)
    assert torch.equal(slope, torch.tensor([[1.0, 0.0]]).expand(8, 2))
    assert numbers(outputs) == []


def test_a_part_of_a_mixture_may_be_zero_but_not_the_learned_one():
    box = UniformDensity(torch.tensor([-9.0, -9.0]), torch.tensor([-8.0, -8.0]), (2,))
    wide = GaussianNoise().build((2,), torch.randn(50, 2, generator=torch.Generator().manual_seed(0)))
    for base, other, finite in ((box, wide, True), (wide, box, False)):
        mixed = MixedDensity(base, other, 0.5)
        outputs = watched(Shift(), nn.ModuleList([mixed]))
        with outputs:
            mixed.log_prob(POINTS)
        (statistic, number), *_ = outputs.numbers()
        assert bool(number.isfinite()) == finite
        assert statistic.cause is not None
        assert finite or statistic.cause().detail == "-inf at 8 of 8 states"


PLUGIN = """
from ebmkit.api import Density, Loss, Noise, Objective, component, torch

@component("edge")
class Edge(Noise):
    def build(self, event, data):
        class Half(Density):
            def log_prob(self, x):
                return torch.where(x[:, 0] > 0, 0.0, -torch.inf)
            def sample(self, n, rng):
                return torch.empty(n, *event).uniform_(generator=rng)
        return Half()

@component("bold")
class Bold(Objective):
    "An objective that would rather not know."
    noise: Noise = Edge()

    def extras(self, event, data):
        return self.noise.build(event, data)

    def loss(self, model, batch, context):
        ratio = (-model(batch) - context.extras.log_prob(batch)).clamp(-5, 5)
        return Loss(torch.nn.functional.softplus(-ratio).mean(), {})
"""


def test_an_objective_of_a_plugin_that_clamps_is_checked_too(tmp_path):
    plugin = Path(tmp_path, "narrow.py")
    plugin.write_text(PLUGIN)
    spec = {
        "ebmkit": 1,
        "name": "narrow",
        "device": "cpu",
        "data": {"use": "two_moons", "size": 32, "test_size": 8},
        "model": {"use": "mlp", "hidden": [4]},
        "objective": {"use": "narrow.bold", "noise": {"use": "narrow.edge"}},
        "train": {"steps": 2, "batch_size": 16},
    }
    with pytest.raises(Diverged) as caught:
        session.run(load_spec(spec, plugins=[str(plugin)]), runs_dir=tmp_path / "runs")
    assert caught.value.message.startswith("noise 'narrow.edge': the log density is not finite at step 1: -inf at ")
    assert "choose noise that covers all data" in caught.value.help


class Named(UniformDensity):
    """Its argument has the name that it has in `torch.distributions`."""

    def log_prob(self, value: Any) -> Any:
        return super().log_prob(value)


def test_states_may_be_given_by_name():
    density = Named(-torch.ones(2), torch.ones(2), (2,))
    outputs = watched(Shift(), density)
    with outputs:
        assert density.log_prob(value=POINTS).shape == (8,)
        assert len(numbers(outputs)) == 1
