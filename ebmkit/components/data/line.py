"""Points on a line in the plane."""

from __future__ import annotations

from math import cos, log, pi, sin
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, Gt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Data, Dataset, Event
from ebmkit.contracts.kinds.data import Split
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.states import Variation
from ebmkit.contracts.traits import DataTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor


@component("line")
class Line(Data):
    """Gaussian along a line through the origin of the plane, degenerate unless noise is added.

        x = scale z (cos t, sin t) + noise xi,    z ~ N(0, 1),  xi ~ N(0, I),  t = angle in radians

    Without noise there is neither a density nor a score in the plane, and score matching has no minimum. With noise the
    density is Gaussian, with variance scale^2 + noise^2 along the line and noise^2 across.

    Parameters:
        size: number of training points.
        test_size: number of held-out points.
        noise: standard deviation of the noise; 0.01 gives the variance 1e-4 of the reference.
        scale: standard deviation along the line.
        angle: angle between the line and the first axis, in degrees.

    Reference: Song and Ermon, "Generative modeling by estimating gradients of the data distribution", arXiv:1907.05600.

    Example: data: {use: line, noise: 0.01}
    """

    unit_scale: ClassVar[bool] = True

    size: Annotated[int, Ge(1)] = 10_000
    test_size: Annotated[int, Ge(1)] = 10_000
    noise: Annotated[float, Ge(0)] = 0.0
    scale: Annotated[float, Gt(0)] = 1.4142135623730951
    angle: float = 45.0

    def traits(self) -> DataTraits:
        return super().traits()._replace(known=self.noise > 0, variation=self._variation())

    def event(self) -> Event:
        return (2,)

    def point_count(self, split: Split) -> int:
        return self.size if split == "train" else self.test_size

    def load(self, split: Split, rng: Generator) -> Dataset:
        n = self.point_count(split)
        along, _ = self._axes()
        z = torch.randn(n, 1, generator=rng)
        clean = self.scale * z * torch.tensor([along])
        return Dataset(clean + self.noise * torch.randn(n, 2, generator=rng))

    def log_prob(self, x: Tensor) -> Tensor:
        axes = torch.tensor(self._axes(), device=x.device, dtype=torch.float64)
        along, across = (x.double() @ axes.T).unbind(1)
        wide, narrow = self.scale**2 + self.noise**2, self.noise**2
        exponent = along.square() / wide + across.square() / narrow
        return -(exponent + log(wide) + log(narrow)) / 2 - log(2 * pi)

    def _variation(self) -> Variation:
        if self.noise > 0:
            return "full"
        return "degenerate" if all(self._axes()[0]) else "constant"

    def _axes(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The directions along the line and across it."""
        t = self.angle * pi / 180
        return (cos(t), sin(t)), (-sin(t), cos(t))
