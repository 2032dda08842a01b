"""Chains started from noise."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Gt, MinLen

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Init
from ebmkit.contracts.question import Question

if TYPE_CHECKING:
    from ebmkit.components.inits.nets.noise_starts import NoiseStarts


@component("noise")
class NoiseStart(Init):
    """Short-run MCMC from noise: every chain starts at a new draw from a Gaussian or uniform distribution.

        gaussian:  x0 ~ N(center, scale^2 I)
        uniform:   x0 ~ center + U[-scale, scale]^d

    Discrete units start at each of their values with the same probability.

    Parameters:
        distribution: `gaussian` or `uniform`.
        scale: standard deviation of the Gaussian, or half the width of the box.
        center: mean of the initial states, one number for all coordinates or one each (an image row by row).

    Reference: Nijkamp et al., "Learning non-convergent non-persistent short-run MCMC", arXiv:1904.09770.

    Example: init: {use: noise, distribution: uniform, scale: 1.0}
    """

    distribution: Literal["gaussian", "uniform"] = "gaussian"
    scale: Annotated[float, Gt(0)] = 1.0
    center: float | Annotated[tuple[float, ...], MinLen(1)] = 0.0

    def refusal(self, question: Question) -> str | None:
        event = question.event
        if not isinstance(self.center, tuple) or len(self.center) == prod(event):
            return None
        return f"has a 'center' of {len(self.center)} coordinates, but a state has {prod(event)}"

    def build(self, event: Event) -> NoiseStarts:
        from ebmkit.components.inits.nets.noise_starts import NoiseStarts

        return NoiseStarts(event, self.distribution, self.scale, self.center)
