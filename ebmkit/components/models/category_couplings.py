"""Categories, and couplings and fields of categorical units, in a spec. Checked without torch."""

from __future__ import annotations

from math import isclose
from typing import Annotated, TypeAlias

from annotated_types import Ge, Le, MinLen

from ebmkit.contracts.states import unit_values
from ebmkit.contracts.traits import ModelTraits
from ebmkit.maths.enumeration import ENUMERABLE, most_units

#: K, the number of categories of a unit.
Categories: TypeAlias = Annotated[int, Ge(2), Le(10_000)]

#: A row of K numbers.
Row: TypeAlias = Annotated[tuple[float, ...], MinLen(1)]
#: h, a row for each unit.
Fields: TypeAlias = Annotated[tuple[Row, ...], MinLen(1)]
#: J_ij(a, b) as `weights[i][j][a][b]`.
Tables: TypeAlias = Annotated[tuple[tuple[tuple[Row, ...], ...], ...], MinLen(1)]


def check_fields(rows: Fields, units: int | None, categories: int, name: str) -> None:
    """Raise a ValueError unless the parameter `name` has a row of K numbers for each unit."""
    if units is not None and len(rows) != units:
        raise ValueError(f"'{name}' has {len(rows)} rows, but there are {units} units")
    for i, row in enumerate(rows):
        if len(row) != categories:
            raise ValueError(f"'{name}': row {i} has {len(row)} numbers, but there are {categories} categories")


def check_tables(tables: Tables, units: int, categories: int, name: str) -> None:
    """Raise a ValueError unless the parameter `name` has a K x K table for each pair of units, and is symmetric."""
    if len(tables) != units:
        raise ValueError(f"'{name}' has {len(tables)} rows of tables, but there are {units} units")
    for i, row in enumerate(tables):
        if len(row) != units:
            raise ValueError(f"'{name}': row {i} has {len(row)} tables, but there are {units} units")
        for j, table in enumerate(row):
            if len(table) != categories or any(len(line) != categories for line in table):
                raise ValueError(f"'{name}': the table of units {i} and {j} is not {categories} x {categories}")
        if any(map(any, row[i])):
            raise ValueError(f"'{name}': the table of unit {i} with itself must be zero")
    for i, row in enumerate(tables):
        for j in range(i):
            for a, line in enumerate(row[j]):
                for b, number in enumerate(line):
                    if not isclose(number, tables[j][i][b][a], rel_tol=1e-9):
                        raise ValueError(
                            f"'{name}' is not symmetric: units {i} and {j} have {number} in categories {a} and {b}, "
                            f"but units {j} and {i} have {tables[j][i][b][a]} in categories {b} and {a}"
                        )


def category_traits(traits: ModelTraits, categories: int, units: int | None) -> ModelTraits:
    """Traits of a pairwise model: few units can be enumerated, and units that do not interact can be drawn at once."""
    few = units is not None and units <= most_units(ENUMERABLE, unit_values("categorical", categories))
    offers = traits.offers | {"blocks"} | ({"sample_exact", "log_z", "ground_state"} if few else set())
    return traits._replace(categories=categories, offers=offers)
