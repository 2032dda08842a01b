"""Concentric rings."""

from __future__ import annotations

from math import log, pi
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, Gt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Data, Dataset, Event
from ebmkit.contracts.kinds.data import Split
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import DataTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor


@component("rings")
class Rings(Data):
    """Concentric rings with noise, each weighted by its length; the label is the ring.

        x = r_k (cos t, sin t) + noise xi,    r_k = radius k / rings,    p(k) = k / sum_j j,    k = 1 .. rings

    The density is a Bessel function of the distance from the origin; without noise there is none.

    Parameters:
        size: number of training points.
        test_size: number of held-out points.
        noise: standard deviation of the Gaussian noise.
        radius: radius of the outermost ring.
        rings: number of rings.

    Reference: Grathwohl et al., FFJORD, arXiv:1810.01367.

    Example: data: {use: rings, rings: 3}
    """

    unit_scale: ClassVar[bool] = True
    labelled: ClassVar[bool] = True

    size: Annotated[int, Ge(1)] = 10_000
    test_size: Annotated[int, Ge(1)] = 10_000
    noise: Annotated[float, Ge(0)] = 0.05
    radius: Annotated[float, Gt(0)] = 2.0
    rings: Annotated[int, Ge(1)] = 3

    def traits(self) -> DataTraits:
        return super().traits()._replace(known=self.noise > 0)

    def event(self) -> Event:
        return (2,)

    def point_count(self, split: Split) -> int:
        return self.size if split == "train" else self.test_size

    def class_count(self) -> int:
        return self.rings

    def load(self, split: Split, rng: Generator) -> Dataset:
        n = self.point_count(split)
        k = torch.multinomial(torch.arange(1.0, self.rings + 1), n, replacement=True, generator=rng)
        t = 2 * pi * torch.rand(n, generator=rng)
        clean = (self.radius / self.rings * (k + 1))[:, None] * torch.stack([t.cos(), t.sin()], dim=1)
        return Dataset(clean + self.noise * torch.randn(n, 2, generator=rng), k)

    def log_prob(self, x: Tensor) -> Tensor:
        k = torch.arange(1, self.rings + 1, device=x.device, dtype=torch.float64)
        radii, variance = self.radius / self.rings * k, self.noise**2
        rho = x.double().norm(dim=1, keepdim=True)
        # The mean over a circle of a Gaussian around its points: exp(-(rho^2 + r^2) / 2 s^2) I0(rho r / s^2).
        bessel = torch.special.i0e(rho * radii / variance).log()
        rings: Tensor = bessel - (rho - radii).square() / (2 * variance) + (k / k.sum()).log()
        return rings.logsumexp(1) - log(2 * pi * variance)
