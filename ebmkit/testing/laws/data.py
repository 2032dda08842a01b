"""The laws of data sets."""

from __future__ import annotations

import dataclasses
import math

import torch

from ebmkit.contracts.kinds import Data, Dataset
from ebmkit.contracts.kinds.data import Split
from ebmkit.testing.case import Case
from ebmkit.testing.law import Inapplicable, Law, require
from ebmkit.testing.oracles import BELIEVED, DRAWS, features, generator, integrate, require_means
from ebmkit.testing.partner import default_dtype
from ebmkit.testing.untouched import no_global_randomness, require_same_bits

#: A normal variable is larger with a probability of 1e-6.
SIGMAS = 4.8

SPLITS: tuple[Split, Split] = ("train", "test")


def _load(data: Data, split: Split) -> Dataset:
    return data.load(split, generator(SPLITS.index(split)))


def loads_what_it_announces(data: Data, case: Case) -> None:
    """Both splits contain finite points of the announced shape and space, on the CPU, and one label each if any."""
    values = {"binary": {0.0, 1.0}, "spin": {-1.0, 1.0}}.get(data.traits().space)
    if data.traits().space == "categorical":
        values = {float(category) for category in range(data.category_count() or 0)}
    for split in SPLITS:
        x, y = _load(data, split)
        require(len(x) > 0, f"the {split} split is empty")
        require(tuple(x.shape[1:]) == data.event(), f"points have shape {tuple(x.shape[1:])}, not {data.event()}")
        require(x.device.type == "cpu", f"points are on {x.device}")
        require(x.is_floating_point() or data.traits().space != "real", f"real points are {x.dtype}")
        require(bool(x.isfinite().all()), f"{int((~x.isfinite()).sum())} numbers are not finite")
        unexpected = set(x.flatten().tolist()) - values if values else set()
        require(not unexpected, f"{data.traits().space} points have values {sorted(unexpected)[:3]}")
        if y is not None:
            require(y.shape == x.shape[:1], f"{len(x)} points have labels of shape {tuple(y.shape)}")


def counts_what_it_loads(data: Data, case: Case) -> None:
    """The numbers of points and of classes that are announced before anything is loaded are right."""
    if data.point_count("train") is None and data.class_count() is None:
        raise Inapplicable("it announces neither the number of its points nor that of its classes")
    for split in SPLITS:
        x, y = _load(data, split)
        announced, classes = data.point_count(split), data.class_count()
        require(announced in (None, len(x)), f"it announces {announced} {split} points, but there are {len(x)}")
        largest = -1 if y is None else int(y.max())
        require(classes is None or largest < classes, f"it announces {classes} classes, but there is a label {largest}")


def names_what_it_loads(data: Data, case: Case) -> None:
    """Every coordinate of a vector and every label has a name, if any has; so has every unit of categories."""
    coordinates, classes, categories = data.coordinate_names(), data.class_names(), data.category_names()
    if coordinates is None and classes is None and categories is None:
        raise Inapplicable("it names neither coordinates nor classes nor categories")
    named = None if coordinates is None else (len(coordinates),)
    require(named in (None, data.event()), f"it names {named} coordinates of points of shape {data.event()}")
    if categories is not None:
        units, most = math.prod(data.event()), data.category_count() or 0
        require(len(categories) == units, f"it names the categories of {len(categories)} units, but there are {units}")
        require(max(map(len, categories)) <= most, f"it names more than {most} categories of a unit")
    for split in SPLITS if classes is not None else ():
        y = _load(data, split).y
        largest = -1 if y is None else int(y.max())
        require(0 <= largest < len(classes or ()), f"it names {len(classes or ())} classes, but {largest} is a label")


def makes_float32_by_default(data: Data, case: Case) -> None:
    """Generated points, as opposed to points read from a file, have torch's default dtype."""
    if data.files():
        raise Inapplicable("its dtype is that of its file")
    with default_dtype(torch.float32):
        found = _load(data, "train").x.dtype
    require(found == torch.float32, f"points are {found}, but the default is float32")


def is_deterministic(data: Data, case: Case) -> None:
    """The same generator loads the same points to the last bit, without using global randomness."""
    for split in SPLITS:
        with no_global_randomness():
            one = _load(data, split)
        two = _load(data, split)
        require_same_bits(one.x, two.x, f"two loads of the {split} split")


def keeps_its_splits_apart(data: Data, case: Case) -> None:
    """The two splits are not the same points, and the test split has no more training points than chance explains: as
    many as training points have twins among themselves, at a false-alarm rate of 1e-6."""
    train, test = (_load(data, split).x for split in SPLITS)
    n = min(len(train), len(test))
    require(not torch.equal(train[:n], test[:n]), f"their first {n} points are equal")
    known: dict[bytes, int] = {}
    for row in _rows(train):
        known[row] = known.get(row, 0) + 1
    twins = sum(count for count in known.values() if count > 1) / len(train)
    found = sum(row in known for row in _rows(test)) / len(test)
    # Twins come in pairs, so that their number varies by more than a binomial.
    error = math.sqrt(2 * max(twins * (1 - twins), 1 / n) / n)
    require(
        found <= twins + SIGMAS * error,
        f"{found:.1%} of the test points are also training points, but only {twins:.1%} of these have a twin",
    )


def _rows(x: torch.Tensor) -> list[bytes]:
    return [row.tobytes() for row in x.detach().cpu().contiguous().flatten(1).numpy()]


def knows_its_density(data: Data, case: Case) -> None:
    """If the density is known, log_prob has one number for each point, integrates to one, and the points have its means
    of waves and its entropy at a false-alarm rate of 1e-6; in one and two dimensions."""
    if not data.traits().known:
        raise Inapplicable("its density is not known")
    if data.traits().bounded:
        raise Inapplicable("its density has edges, which no grid resolves")
    sized = any(field.name == "size" for field in dataclasses.fields(data))  # type: ignore[arg-type]
    many: Data = dataclasses.replace(data, size=DRAWS) if sized else data  # type: ignore[type-var]
    x = _load(many, "train").x.double()
    found = data.log_prob(x)
    require(tuple(found.shape) == (len(x),), f"log_prob of {len(x)} points has shape {tuple(found.shape)}")
    require(bool(found.isfinite().all()), f"log_prob of a point is {float(found.min())}")
    on_grid: list[torch.Tensor] = []  # of the grid that was used last: some densities take seconds on it

    def log_density(points: torch.Tensor) -> torch.Tensor:
        on_grid[:] = [data.log_prob(points)]
        return on_grid[0]

    exact = integrate(log_density, data.event())
    require(abs(exact.log_z) <= BELIEVED, f"its density integrates to {math.exp(exact.log_z):.9g}")
    require_means(features(x), exact.mean(features(exact.x)), "the mean of a wave over points")
    entropy = -exact.mean(on_grid[0].where(exact.weights > 0, torch.zeros_like(on_grid[0])))
    require_means(-found, entropy, "the entropy of points")


LAWS: tuple[Law, ...] = (
    loads_what_it_announces,
    counts_what_it_loads,
    names_what_it_loads,
    makes_float32_by_default,
    is_deterministic,
    keeps_its_splits_apart,
    knows_its_density,
)
