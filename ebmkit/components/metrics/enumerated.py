"""The exact distribution of a discrete model with few units."""

from __future__ import annotations

import copy
from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING

from ebmkit.contracts.kinds import Event, Model
from ebmkit.contracts.lazy import torch
from ebmkit.maths.enumeration import ENUMERABLE, SUMMABLE, VALUES, log_sum, log_weights

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.contracts.view import View


def too_many(event: Event) -> str | None:
    """Why the states cannot be enumerated, in words that follow the metric's name; None if they can."""
    if prod(event) <= ENUMERABLE:
        return None
    return f"enumerates the states of at most {ENUMERABLE} units, but a state has {prod(event)}"


def is_summable(model: Model, event: Event) -> bool:
    """Whether log Z is a sum over states that can be computed."""
    return model.traits().space in VALUES and prod(event) <= SUMMABLE


def summed_log_z(energy: Callable[[Tensor], Tensor], model: Model, event: Event) -> float:
    """log Z in float64 on the host, by a sum over all states."""
    like = torch.empty(0, device="cpu", dtype=torch.float64)
    return float(log_sum(energy, event, VALUES[model.traits().space], like))


def probabilities(view: View) -> Tensor:
    """The model's probability of each state by its index (see `ebmkit.maths.enumeration`), `(2^d,)`, on the host."""
    from ebmkit.chains.energy import frozen

    # On the CPU, because some devices lack float64.
    module = copy.deepcopy(view.module).to("cpu", torch.float64)
    like = torch.empty(0, device="cpu", dtype=torch.float64)
    with frozen(module) as energy:
        return log_weights(energy, view.event, unit_values(view), like).softmax(0)


def unit_values(view: View) -> tuple[float, float]:
    """The two values of a unit."""
    return VALUES[view.spec.model.traits().space]
