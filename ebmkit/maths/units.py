"""The affine map between the units of the data and the space in which networks, noise and chains work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import torch
from torch import Tensor, nn

#: How data are scaled; the choice `auto` of a spec is resolved to one of these.
Scale: TypeAlias = Literal["none", "standardize", "whiten", "range"]

#: Rows that are mapped at a time.
ROWS = 1 << 16

#: The least weight of the identity in a correlation matrix that is inverted. Columns that determine each other have a
#: direction without spread, which would otherwise amplify rounding errors.
LEAST_SHRINKAGE = 1e-4

#: Values beyond the central 98 % by more than this many times its width do not count for the scale: one faulty row of
#: a table would otherwise shrink all others to a point.
REACH = 3.0


class Units(nn.Module):
    """`z = (x - shift) into` and `x = shift + z out` on flattened states, in float64; the identity without buffers.

    States `x` are in the units of the data, `z` in the standardised space. With densities
    `p(x) = p(z) |dz/dx|` the energies differ by `log_volume = log |dx/dz|`, which is the same everywhere.
    """

    shift: Tensor | None
    into_matrix: Tensor | None
    out_matrix: Tensor | None

    def __init__(self, shift: Tensor | None = None, out: Tensor | None = None) -> None:
        super().__init__()
        self.register_buffer("shift", shift)
        self.register_buffer("out_matrix", out)
        self.register_buffer("into_matrix", None if out is None else _inverse(out))

    @property
    def are_those_of_the_data(self) -> bool:
        """Whether nothing is mapped."""
        return self.shift is None

    @property
    def by_column(self) -> bool:
        """Whether every coordinate is mapped by itself."""
        return self.out_matrix is None or self.out_matrix.dim() == 1

    @property
    def log_volume(self) -> float:
        """`log |dx/dz|`."""
        if self.out_matrix is None:
            return 0.0
        return float(self.out_matrix.log().sum() if self.by_column else torch.linalg.slogdet(self.out_matrix)[1])

    def into(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        """States of the standardised space, for states in the units of the data; differentiable."""
        if self.shift is None:
            return x.to(dtype)
        flat = x.flatten(1).to(self.shift) - self.shift
        return self._times(flat, self.into_matrix).to(dtype).view_as(x)

    def out_of(self, z: Tensor) -> Tensor:
        """States in the units of the data, in float64; `z` itself if nothing is mapped."""
        if self.shift is None:
            return z
        flat = self._times(z.flatten(1).to(self.shift), self.out_matrix) + self.shift
        return flat.view_as(z)

    def gradient(self, slope: Tensor) -> Tensor:
        """`d/dx` in the units of the data from `d/dz`, in float64; `slope` itself if nothing is mapped."""
        if self.shift is None or self.into_matrix is None:
            return slope
        flat = slope.flatten(1).to(self.shift)
        transposed = self.into_matrix if self.by_column else self.into_matrix.T
        return self._times(flat, transposed).view_as(slope)

    @staticmethod
    def _times(flat: Tensor, matrix: Tensor | None) -> Tensor:
        assert matrix is not None
        return flat * matrix if matrix.dim() == 1 else flat @ matrix

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Units:
        """Follow a module to another device, but keep float64: data may be narrow and far from the origin."""
        super()._apply(lambda tensor: tensor.to(fn(tensor).device), recurse)  # type: ignore[no-untyped-call]
        return self


def _inverse(out: Tensor) -> Tensor:
    return out.reciprocal() if out.dim() == 1 else torch.linalg.inv(out)


def mapped(units: Units, x: Tensor, dtype: torch.dtype) -> Tensor:
    """`units.into` in blocks of rows: `x` may be a file of integers or of another precision."""
    if units.are_those_of_the_data:
        return x.to(dtype) if x.is_floating_point() else x
    z = torch.empty(x.shape, dtype=dtype)
    for first in range(0, len(x), ROWS):
        z[first : first + ROWS] = units.into(x[first : first + ROWS].double(), dtype)
    return z


def fit_units(scale: Scale, train: Tensor, name: Callable[[int], str]) -> Units:
    """The map for training points. `name` gives a column its name, for errors; a ValueError says what has no scale."""
    if scale == "none":
        return Units()
    flat = train.flatten(1).double()
    if len(flat) < 2:
        raise ValueError("a single training row has no spread to scale by: add rows, or set 'scale: none'")
    low, high = flat.amin(0), flat.amax(0)
    if bool((low == high).any()):
        column = int((low == high).nonzero()[0])
        raise ValueError(
            f"{name(column)} is {float(low[column]):.6g} in every training row, so it has no scale: leave it out"
        )
    if scale == "range":
        return _checked(Units((low + high) / 2, (high - low) / 2), name)
    centre, spread, core = _moments(flat)
    by_column = _checked(Units(centre, spread), name)
    if scale == "standardize" or flat.shape[1] == 1:
        return by_column
    return Units(centre, _root_correlation((core - centre) / spread) * spread)


def _moments(flat: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Mean and standard deviation of every column, and the rows with extreme values moved to the limit of `REACH`.

    All of it commutes with shifts and factors of a column, so that the mapped data do not depend on their units.
    """
    ordered = flat.sort(0).values
    last = len(flat) - 1
    low, high = ordered[round(0.01 * last)], ordered[round(0.99 * last)]
    width = high - low
    # A column that is constant but for rare values has no central part.
    reach = torch.where(width > 0, REACH * width, torch.inf)
    core = flat.clamp(low - reach, high + reach)
    centre = core[0] + (core - core[0]).mean(0)  # far from the origin, sums of the values themselves lose digits
    return centre, (core - centre).square().mean(0).sqrt(), core


def _root_correlation(standard: Tensor) -> Tensor:
    """The symmetric root of the correlation matrix, mixed with the identity: the more, the fewer rows there are."""
    n, d = standard.shape
    share = max(LEAST_SHRINKAGE, d / (n + d))
    correlation = (1 - share) * (standard.T @ standard / n)
    correlation.diagonal().fill_(1.0)
    values, vectors = torch.linalg.eigh(correlation)
    root: Tensor = (vectors * values.sqrt()) @ vectors.T
    return root


def _checked(units: Units, name: Callable[[int], str]) -> Units:
    """Raise a ValueError if a column has a scale that float64 cannot represent."""
    for factors in (units.out_matrix, units.into_matrix):
        assert factors is not None
        if not bool(factors.isfinite().all()):
            column = int((~factors.isfinite()).nonzero()[0])
            raise ValueError(f"{name(column)} has no scale that can be represented: rescale it")
    return units
