"""Choice of the coordinates to show if there are too many."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.engine.run_view import RunView


def chosen(view: RunView, most: int) -> list[int]:
    """All coordinates of flattened states if there are few; else those that mix most slowly, or the first."""
    import torch

    count = prod(view.event)
    if count <= most or view.mixing is None:
        return list(range(min(count, most)))
    ess = torch.nan_to_num(view.mixing.coordinates.ess_bulk.flatten(), nan=0.0)
    return sorted(ess.argsort(stable=True)[:most].tolist())


def which(view: RunView, most: int) -> str:
    """A description of the choice, followed by a space; empty if all are shown, or the mean of all."""
    count = prod(view.event)
    if count <= most or is_discrete(view):
        return ""
    return f"The {most} of {count:,} coordinates that mix most slowly. " if view.mixing else f"The first of {count:,}. "


def is_discrete(view: RunView) -> bool:
    """Whether a state consists of units of a few values."""
    return bool(view.plan.spec.model.traits().unit_values)


def quantities(view: RunView, most: int) -> dict[str, Tensor]:
    """Quantities shown for long chains, each `(chains, draws)` in float64: coordinates, or the mean of all units if
    there are many discrete ones; and the energy."""
    assert view.draws is not None
    import torch

    x = view.draws.x.flatten(2)
    if is_discrete(view) and x.shape[2] > most:
        found = {"mean unit": torch.cat([block.flatten(2).double().mean(2) for block in view.draws.blocks()], 1)}
    else:
        found = {view.names.coordinate(index): x[:, :, index] for index in chosen(view, most)}
    if "energy" in view.draws.seen:
        found["energy"] = view.draws.seen["energy"]
    return {name: values.cpu().double() for name, values in found.items()}
