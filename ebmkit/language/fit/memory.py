"""Checks that what a spec keeps in memory fits into that of this machine, before anything is built."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from ebmkit.contracts.kinds import Event, Init, Model, Noise
from ebmkit.contracts.walk import walk
from ebmkit.errors.base import EbmkitError
from ebmkit.errors.fit import MemoryExceeded
from ebmkit.errors.source import Path
from ebmkit.language.fit.machine import may_have_gpu
from ebmkit.language.fit.places import Places, label_of
from ebmkit.language.sections import Spec
from ebmkit.language.stages import part_of
from ebmkit.storage.memory import total_memory

_BYTES = {"float32": 4, "float64": 8, "bfloat16": 2}


class Need(NamedTuple):
    """Something large: its size in bytes, its place, a sentence with a gap for the size, and what reduces it."""

    size: int
    path: Path
    sentence: str
    help: str

    def __str__(self) -> str:
        return self.sentence.format(f"about {_bytes(self.size)}")


def memory_misfits(spec: Spec, event: Event, here: Places) -> Iterator[EbmkitError]:
    """Everything that needs more memory than there is; or, if only the sum does, the largest part of it."""
    available = total_memory()
    if available is None:
        return
    needs = sorted(_needs(spec, event), key=lambda need: -need.size)
    alone = [need for need in needs if need.size > available]
    for need in alone:
        yield MemoryExceeded(f"{need}, but this machine has {_bytes(available)}", here(*need.path), help=need.help)
    whole = sum(need.size for need in needs)
    if not alone and whole > available:
        first, second = needs[:2]
        yield MemoryExceeded(
            f"{first}, and the whole spec about {_bytes(whole)}, but this machine has {_bytes(available)}",
            here(*first.path),
            other=here(*second.path),
            other_label=f"about {_bytes(second.size)}",
            help=first.help,
        )


def _needs(spec: Spec, event: Event) -> Iterator[Need]:
    """What is kept in memory at once. Points in files are left out: they may be read as they are used."""
    number, state = _BYTES[spec.dtype], prod(event)
    for path, component in walk(spec):
        if (isinstance(component, Model) and path == ("model",)) or isinstance(component, Noise):
            yield from _parameters(spec, component, event, path)
        elif isinstance(component, Init) and (chains := component.capacity()):
            what = f"{label_of(component)} holds {chains:,} states of shape {event}, which take {{}}"
            yield Need(chains * state * number, path, what, "use fewer states")
    yield from _noise(spec, event)
    if spec.chain_sampler and not spec.chains:  # those of long chains are on disk
        yield _samples(spec, event)
    if spec.data and not spec.data.files():
        points = sum(spec.data.point_count(split) or 0 for split in ("train", "test"))
        what = f"{label_of(spec.data)} makes {points:,} points of shape {event}, which take {{}}"
        yield Need(points * state * number, ("data",), what, "use fewer points")


def _noise(spec: Spec, event: Event) -> Iterator[Need]:
    """The noise that an objective draws for a batch, which has no more points than the data."""
    points, largest = spec.data.point_count("train") if spec.data else None, dict[Path, Need]()
    for index, stage in enumerate(spec.stages):
        objective, path = spec.objective_of(index), spec.objective_path(index)
        if not objective or not any(isinstance(part, Noise) for _, part in walk(objective)) or not _in_host(spec):
            continue
        part = part_of(spec, event, index)
        shape = part.event if part else event
        batch = min(stage.batch_size, points or stage.batch_size)
        rows = int(min(objective.traits().noise_ratio * batch, 2.0**63))  # the product may be infinite
        what = f"{label_of(objective)} draws {rows:,} noise samples of shape {shape} in each step, which take {{}}"
        need = Need(rows * prod(shape) * _BYTES[spec.dtype], path, what, "use fewer noise samples per point")
        largest[path] = max(largest.get(path, need), need, key=lambda each: each.size)
    yield from largest.values()


def _samples(spec: Spec, event: Event) -> Need:
    """Samples are drawn once, for the run and all its metrics: as many as the one that asks for most."""
    path: Path = ("samples",)
    most, what = spec.samples, f"{spec.samples:,} samples of shape {event} take {{}}"
    for position, metric in enumerate(spec.evaluate):
        if (asked := metric.traits().samples) > most:
            what = f"{label_of(metric)} draws {asked:,} samples of shape {event}, which take {{}}"
            most, path = asked, ("evaluate", position)
    return Need(most * prod(event) * _BYTES[spec.dtype], path, what, "use fewer samples")


def _parameters(spec: Spec, component: Model | Noise, event: Event, path: Path) -> Iterator[Need]:
    """Weights, and in training their gradients, the state of the optimizers and the running mean."""
    count, number = component.parameter_count(event) or 0, _BYTES[spec.dtype]
    if not (spec.stages and _in_host(spec)):  # networks are built on the host in any case
        yield Need(count * number, path, f"{label_of(component)} needs {{}} for its weights", "use a smaller network")
        return
    kept = sum(stage.optimizer.state_count() or 0 for stage in spec.stages)  # None: unknown, so not counted
    averaged = isinstance(component, Model) and any(stage.ema for stage in spec.stages)
    copies = 2 + kept + averaged
    parts = ["its weights", "gradients", *["optimizer state"] * bool(kept), *["running mean"] * averaged]
    what = f"{label_of(component)} needs {{}} for {', '.join(parts[:-1])} and {parts[-1]}"
    yield Need(copies * count * number, path, what, "use a smaller network")


def _in_host(spec: Spec) -> bool:
    """Whether everything is in the memory of this machine, and not in that of a GPU."""
    return spec.device == "cpu" or (spec.device == "auto" and not may_have_gpu())


def _bytes(size: int) -> str:
    """A size in words."""
    for unit, name in ((10**12, "TB"), (10**9, "GB")):
        if size >= unit:
            return f"{size / unit:,.0f} {name}" if size >= 10 * unit else f"{size / unit:.1f} {name}"
    return f"{size / 10**6:,.0f} MB"
