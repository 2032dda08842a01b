"""The checkerboard."""

from __future__ import annotations

from math import inf, log
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, Gt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Data, Dataset, Event
from ebmkit.contracts.kinds.data import Split
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import DataTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor


@component("checkerboard")
class Checkerboard(Data):
    """Checkerboard: uniform on the dark squares of a board, with sharp edges.

        x ~ U[-width/2, width/2]^2,    given that column + row is even

    Parameters:
        size: number of training points.
        test_size: number of held-out points.
        width: length of a side of the board.
        fields: number of squares along a side, even.

    Reference: Grathwohl et al., FFJORD, arXiv:1810.01367.

    Example: data: {use: checkerboard, fields: 4}
    """

    unit_scale: ClassVar[bool] = True
    known: ClassVar[bool] = True

    size: Annotated[int, Ge(1)] = 10_000
    test_size: Annotated[int, Ge(1)] = 10_000
    width: Annotated[float, Gt(0)] = 4.0
    fields: Annotated[int, Ge(2)] = 4

    def __post_init__(self) -> None:
        if self.fields % 2:
            raise ValueError(f"'fields' is {self.fields}, but must be an even number, so that columns are equal")

    def traits(self) -> DataTraits:
        return super().traits()._replace(bounded=True)

    def event(self) -> Event:
        return (2,)

    def point_count(self, split: Split) -> int:
        return self.size if split == "train" else self.test_size

    def load(self, split: Split, rng: Generator) -> Dataset:
        n = self.point_count(split)
        column = torch.randint(self.fields, (n,), generator=rng)
        row = 2 * torch.randint(self.fields // 2, (n,), generator=rng) + column % 2
        corner = torch.stack([column, row], dim=1)
        return Dataset(self.width * ((corner + torch.rand(n, 2, generator=rng)) / self.fields - 0.5))

    def log_prob(self, x: Tensor) -> Tensor:
        field = ((x.double() / self.width + 0.5) * self.fields).floor()
        on_board = ((field >= 0) & (field < self.fields)).all(1)
        dark = field.sum(1) % 2 == 0
        level = torch.full(x.shape[:1], log(2 / self.width**2), device=x.device, dtype=torch.float64)
        return level.masked_fill(~(on_board & dark), -inf)
