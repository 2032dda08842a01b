"""Interleaved spirals."""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, Gt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Data, Dataset, Event
from ebmkit.contracts.kinds.data import Split
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Generator


@component("spirals")
class Spirals(Data):
    """Interleaved spiral arms around the origin, with noise; the label is the arm.

        x = radius s (cos t, sin t) + noise xi,    t = 2 pi (turns s + k / arms),    s^2 ~ U[0, 1],    k uniform

    Parameters:
        size: number of training points.
        test_size: number of held-out points.
        noise: standard deviation of the Gaussian noise.
        radius: distance of the outer ends from the origin.
        arms: number of arms.
        turns: number of turns of an arm around the origin.

    Reference: Grathwohl et al., FFJORD, arXiv:1810.01367.

    Example: data: {use: spirals, arms: 2, turns: 1.5}
    """

    unit_scale: ClassVar[bool] = True
    labelled: ClassVar[bool] = True

    size: Annotated[int, Ge(1)] = 10_000
    test_size: Annotated[int, Ge(1)] = 10_000
    noise: Annotated[float, Ge(0)] = 0.05
    radius: Annotated[float, Gt(0)] = 2.0
    arms: Annotated[int, Ge(2)] = 2
    turns: Annotated[float, Gt(0)] = 1.5

    def event(self) -> Event:
        return (2,)

    def point_count(self, split: Split) -> int:
        return self.size if split == "train" else self.test_size

    def class_count(self) -> int:
        return self.arms

    def load(self, split: Split, rng: Generator) -> Dataset:
        n = self.point_count(split)
        k = torch.randint(self.arms, (n,), generator=rng)
        s = torch.rand(n, generator=rng).sqrt()  # the square root spreads points evenly along the arm
        t = 2 * pi * (self.turns * s + k / self.arms)
        clean = (self.radius * s)[:, None] * torch.stack([t.cos(), t.sin()], dim=1)
        return Dataset(clean + self.noise * torch.randn(n, 2, generator=rng), k)
