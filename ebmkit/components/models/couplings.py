"""Pairwise couplings of units of two values in a spec. Checked without torch."""

from __future__ import annotations

from math import isclose
from typing import Annotated, Literal, TypeAlias

from annotated_types import MinLen

from ebmkit.contracts.traits import ModelTraits
from ebmkit.maths.enumeration import ENUMERABLE

#: {0, 1} or {-1, +1}.
Values: TypeAlias = Literal["binary", "spin"]

#: The rows of a symmetric matrix with a diagonal of zeros.
Couplings: TypeAlias = Annotated[tuple[tuple[float, ...], ...], MinLen(1)]


def check_couplings(rows: Couplings, units: int, name: str) -> None:
    """Raise a ValueError unless the parameter `name` is a coupling matrix of this many units."""
    if len(rows) != units:
        raise ValueError(f"'{name}' has {len(rows)} rows, but there are {units} units")
    for i, row in enumerate(rows):
        if len(row) != units:
            raise ValueError(f"'{name}': row {i} has {len(row)} numbers, but there are {units} units")
        if row[i] != 0:
            raise ValueError(f"'{name}': row {i} has {row[i]} on the diagonal, which must be zero")
        for j in range(i):
            if not isclose(row[j], rows[j][i], rel_tol=1e-9):
                raise ValueError(
                    f"'{name}' is not symmetric: row {i} has {row[j]} in column {j}, "
                    f"but row {j} has {rows[j][i]} in column {i}"
                )


def unit_traits(traits: ModelTraits, space: Values, units: int | None) -> ModelTraits:
    """Traits of a pairwise model: its space is given by `values`, few units can be enumerated, and units that do not
    interact can be drawn at once."""
    enumerable = units is not None and units <= ENUMERABLE
    offers = traits.offers | {"blocks"} | ({"sample_exact", "log_z", "ground_state"} if enumerable else set())
    return traits._replace(space=space, offers=offers)


def two_coloured(shape: tuple[int, ...], periodic: bool) -> bool:
    """Whether a lattice is a checkerboard: a ring of odd length needs a third colour."""
    return not periodic or all(length == 1 or length % 2 == 0 for length in shape)
