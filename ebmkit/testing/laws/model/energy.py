"""The laws of an energy: its shape, its dtype and its derivatives."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ebmkit.chains.energy import frozen
from ebmkit.contracts.kinds import Model
from ebmkit.testing.case import Case
from ebmkit.testing.law import Inapplicable, require
from ebmkit.testing.laws.model.setting import (
    SIGMA,
    continued,
    network_of,
    output_of,
    require_ability,
    states_of,
    trainable,
)
from ebmkit.testing.oracles import generator, require_slope
from ebmkit.testing.partner import build


def gives_one_number_a_state(model: Model, case: Case) -> None:
    """The network maps `(B, *event)` to `(B,)`, or a score to the shape of x, all finite, for B = 0, 1 and 7."""
    module = build(model, case.event)
    for n in (0, 1, 7):
        x = states_of(model, case, n)
        answer = output_of(model, module, x)
        expected = (n,) if {"energy", "posterior"} & model.traits().offers else tuple(x.shape)
        require(tuple(answer.shape) == expected, f"{n} states give shape {tuple(answer.shape)}, not {expected}")
        require(bool(answer.isfinite().all()), f"energies are {answer.tolist()[:3]}")


def treats_states_apart(model: Model, case: Case) -> None:
    """The energy of a state does not depend on the other states in the batch."""
    module, x = network_of(model, case), states_of(model, case)
    with torch.no_grad():
        together = output_of(model, module, x)
        alone = torch.cat([output_of(model, module, row[None]) for row in x])
    off = float((together - alone).abs().max())
    require(off <= 1e-9 * (1 + float(alone.abs().max())), f"a state's energy differs by {off:.3g} when it is alone")


def keeps_the_dtype(model: Model, case: Case) -> None:
    """A network in float64 computes in float64, one in float32 in float32, regardless of the dtype it was built in."""
    for dtype in (torch.float32, torch.float64):
        module: Any = build(model, case.event, dtype=torch.float32).to(dtype)
        x = states_of(model, case, dtype=dtype)
        found = {"its answer": output_of(model, module, x)}
        if "gradient" in model.traits().offers and model.traits().conditioning is None:
            with frozen(module) as energy:
                found["its energy"], found["its gradient"] = energy.value_and_grad(x)
        if "sample_exact" in model.traits().offers:
            found["an exact sample"] = module.sample_exact(3, generator(0))
        if "conditionals" in model.traits().offers:
            found["log_odds"] = module.log_odds(x, torch.arange(x[0].numel()))
        if "log_z" in model.traits().offers:
            found["log_z"] = module.log_z()
        if "noised" in model.traits().offers:
            found["its noised energy"] = module.noised(SIGMA)(x)
        for name, value in found.items():
            require(value.dtype == dtype, f"{name} is {value.dtype} from a network of {dtype}")


def has_the_gradient_of_differences(model: Model, case: Case) -> None:
    """dE/dx by autograd agrees with finite differences of the energy."""
    require_ability(model, "gradient")
    module, x = network_of(model, case), states_of(model, case, 3)
    point, energy = continued(model, module, x)
    off = float((energy(point) - output_of(model, module, x)).detach().abs().max())
    require(off <= 1e-9, f"the energy of one-hot vectors differs by {off:.3g} from that of states")
    point = point.clone().requires_grad_()
    (slope,) = torch.autograd.grad(energy(point).sum(), point)
    at = point.detach()
    require_slope(lambda: energy(at).sum(), [at], [slope], "dE/dx")


def has_the_gradient_by_hand(model: Model, case: Case) -> None:
    """`energy_and_grad`, if defined, gives the energy and its gradient as autograd does, without a graph."""
    module = network_of(model, case)
    if not hasattr(module, "energy_and_grad"):
        raise Inapplicable("it has no energy_and_grad")
    x = states_of(model, case)
    point, of_point = continued(model, module, x)
    point = point.clone().requires_grad_()
    expected = of_point(point)
    (slope,) = torch.autograd.grad(expected.sum(), point)
    with frozen(module) as energy:
        value, gradient = energy.value_and_grad(x)
    shape = tuple(point.shape)
    require(tuple(gradient.shape) == shape, f"the gradient has shape {tuple(gradient.shape)}, not {shape}")
    for name, ours, true in (("energy", value, expected), ("gradient", gradient, slope)):
        off = float((ours - true).detach().abs().max())
        require(off <= 1e-9 * (1 + float(true.detach().abs().max())), f"the {name} differs by {off:.3g}")
        require(not ours.requires_grad, f"the {name} requires a gradient")


def has_the_parameter_gradient_of_differences(model: Model, case: Case) -> None:
    """dE/dtheta by autograd agrees with finite differences, over all parameters at once."""
    module, x = network_of(model, case), states_of(model, case)
    if not {"energy", "score"} & model.traits().offers:
        raise Inapplicable("it offers neither energies nor scores")
    parameters = trainable(module)

    def value() -> Tensor:
        return output_of(model, module, x).mean()

    slopes = torch.autograd.grad(value(), parameters, allow_unused=True)
    filled = [torch.zeros_like(p) if slope is None else slope for p, slope in zip(parameters, slopes, strict=True)]
    require_slope(value, parameters, filled, "dE/dtheta")
