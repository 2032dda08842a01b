"""Two moons."""

from __future__ import annotations

from math import ceil, log, pi
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, Gt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Data, Dataset, Event
from ebmkit.contracts.kinds.data import Split
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import DataTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor

#: Number of points whose density is computed at a time.
BLOCK = 1 << 9


@component("two_moons")
class TwoMoons(Data):
    """Two moons: two interleaved half circles with noise, half of the points each; the label is the moon.

        x = radius ((cos t, sin t) - (1/2, 1/4)) + noise xi              t ~ U[0, pi]
        x = radius ((1 - cos t, 1/2 - sin t) - (1/2, 1/4)) + noise xi

    The density is the mean of Gaussians along the arcs, integrated by Fejer's rule; without noise there is no density.

    Parameters:
        size: number of training points.
        test_size: number of held-out points.
        noise: standard deviation of the Gaussian noise.
        radius: radius of the half circles.

    Reference: `make_moons` of scikit-learn, centred.

    Example: data: {use: two_moons, noise: 0.1}
    """

    unit_scale: ClassVar[bool] = True
    labelled: ClassVar[bool] = True

    size: Annotated[int, Ge(1)] = 10_000
    test_size: Annotated[int, Ge(1)] = 10_000
    noise: Annotated[float, Ge(0)] = 0.1
    radius: Annotated[float, Gt(0)] = 1.0

    def traits(self) -> DataTraits:
        return super().traits()._replace(known=self.noise > 0)

    def event(self) -> Event:
        return (2,)

    def point_count(self, split: Split) -> int:
        return self.size if split == "train" else self.test_size

    def class_count(self) -> int:
        return 2

    def load(self, split: Split, rng: Generator) -> Dataset:
        n = self.point_count(split)
        y = torch.arange(n) % 2
        t = pi * torch.rand(n, generator=rng)
        outer = torch.stack([t.cos() - 0.5, t.sin() - 0.25], dim=1)
        clean = torch.where(y[:, None] == 0, outer, -outer)  # the moons are each other's reflection in the origin
        return Dataset(self.radius * clean + self.noise * torch.randn(n, 2, generator=rng), y)

    def log_prob(self, x: Tensor) -> Tensor:
        # Enough nodes for the rule to be exact to rounding on Gaussians this narrow, also far from the arcs.
        nodes, weights = _fejer(48 + ceil(28 * self.radius / self.noise), x)
        t = pi / 2 * (1 + nodes)
        outer = self.radius / self.noise * torch.stack([t.cos() - 0.5, t.sin() - 0.25], dim=1)
        arcs = torch.cat([outer, -outer])
        levels = (torch.cat([weights, weights]) / 4).log() - arcs.square().sum(1) / 2
        points = x.double() / self.noise
        mixed = torch.cat([torch.addmm(levels, block, arcs.T).logsumexp(1) for block in torch.split(points, BLOCK)])
        return mixed - points.square().sum(1) / 2 - log(2 * pi * self.noise**2)


def _fejer(n: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Nodes and weights of Fejer's first rule on [-1, 1]: for smooth functions as good as Gauss's, in closed form."""
    angles = pi / n * (torch.arange(n, device=like.device, dtype=torch.float64) + 0.5)
    k = torch.arange(1, n // 2 + 1, device=like.device, dtype=torch.float64)
    weights = 2 / n * (1 - 2 * ((2 * angles.unsqueeze(1) * k).cos() / (4 * k.square() - 1)).sum(1))
    return angles.cos(), weights
