"""The Swiss roll in the plane."""

from __future__ import annotations

from math import cos, pi, sin
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, Gt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Data, Dataset, Event
from ebmkit.contracts.kinds.data import Split
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Generator


@component("swiss_roll")
class SwissRoll(Data):
    """Swiss roll in the plane: a single spiral arm, with noise.

        x = radius t / t_max (cos t, sin t) - mean + noise xi,    t ~ U[3/2 pi, t_max],    t_max = (3/2 + 2 turns) pi

    Parameters:
        size: number of training points.
        test_size: number of held-out points.
        noise: standard deviation of the Gaussian noise.
        radius: distance of the outer end from the roll's axis.
        turns: number of turns of the arm around the axis.

    Reference: `make_swiss_roll` of scikit-learn without its flat axis, centred.

    Example: data: {use: swiss_roll, noise: 0.05}
    """

    unit_scale: ClassVar[bool] = True

    size: Annotated[int, Ge(1)] = 10_000
    test_size: Annotated[int, Ge(1)] = 10_000
    noise: Annotated[float, Ge(0)] = 0.05
    radius: Annotated[float, Gt(0)] = 2.0
    turns: Annotated[float, Gt(0)] = 1.5

    def event(self) -> Event:
        return (2,)

    def point_count(self, split: Split) -> int:
        return self.size if split == "train" else self.test_size

    def load(self, split: Split, rng: Generator) -> Dataset:
        n = self.point_count(split)
        first, last = 1.5 * pi, (1.5 + 2 * self.turns) * pi
        t = first + (last - first) * torch.rand(n, generator=rng)
        roll = torch.stack([t * t.cos(), t * t.sin()], dim=1)
        # The mean of the curve, by integration: the mean of the points would differ between train and test.
        mean = torch.tensor([_moment(last)[i] - _moment(first)[i] for i in (0, 1)]) / (last - first)
        clean = self.radius / last * (roll - mean)
        return Dataset(clean + self.noise * torch.randn(n, 2, generator=rng))


def _moment(t: float) -> tuple[float, float]:
    """Antiderivatives of t cos t and t sin t."""
    return cos(t) + t * sin(t), sin(t) - t * cos(t)
