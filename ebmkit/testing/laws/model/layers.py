"""The laws of layers of hidden units: how they respond to states, and how states are reconstructed from them."""

from __future__ import annotations

import torch

from ebmkit.contracts.kinds import Model
from ebmkit.testing.case import Case
from ebmkit.testing.law import require
from ebmkit.testing.laws.model.setting import network_of, require_ability, states_of

#: The largest difference by rounding of a state computed alone and among others.
ROUNDING = 1e-9


def has_layers_of_hidden_units(model: Model, case: Case) -> None:
    """`activations` are probabilities, a row per state; `receptive_fields` have the shape of a state, one per unit."""
    require_ability(model, "activations")
    module, x = network_of(model, case), states_of(model, case)
    with torch.no_grad():
        layers, alone = module.activations(x), module.activations(x[:1])
    require(len(layers) > 0, "it offers activations, but has no layer")
    for number, (p, first) in enumerate(zip(layers, alone, strict=True), 1):
        require(p.dim() == 2 and len(p) == len(x), f"activations of layer {number} have shape {tuple(p.shape)}")
        require(bool(((p >= 0) & (p <= 1)).all()), f"activations of layer {number} are not probabilities")
        off = float((p[:1] - first).abs().max())
        require(off <= ROUNDING, f"activations of layer {number} depend on other states, by {off:.3g}")
    if "receptive_fields" not in model.traits().offers:
        return
    with torch.no_grad():
        shapes = [tuple(fields.shape) for fields in module.receptive_fields()]
    expected = [(p.shape[1], *case.event) for p in layers]
    require(shapes == expected, f"receptive fields have shapes {shapes}, but units and states give {expected}")


def reconstructs_states(model: Model, case: Case) -> None:
    """`reconstruct` maps states to as many of the same shape, each by itself."""
    require_ability(model, "reconstruct")
    module, x = network_of(model, case), states_of(model, case)
    with torch.no_grad():
        found, alone = module.reconstruct(x), module.reconstruct(x[:1])
    require(found.shape == x.shape, f"reconstructions of states {tuple(x.shape)} have shape {tuple(found.shape)}")
    require(found.dtype == x.dtype, f"reconstructions of {x.dtype} are {found.dtype}")
    off = float(((found[:1] - alone) / (1 + alone.abs())).abs().max())
    require(off <= ROUNDING, f"a reconstruction depends on other states, by {off:.3g}")
