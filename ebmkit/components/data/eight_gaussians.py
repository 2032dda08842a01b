"""Gaussians on a circle."""

from __future__ import annotations

from math import log, pi
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, Gt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Data, Dataset, Event
from ebmkit.contracts.kinds.data import Split
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Generator, Tensor


@component("eight_gaussians")
class EightGaussians(Data):
    """Eight Gaussians: equally likely Gaussians on a circle; the label is the component.

        x = radius (cos t_k, sin t_k) + noise xi,    t_k = 2 pi k / modes,    k uniform

    Parameters:
        size: number of training points.
        test_size: number of held-out points.
        noise: standard deviation of each Gaussian.
        radius: radius of the circle.
        modes: number of Gaussians.

    Reference: Grathwohl et al., FFJORD, arXiv:1810.01367.

    Example: data: {use: eight_gaussians, noise: 0.2}
    """

    unit_scale: ClassVar[bool] = True
    labelled: ClassVar[bool] = True
    known: ClassVar[bool] = True

    size: Annotated[int, Ge(1)] = 10_000
    test_size: Annotated[int, Ge(1)] = 10_000
    noise: Annotated[float, Gt(0)] = 0.2
    radius: Annotated[float, Gt(0)] = 2.0
    modes: Annotated[int, Ge(1)] = 8

    def event(self) -> Event:
        return (2,)

    def point_count(self, split: Split) -> int:
        return self.size if split == "train" else self.test_size

    def class_count(self) -> int:
        return self.modes

    def load(self, split: Split, rng: Generator) -> Dataset:
        n = self.point_count(split)
        k = torch.randint(self.modes, (n,), generator=rng)
        t = 2 * pi / self.modes * k
        centre = torch.stack([t.cos(), t.sin()], dim=1)
        return Dataset(self.radius * centre + self.noise * torch.randn(n, 2, generator=rng), k)

    def log_prob(self, x: Tensor) -> Tensor:
        t = 2 * pi / self.modes * torch.arange(self.modes, device=x.device, dtype=torch.float64)
        centres = self.radius * torch.stack([t.cos(), t.sin()], dim=1)
        squares = (x.double().unsqueeze(1) - centres).square().sum(2)
        return (-squares / (2 * self.noise**2)).logsumexp(1) - log(self.modes * 2 * pi * self.noise**2)
