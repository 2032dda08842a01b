"""log Z as part of a loss, by summation over all states or by quadrature: differentiable in the weights."""

from __future__ import annotations

from math import prod
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from ebmkit.chains.energy import Energy
from ebmkit.contracts.abilities import LogZ
from ebmkit.maths.enumeration import ENUMERABLE, log_weights, most_units
from ebmkit.maths.quadrature import Grid, log_sum

#: The fraction of a side of the grid that counts as the edge, at each end.
EDGE = 1 / 16


class Normaliser(NamedTuple):
    """`log Z`, and the share of the mass at the edge of the grid if there is one."""

    log_z: Tensor
    at_edge: Tensor | None = None


class Box(nn.Module):
    """The domain of integration of a density of one or two real coordinates: around the data, with a margin."""

    low: Tensor
    high: Tensor

    def __init__(self, data: Tensor, points: int, margin: float) -> None:
        super().__init__()
        flat = data.flatten(1)
        low, high = flat.amin(0), flat.amax(0)
        span = torch.where(high > low, high - low, 1.0)
        self.points = points
        self.register_buffer("low", low - margin * span)
        self.register_buffer("high", high + margin * span)

    def normaliser_of(self, model: nn.Module, event: tuple[int, ...]) -> Normaliser:
        """The trapezoidal rule, which is exact to rounding for a smooth density that vanishes at the edge."""
        grid = Grid.between(self.low, self.high, self.points)
        log_p = grid.with_half_ends(grid.log_p(lambda x: model(x.view(-1, *event))))
        log_z = log_sum(log_p)
        within = log_sum(log_p.detach(), margin=max(1, round(EDGE * self.points)))
        return Normaliser(log_z + grid.log_cell, -torch.expm1(within - log_z.detach()))


def normaliser(model: nn.Module, batch: Tensor, box: Box | None) -> Normaliser:
    """The normaliser of a model on states like those of `batch`, by the method that applies."""
    event = tuple(batch.shape[1:])
    if any(hasattr(part, "unit_values") for part in model.modules()):
        values = Energy(model).unit_values
        if prod(event) <= most_units(ENUMERABLE, values):
            return Normaliser(log_weights(model, event, values, batch).logsumexp(0))
    # A mixture is a module with `log_z` that is correct for normalised components only.
    if hasattr(model, "log_z") and getattr(model, "normalised", True):
        log_z = cast("LogZ", model).log_z()
        if log_z.requires_grad or box is None:
            return Normaliser(log_z)
    if box is None:
        raise ValueError("the model has no exact log_z, and its states have too many coordinates to integrate over")
    return box.normaliser_of(model, event)
