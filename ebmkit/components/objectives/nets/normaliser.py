"""log Z by a sum over all states or by quadrature, as a part of a loss: differentiable in the weights."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from ebmkit.chains.energy import Energy
from ebmkit.maths.enumeration import ENUMERABLE, log_weights

#: Of a side of the grid, the part at each end that counts as its edge.
EDGE = 1 / 16


class Normaliser(NamedTuple):
    """`log Z`, and the share of the mass at the edge of the grid where there is one."""

    log_z: Tensor
    at_edge: Tensor | None = None


class Box(nn.Module):
    """Where a density of one or two real coordinates is integrated: around the data, with a margin on each side."""

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
        """The trapezoidal rule, which is exact to rounding on a smooth density that vanishes at the edge."""
        unit = torch.linspace(0, 1, self.points, device=self.low.device, dtype=self.low.dtype)
        sides = self.low + unit.unsqueeze(1) * (self.high - self.low)
        grid = torch.cartesian_prod(*sides.unbind(1)).view(-1, *event)
        cell = ((self.high - self.low) / (self.points - 1)).log().sum()
        log_p: Tensor = (-model(grid)).view([self.points] * prod(event))
        ends = (1 - ((unit == 0) | (unit == 1)).to(unit.dtype) / 2).log()
        inner = slice(edge := max(1, round(EDGE * self.points)), self.points - edge)
        for axis in range(log_p.dim()):
            log_p = log_p + ends.view([-1 if axis == k else 1 for k in range(log_p.dim())])
        log_z = log_p.flatten().logsumexp(0)
        within = log_p.detach()[(inner,) * log_p.dim()].flatten().logsumexp(0)
        return Normaliser(log_z + cell, -torch.expm1(within - log_z.detach()))


def normaliser(model: nn.Module, batch: Tensor, box: Box | None) -> Normaliser:
    """The normaliser of a model on states like those of `batch`, by whichever way there is."""
    event = tuple(batch.shape[1:])
    if prod(event) <= ENUMERABLE and any(hasattr(part, "unit_values") for part in model.modules()):
        return Normaliser(log_weights(model, event, Energy(model).unit_values, batch).logsumexp(0))
    # A mixture is a module with `log_z` that is right for normalised components only.
    if hasattr(model, "log_z") and getattr(model, "normalised", True):
        log_z = cast("Callable[[], Tensor]", model.log_z)()
        if log_z.requires_grad or box is None:
            return Normaliser(log_z)
    if box is None:
        raise ValueError("the model does not know its normaliser, and a state has too many coordinates to integrate")
    return box.normaliser_of(model, event)
