"""`compile: true` changes the speed of chains, not their numbers."""

from __future__ import annotations

import pytest
import torch

from ebmkit.engine.compiled import compile_energy
from ebmkit.engine.energy import Energy
from ebmkit.models.conv import Conv
from ebmkit.models.conv_layers import ConvLayer
from ebmkit.models.mlp import MLP


@pytest.mark.long
@pytest.mark.parametrize(
    ("model", "event"), [(MLP(hidden=(16, 16)), (2,)), (Conv(layers=(ConvLayer(channels=4),)), (1, 8, 8))]
)
def test_compiled_and_eager_energies_agree(model, event):
    module = model.build(event).eval().requires_grad_(False)
    x = torch.randn(32, *event, generator=torch.Generator().manual_seed(0))
    energy, gradient = Energy(module).value_and_grad(x)
    compile_energy(module)
    compiled_energy, compiled_gradient = Energy(module).value_and_grad(x)
    assert torch.allclose(energy, compiled_energy, rtol=1e-5, atol=1e-6)
    assert torch.allclose(gradient, compiled_gradient, rtol=1e-5, atol=1e-6)
