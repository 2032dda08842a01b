"""The exact distribution of a discrete model with few units."""

from __future__ import annotations

import copy
from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING

from ebmkit.contracts.kinds import Event, Model
from ebmkit.contracts.lazy import torch
from ebmkit.maths.enumeration import ENUMERABLE, SUMMABLE, log_sum, log_weights, most_units

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.contracts.view import View


def too_many(event: Event, model: Model) -> str | None:
    """Why the states cannot be enumerated, in words that follow the metric's name; None if they can."""
    values = model.traits().unit_values or (0.0, 1.0)  # another space is refused as such
    most = most_units(ENUMERABLE, values)
    if prod(event) <= most:
        return None
    of = f" of {len(values)} values" if len(values) > 2 else ""
    return f"enumerates the states of at most {most} units{of}, but a state has {prod(event)}"


def is_summable(model: Model, event: Event) -> bool:
    """Whether log Z is a sum over states that can be computed."""
    values = model.traits().unit_values
    return bool(values) and prod(event) <= most_units(SUMMABLE, values)


def summable_units(model: Model) -> str:
    """The largest number of units over whose states a sum is computed, in words."""
    values = model.traits().unit_values
    return (
        f"{most_units(SUMMABLE, values)} discrete units of {len(values)} values"
        if len(values) > 2
        else (f"{SUMMABLE} discrete units")
    )


def summed_log_z(energy: Callable[[Tensor], Tensor], model: Model, event: Event) -> float:
    """log Z in float64 on the host, by a sum over all states."""
    like = torch.empty(0, device="cpu", dtype=torch.float64)
    return float(log_sum(energy, event, model.traits().unit_values, like))


def probabilities(view: View) -> Tensor:
    """The model's probability of each state by its index (see `ebmkit.maths.enumeration`), `(K^d,)`, on the host."""
    from ebmkit.chains.energy import frozen

    # On the CPU, because some devices lack float64.
    module = copy.deepcopy(view.module).to("cpu", torch.float64)
    like = torch.empty(0, device="cpu", dtype=torch.float64)
    with frozen(module) as energy:
        return log_weights(energy, view.event, unit_values(view), like).softmax(0)


def unit_values(view: View) -> tuple[float, ...]:
    """All values of a unit."""
    return view.spec.model.traits().unit_values
