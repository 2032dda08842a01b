"""Chains on models with a known gradient build no graph, and a step on the convolutional network is few kernels."""

from __future__ import annotations

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ebmkit.chains.energy import frozen
from ebmkit.components.models.conv import Conv
from ebmkit.components.samplers.langevin import Langevin
from ebmkit.contracts.question import Question
from ebmkit.registry.builtin import ebmkit_components
from ebmkit.testing.example import instance
from ebmkit.testing.partner import build, states

MODELS = [instance(offer.load()) for offer in ebmkit_components() if offer.kind == "model"]
#: On networks with a noise level chains follow scores.
SMOOTH = [model for model in MODELS if "gradient" in model.traits().offers and model.traits().conditioning is None]


@pytest.mark.parametrize("model", SMOOTH, ids=lambda model: model.component_name)
def test_the_gradient_by_hand_is_used(model, monkeypatch):
    event = model.event() or ((1, 8, 8) if model.refusal(Question((2,), model)) else (2,))
    module = build(model, event)
    assert hasattr(module, "energy_and_grad")
    monkeypatch.setattr(module, "forward", None)
    monkeypatch.setattr("ebmkit.chains.energy.gradient_in", None)
    x = states(model, 4, event, torch.Generator().manual_seed(0))
    with frozen(module) as energy:
        value, gradient = energy.value_and_grad(x)
    assert value.shape == (4,)
    assert gradient.shape[: x.dim()] == x.shape  # of categorical states it is that in one-hot vectors


class Launches(TorchDispatchMode):
    """Counts what would be a kernel on a GPU: all but views, and memory that nobody writes to."""

    count = 0

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        self.count += not (operator.is_view or operator._schema.name in ("aten::detach", "aten::empty_like"))
        return operator(*args, **(kwargs or {}))


def test_a_langevin_step_on_the_network_of_the_thesis_is_at_most_35_kernels():
    module = build(Conv(preset="thesis_a", spectral_norm=True), (1, 28, 28), dtype=torch.float32)
    sampler, rng = Langevin(step_size=1.0, noise_std=0.005), torch.Generator().manual_seed(0)
    with frozen(module) as energy:
        state = sampler.init(energy, torch.rand(2, 1, 28, 28, generator=rng), rng)
        with Launches() as launches:
            sampler.step(energy, state, rng)
    assert launches.count <= 35
