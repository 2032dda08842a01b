"""Parameters of models of a visible and a hidden layer. Checked without torch."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from annotated_types import Ge, MinLen

from ebmkit.contracts.kinds import Event
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

#: The rows of a matrix, one row per visible unit.
Rows: TypeAlias = Annotated[tuple[Annotated[tuple[float, ...], MinLen(1)], ...], MinLen(1)]
Numbers: TypeAlias = Annotated[tuple[float, ...], MinLen(1)]
Count: TypeAlias = Annotated[int, Ge(1)]
Shape: TypeAlias = Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)]

#: What two layers without connections inside of them offer.
LAYER_OFFERS = frozenset({"blocks", "sweeps", "hidden", "posterior", "activations", "receptive_fields", "reconstruct"})
#: Hidden units of a model whose spec gives neither their number nor weights.
HIDDEN = 64
#: Maximum number of units of the smaller layer whose states are kept in a table: about a million states.
LARGEST_LAYER = 20
#: Maximum number of units of the smaller layer over whose states a sum is computed block by block, in half a minute.
LARGEST_SUM = 25


def visible_shape(shape: Event | None, *by_unit: Any) -> Event | None:
    """The shape of a state: as given, or a list as long as the first parameter that has one entry per visible unit."""
    return shape or next(((len(entries),) for entries in by_unit if isinstance(entries, tuple)), None)


def hidden_count(hidden: int | None, weights: Rows | None, biases: Numbers | None) -> int:
    """The number of hidden units."""
    return hidden or (len(weights[0]) if weights else len(biases) if biases else HIDDEN)


def check_layers(event: Event | None, hidden: int, weights: Rows | None, **by_name: tuple[int, Any]) -> None:
    """Raise a ValueError unless the parameters agree about the numbers of units.

    Further parameters are given by name: the layer, 0 for visible and 1 for hidden, and one number per unit, or None.
    """
    units = None if event is None else prod(event)
    if weights is not None:
        if len(weights) != units:
            raise ValueError(f"'weights' has {len(weights)} rows, but there are {units} visible units")
        for i, row in enumerate(weights):
            if len(row) != hidden:
                raise ValueError(f"'weights': row {i} has {len(row)} numbers, but there are {hidden} hidden units")
    for name, (layer, numbers) in by_name.items():
        count, called = (units, "visible") if layer == 0 else (hidden, "hidden")
        if isinstance(numbers, tuple) and len(numbers) != count:
            raise ValueError(f"'{name}' has {len(numbers)} numbers, but there are {count} {called} units")


def as_tensor(numbers: Any) -> Tensor | None:
    """Numbers of a spec in float64."""
    return None if numbers is None else torch.tensor(numbers, dtype=torch.float64)
