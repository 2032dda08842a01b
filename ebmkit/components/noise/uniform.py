"""Uniform noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from annotated_types import Gt, MinLen

from ebmkit.components.noise.fitted import fit_refusal
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Noise
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import NoiseTraits

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.components.noise.nets.uniform import UniformDensity

#: One number for all coordinates, or one each.
Corner: TypeAlias = float | Annotated[tuple[float, ...], MinLen(1)]

MARGIN = 0.1


@component("uniform")
class UniformNoise(Noise):
    """Uniform noise in a box, fitted to the training data unless its corners are given.

        p(x) = 1 / prod_i (high_i - low_i)  inside,    0  outside

    Data must lie inside: where the density of the noise is zero, a ratio to it is infinite.

    Parameters:
        low: the lower corner, one number for all coordinates or one each; requires `high`.
        high: the upper corner.
        margin: margin of a fitted box around the data on either side, as a fraction of their range.

    Reference: Gutmann and Hyvarinen, JMLR 13, 2012, section 2.4 (the choice of the noise).

    Example: noise: {use: uniform, margin: 0.2}
    """

    low: Corner | None = None
    high: Corner | None = None
    margin: Annotated[float, Gt(0)] = MARGIN

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise ValueError("give 'low' and 'high' together, or neither to have both fitted to the data")
        if self.low is None or self.high is None:
            return
        if self.margin != MARGIN:
            raise ValueError("'margin' is for a fitted box, but 'low' and 'high' are given: change these instead")
        counts = [len(corner) for corner in (self.low, self.high) if isinstance(corner, tuple)]
        if len(set(counts)) == 2:
            raise ValueError(f"'low' has {counts[0]} coordinates, but 'high' has {counts[1]}")
        count = counts[0] if counts else 1
        low, high = (c if isinstance(c, tuple) else (c,) * count for c in (self.low, self.high))
        for i, (a, b) in enumerate(zip(low, high, strict=True)):
            if not a < b:
                raise ValueError(f"the box is empty: 'low' is {a} and 'high' is {b} in coordinate {i}")

    def traits(self) -> NoiseTraits:
        return super().traits()._replace(own_units=self.low is not None)

    def event(self) -> Event | None:
        lists = [corner for corner in (self.low, self.high) if isinstance(corner, tuple)]
        return (len(lists[0]),) if lists else None

    def refusal(self, question: Question) -> str | None:
        return None if self.low is not None else fit_refusal(question, 2, "give 'low' and 'high'")

    def build(self, event: Event, data: Tensor) -> UniformDensity:
        from ebmkit.components.noise.nets.uniform import UniformDensity

        points = data.flatten(1)
        least, most = points.aminmax(dim=0)
        if self.low is not None and self.high is not None:
            low, high = (
                torch.as_tensor(corner, dtype=torch.float64).to(least).expand_as(least)
                for corner in (self.low, self.high)
            )
            if bool(((least < low) | (most > high)).any()):
                raise ValueError(
                    "some data lie outside the box, where the density of the noise is zero: "
                    f"they range from {float(least.min()):.6g} to {float(most.max()):.6g}"
                )
        else:
            low, high = (end.double() for end in (least, most))
            reach = self.margin * (high - low)
            low, high = low - reach, high + reach
        if not bool((low < high).all()):
            raise ValueError("the data do not vary in every coordinate, so the box is empty: give 'low' and 'high'")
        return UniformDensity(low, high, event)
