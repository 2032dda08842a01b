"""Rows of a file: the split into training and test rows, validation, and dequantisation."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, isfinite, log2
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, TypeAlias

from annotated_types import Ge, Gt, Le, Lt

from ebmkit.contracts.kinds.data import Split
from ebmkit.contracts.lazy import torch
from ebmkit.maths.enumeration import VALUES

if TYPE_CHECKING:
    from torch import Generator, Tensor

#: The fraction of rows that is held out.
TestFraction: TypeAlias = Annotated[float, Gt(0), Lt(1)]

#: Number of grey levels, the integers from 0 to this number minus one.
Levels: TypeAlias = Annotated[int, Ge(2), Le(65536)]

#: What the numbers of a file are: real, or units of two values.
Values: TypeAlias = Literal["real", "binary", "spin"]

#: Number of values processed at a time, so that a file need not fit into memory.
_BLOCK = 1 << 20

_GOLDEN = 0.6180339887498949

#: Maximum number of rows that are counted before they are read, which takes milliseconds.
_COUNTED = 100_000


def rows_of(split: Split, n: int, test_fraction: float) -> Tensor:
    """The rows of a split, out of `n`: row i is held out if the fractional part of i / 1.618... is below the fraction.

    Neither split can use its own generator, or they would overlap. A rule for each row alone gives the same result in
    every run, on every machine and with every version of torch, and appending rows moves no other row. Multiples of the
    golden ratio are spread most evenly, so a file sorted by class is split within each class.
    """
    held_out = (torch.arange(n, dtype=torch.float64) * _GOLDEN).frac() < test_fraction
    rows = (held_out if split == "test" else ~held_out).nonzero().flatten()
    if not len(rows):
        raise ValueError(f"with a 'test_fraction' of {test_fraction}, none of {n} rows is a {split} row")
    return rows


def check_paths(path: str, test_path: str | None) -> None:
    """Raise a ValueError if the held-out rows would be the training rows."""
    if path == test_path:
        raise ValueError("'test_path' is the file of the training rows: leave it out to hold out a part of them")


def is_held_out(row: int, test_fraction: float) -> bool:
    """Whether a row is a test row, by the same rule without torch."""
    return row * _GOLDEN % 1 < test_fraction


def row_count(split: Split, n: int | None, test_fraction: float) -> int | None:
    """The number of rows of a split, without torch; None if `n` is unknown or too large to count."""
    if n is None or n > _COUNTED:
        return None
    held_out = sum(is_held_out(row, test_fraction) for row in range(n))
    return held_out if split == "test" else n - held_out


def check_values(values: Values, levels: int | None, categories: int | None = None) -> None:
    """Raise a ValueError if integers would have two meanings: units of two values, grey levels, categories."""
    if levels is not None and categories is not None:
        raise ValueError("'categories' and 'dequantize' are two meanings of integers: give one of them")
    if values != "real" and levels is not None:
        raise ValueError(
            f"'dequantize' is for a density of grey levels, but 'values: {values}' are discrete: choose one"
        )
    if values != "real" and categories is not None:
        raise ValueError(f"'categories' are the numbers from 0 on, but 'values: {values}' are two others: choose one")


def check_numbers(x: Tensor, levels: int | None, values: Values, first_row: int = 0, *, called: str = "levels") -> None:
    """Raise a ValueError that names the first row and column that is not finite, or not one of the levels or values."""
    if levels is None and values == "real" and not x.is_floating_point():
        return  # every integer is finite
    for start, block in _blocks(x):
        block = block if x.is_floating_point() else block.double()
        low, high = map(float, block.aminmax())  # propagates NaN, and is ten times as fast as a mask
        if not (isfinite(low) and isfinite(high)):
            _refuse(~block.isfinite(), block, first_row + start, "is not finite")
        if levels is not None and not (low >= 0 and high < levels and torch.equal(block, block.floor())):
            wrong = (block < 0) | (block >= levels) | (block != block.floor())
            _refuse(wrong, block, first_row + start, f"is not one of the {called} 0 to {levels - 1}")
        if values != "real":
            lower, higher = VALUES[values]
            wrong = (block != lower) & (block != higher)
            if wrong.any():
                _refuse(wrong, block, first_row + start, f"is neither {lower:g} nor {higher:g}: units are '{values}'")


def _refuse(wrong: Tensor, block: Tensor, first_row: int, why: str) -> None:
    row, *column = wrong.nonzero()[0].tolist()
    place = f"row {first_row + row}, column {', '.join(map(str, column))} (counted from 0)"
    raise ValueError(f"{place}: {block[(row, *column)].item()} {why}")


def scaled(x: Tensor, rng: Generator, levels: int | None) -> Tensor:
    """The rows `x`, dequantized if there are levels, in float32, or in float64 if the file has it.

    Without levels, and if the type is one of these, `x` itself is returned, in memory or memory-mapped.
    """
    dtype = torch.promote_types(x.dtype, torch.float32)
    if levels is None and x.dtype == dtype:
        return x
    out = torch.empty(x.shape, dtype=dtype)
    for start, block in _blocks(x):
        out[start : start + len(block)] = block if levels is None else dequantized(block.double(), levels, rng)
    return out


def dequantized(k: Tensor, levels: int, rng: Generator) -> Tensor:
    """`2 (k + u) / levels - 1` with u ~ U[0, 1), in float64: a density on [-1, 1)^d that `floor` turns back into k.

    u is drawn between the points of the grid that float32 resolves near 1, so that rounding never changes the level.
    """
    grid = 1 << (24 - ceil(log2(levels)))
    u = (torch.empty(k.shape, dtype=torch.float64).random_(grid, generator=rng) + 0.5) / grid
    return 2 * (k + u) / levels - 1


class Moments(NamedTuple):
    """Mean and standard deviation of every coordinate, in float64."""

    mean: Tensor
    std: Tensor


def plain_moments(x: Tensor) -> Moments:
    """The moments of rows, computed block by block; columns may be constant."""
    mean, square = (torch.zeros(x.shape[1:], dtype=torch.float64) for _ in range(2))
    for _, block in _blocks(x):
        mean += block.double().sum(0) / len(x)
    for _, block in _blocks(x):
        square += (block.double() - mean).square().sum(0)
    return Moments(mean, (square / len(x)).sqrt())


def _blocks(x: Tensor) -> Iterator[tuple[int, Tensor]]:
    """Blocks of rows, each with the number of its first row."""
    rows = max(1, _BLOCK // max(1, x[0].numel()))
    for start in range(0, len(x), rows):
        yield start, x[start : start + rows]
