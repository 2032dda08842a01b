"""Two moons."""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Gt

from ebmkit.component import component
from ebmkit.kinds import Data, Dataset, Event
from ebmkit.kinds.data import Split
from ebmkit.lazy import torch

if TYPE_CHECKING:
    from torch import Generator


@component("two_moons")
class TwoMoons(Data):
    """Two half circles that reach into each other, with noise; each has half of the points, the label is the moon.

        x = radius ((cos t, sin t) - (1/2, 1/4)) + noise xi              t ~ U[0, pi]
        x = radius ((1 - cos t, 1/2 - sin t) - (1/2, 1/4)) + noise xi

    Parameters:
        size: number of training points.
        test_size: number of held-out points.
        noise: standard deviation of the Gaussian noise.
        radius: radius of the half circles.

    Reference: `make_moons` of scikit-learn, centred.

    Example: data: {use: two_moons, noise: 0.1}
    """

    size: Annotated[int, Ge(1)] = 10_000
    test_size: Annotated[int, Ge(1)] = 10_000
    noise: Annotated[float, Ge(0)] = 0.1
    radius: Annotated[float, Gt(0)] = 1.0

    def event(self) -> Event:
        return (2,)

    def load(self, split: Split, rng: Generator) -> Dataset:
        n = self.size if split == "train" else self.test_size
        y = torch.arange(n) % 2
        t = pi * torch.rand(n, generator=rng)
        outer = torch.stack([t.cos() - 0.5, t.sin() - 0.25], dim=1)
        clean = torch.where(y[:, None] == 0, outer, -outer)  # the moons are each other's reflection in the origin
        return Dataset(self.radius * clean + self.noise * torch.randn(n, 2, generator=rng), y)
