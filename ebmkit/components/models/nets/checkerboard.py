"""Sweeps over a lattice of two colours, in a layout in which the units of a colour are next to each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from sys import byteorder

import torch
from torch import Generator, Tensor

from ebmkit.maths.coins import Uniform

COLOURS = (0, 1)

#: Two views of the same shape.
Views = tuple[Tensor, Tensor]


class Checkerboard:
    """Units `(B, *shape)` of two values as two half lattices `(B, *shape[:-1], ceil(shape[-1] / 2))` of 0 and 1.

    A site has the colour of the parity of the sum of its coordinates. The k-th unit of a row of a half lattice is the
    k-th site of that colour in the row, so that all neighbours are shifts of the other half lattice. If rows have an
    odd length, every other row of a half lattice ends with a gap, which is zero.

    Half lattices are small integers, since the time of a sweep is mostly that of memory. All tensors and views are made
    once for many sweeps: on a small lattice making views takes most of the time.
    """

    def __init__(
        self, batch: int, shape: tuple[int, ...], periodic: bool, values: tuple[float, float], field: Tensor
    ) -> None:
        """`field (d,)` has one number per unit; states have its device and dtype."""
        low, high = values
        self._span, self._low = high - low, field.new_full((), low)
        half = (batch, *shape[:-1], (shape[-1] + 1) // 2)
        #: By colour: 1 for units of the higher value.
        self.halves = [field.new_zeros(half, dtype=torch.int8) for _ in COLOURS]
        #: The whole lattice, rows filled up to an even length, as words of two units; and what a unit of a colour adds.
        self._words, self._first = (torch.zeros_like(self.halves[0], dtype=torch.int16) for _ in COLOURS)
        self._worth = [_worth(self._words, shape, colour) for colour in COLOURS]
        self._whole = self._words.view(torch.int8)[..., : shape[-1]]
        self._near = torch.zeros_like(self.halves[0])
        self._sum, self._floats = field.new_zeros(half), field.new_zeros(half)
        self._flat = self._floats.flatten(1)
        self._places = [place for colour in COLOURS for place in _places(self._whole, self.halves[colour], colour)]
        self._sums = [_sums(self._near, self.halves[1 - colour], colour, shape, periodic) for colour in COLOURS]
        self._gaps = [_gaps(self.halves[colour], colour, shape[-1]) for colour in COLOURS]
        self._uniform = Uniform(self._sum)
        self._right = field.new_zeros(batch)
        self._last: tuple[Tensor, int] | None = None
        #: The field by colour, each `(*shape[:-1], ceil(shape[-1] / 2))`.
        self.fields = [field.new_zeros(half[1:]) for _ in COLOURS]
        for colour in COLOURS:
            for site, unit in _places(field.view(1, *shape), self.fields[colour].unsqueeze(0), colour):
                unit.copy_(site)
        self._flat_fields = [each.flatten() for each in self.fields]

    def load(self, units: Tensor) -> Tensor:
        """Take over states `(B, d)`; zero for each chain `(B,)`, or NaN if a unit has neither of the two values."""
        if self._last is not None and units._base is self._last[0] and units._version == self._last[1]:
            return self._right  # the half lattices are these states already
        scaled = (units - self._low).div_(self._span)
        self._whole.copy_(scaled.view(self._whole.shape))
        for site, unit in self._places:
            unit.copy_(site)
        off = (scaled - 1).mul_(scaled).abs_().amax(1)  # zero for 0 and 1 only
        return torch.where(off == 0, self._right, torch.nan)

    def store(self, units: Tensor, zero: Tensor) -> None:
        """Write the present states into `units (B, d)`, with a number added to those of each chain `(B,)`."""
        self._first.copy_(self.halves[0])
        self._words.copy_(self.halves[1]).mul_(self._worth[1]).addcmul_(self._first, self._worth[0])
        units.copy_(self._whole.flatten(1))
        torch.add((self._low + zero).unsqueeze(1), units, alpha=self._span, out=units)

    def recognize(self, units: Tensor) -> None:
        """These states, of all chains, are those of the half lattices for as long as they are not changed."""
        self._last = units, units._version

    def inner(self, colour: int, numbers: Tensor) -> Tensor:
        """The sum of the products of units of a colour with numbers, `(B,)`."""
        self._floats.copy_(self.halves[colour])
        self._floats.mul_(numbers)
        return self._flat.sum(1)

    def along_field(self, colour: int) -> Tensor:
        """The sum of the products of units of a colour with their fields, `(B,)`."""
        self._floats.copy_(self.halves[colour])
        return self._flat @ self._flat_fields[colour]

    def around(self, colour: int) -> Tensor:
        """The sum over the neighbours of every unit of a colour, which the next call overwrites."""
        self._near.copy_(self.halves[1 - colour])  # of the two neighbours in a row, one is at the same place
        for target, shifted in self._sums[colour]:
            target.add_(shifted)
        return self._sum.copy_(self._near)

    def draw(self, colour: int, p: Tensor, rng: Generator) -> None:
        """New units of a colour, where p are the probabilities of the higher value."""
        self.halves[colour].copy_(self._uniform.draw(rng).lt_(p))
        for gap in self._gaps[colour]:
            gap.zero_()


def _rows(shape: Sequence[int], colour: int) -> Iterator[tuple[tuple[slice, ...], int]]:
    """The rows of a lattice, by the parities of their coordinates: where they are, and their first site of a colour."""
    for start in product(*(range(min(2, length)) for length in shape[:-1])):
        yield (slice(None), *(slice(first, None, 2) for first in start)), (colour + sum(start)) % 2


def _worth(words: Tensor, shape: tuple[int, ...], colour: int) -> Tensor:
    """What a unit of a colour adds to a word of two units, `(*shape[:-1], 1)`: it is one of the two bytes."""
    worth = words.new_zeros(1, *shape[:-1], 1)
    for rows, place in _rows(shape, colour):
        worth[rows] = 256**place if byteorder == "little" else 256 ** (1 - place)
    return worth[0]


def _places(whole: Tensor, half: Tensor, colour: int) -> list[Views]:
    """The sites of a colour in the whole lattice, and their places in the half one."""
    found = []
    for rows, first in _rows(whole.shape[1:], colour):
        sites = whole[(*rows, slice(first, None, 2))]
        if sites.numel():
            found.append((sites, half[(*rows, slice(sites.shape[-1]))]))
    return found


def _gaps(half: Tensor, colour: int, width: int) -> list[Tensor]:
    """The last places of rows that begin with the other colour, if rows have an odd length."""
    rows = [rows for rows, first in _rows((*half.shape[1:-1], width), colour) if first]
    return [half[(*some, slice(width // 2, None))] for some in rows] if width % 2 else []


def _sums(near: Tensor, other: Tensor, colour: int, shape: tuple[int, ...], periodic: bool) -> list[Views]:
    """Sums over neighbours but for those at the same place: parts of `near`, and what has to be added to them."""
    found = []
    for axis, length in enumerate(shape[:-1], start=1):
        found += _shifted(near, other, axis, 1, periodic and length > 2)
        found += _shifted(near, other, axis, -1, periodic and length > 2)
    for rows, first in _rows(shape, colour):
        # Site 2 k + first has a neighbour at 2 k + 1 - first, its own place, and one at the place before or after.
        by = -1 if first else 1
        found += _shifted(near[rows], other[rows], near.dim() - 1, by, periodic and shape[-1] > 2)
    return [(target, shifted) for target, shifted in found if target.numel()]


def _shifted(near: Tensor, other: Tensor, axis: int, by: int, periodic: bool) -> list[Views]:
    """`near` at each place, and `other` at the place before (1) or after (-1) it along an axis."""
    last = near.shape[axis] - 1
    to, start = (1, 0) if by == 1 else (0, 1)
    found = [(near.narrow(axis, to, last), other.narrow(axis, start, last))]
    if periodic:
        to, start = (0, last) if by == 1 else (last, 0)
        found.append((near.narrow(axis, to, 1), other.narrow(axis, start, 1)))
    return found
