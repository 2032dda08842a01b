"""The data of a run: missing files, checks of the points, and placement in memory."""

from __future__ import annotations

from typing import NamedTuple, cast

import torch
from torch import Tensor

from ebmkit.contracts.files import absence, as_written
from ebmkit.contracts.kinds import Data, Dataset
from ebmkit.contracts.kinds.data import Split
from ebmkit.contracts.walk import walk
from ebmkit.engine.names import Names
from ebmkit.engine.rng import Streams
from ebmkit.engine.telling.error_site import ErrorSite
from ebmkit.errors.fit import DataUnreadable
from ebmkit.language.plan import Plan
from ebmkit.maths.units import Scale, Units, fit_units, mapped

#: Data points per block of the check.
ROWS = 1 << 16

#: The number of random points that replace missing data, if no batch is larger.
STAND_IN = 256


class Points(NamedTuple):
    """The points of a split, and their labels; None without data or labels."""

    x: Tensor | None = None
    y: Tensor | None = None

    def on(self, device: torch.device) -> Points:
        """Move them to the device if they fit in a quarter of its free memory."""
        if self.x is None:
            return self
        large = device.type == "cuda" and self.x.nbytes > torch.cuda.mem_get_info(device)[0] // 4
        x = self.x if large else self.x.to(device)
        return Points(x, None if self.y is None else self.y.to(x.device, torch.long))


def training_points(plan: Plan) -> Tensor | None:
    """The training points of a plan as its network sees them, on the CPU, without building anything else; None
    without data."""
    check_files(plan)
    dtype = getattr(torch, plan.spec.dtype)
    points = load(plan, "train", Streams(plan.spec.seed, torch.device("cpu")), dtype, stand_in=False)
    return scaled(plan, units_of(plan, points), points, dtype).x


def units_of(plan: Plan, train: Points) -> Units:
    """The map between the units of the data and the space of `scale`, fitted to the training points."""
    if plan.spec.scale == "none" or train.x is None:
        return Units()

    def name(column: int) -> str:
        shown = Names(plan).shown
        return f"column {column} (counted from 0)" if shown is None else f"column '{shown[column]}'"

    with ErrorSite(plan, ("data",)):
        return fit_units(cast("Scale", plan.spec.scale), train.x, name)


def scaled(plan: Plan, units: Units, points: Points, dtype: torch.dtype) -> Points:
    """The points in the space of `scale`."""
    if points.x is None:
        return points
    with ErrorSite(plan, ("data",)):
        return points._replace(x=mapped(units, points.x, dtype))


def check_files(plan: Plan) -> None:
    """Raise `DataUnreadable` if a file is missing that the data of the plan, including those of metrics, read."""
    for path, part in walk(plan.spec):
        if not isinstance(part, Data):
            continue
        with ErrorSite(plan, path):
            missing = part.missing()
        if missing:
            said = f"data '{plan.name_at(path)}': {absence(as_written(part, missing[0]))}"
            raise DataUnreadable(said, plan.place(path), help=part.origin())


def load(plan: Plan, split: Split, streams: Streams, dtype: torch.dtype, *, stand_in: bool) -> Points:
    """The points of a split and their labels, on the CPU, in the units of the data. Random points may `stand_in` for
    missing files."""
    data = plan.spec.data
    if data is None:
        return Points()
    with ErrorSite(plan, ("data",)):
        rng = streams.generator(f"data/{split}")
        x, y = _made_up(plan, data, rng) if stand_in and data.missing() else data.load(split, rng)
        if tuple(x.shape[1:]) != plan.event or not len(x):
            raise ValueError(
                f"{split} points have shape {tuple(x.shape)}, expected (N, {', '.join(map(str, plan.event))})"
            )
        if plan.spec.scale == "none":
            x = x.to(dtype) if x.is_floating_point() else x
        _check_finite(x, split)
        if y is not None and (y.shape != x.shape[:1] or y.is_floating_point()):
            raise ValueError(f"{split} labels are {y.dtype} of shape {tuple(y.shape)}, expected {len(x)} integers")
        return Points(x, y)


def _check_finite(x: Tensor, split: Split) -> None:
    """In blocks, so that a file larger than memory is not read as a whole."""
    for first in range(0, len(x), ROWS):
        block = x[first : first + ROWS]
        if not all(bool(end.isfinite()) for end in block.aminmax()):
            row = first + int(block.flatten(1).isfinite().all(dim=1).logical_not().nonzero()[0])
            raise ValueError(f"{split} point {row} is not finite: {x[row].flatten()[:8].tolist()}")


def _made_up(plan: Plan, data: Data, rng: torch.Generator) -> Dataset:
    """Random points with the shape of the missing data, in the space of the model, which is theirs."""
    n = max(STAND_IN, *(stage.batch_size for stage in plan.spec.stages), 0)
    x = torch.empty(n, *plan.event).normal_(generator=rng)
    if values := plan.spec.model.traits().unit_values:
        x = x.new_tensor(values)[torch.randint(len(values), x.shape, generator=rng)]
    return Dataset(x, torch.zeros(n, dtype=torch.long) if data.traits().labelled else None)
