"""Conditions on samples, a label or known coordinates, and the files with known or noisy states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Generator, Tensor

from ebmkit.components.data.arrays import read_npz
from ebmkit.components.data.headers import npz_header
from ebmkit.contracts.kinds import Event, Schedule
from ebmkit.language.labels import label_refusal
from ebmkit.language.plan import Plan
from ebmkit.maths.process import signal_and_noise
from ebmkit.maths.units import Units


@dataclass(frozen=True)
class Condition:
    """A label for all samples, or states `(N, *event)` with a mask that is true where they are known, or both.

    Known states may have a label each instead.
    """

    label: int | None = None
    known: Tensor | None = None
    mask: Tensor | None = None
    labels: Tensor | None = None

    def within(self, units: Units, dtype: torch.dtype) -> Condition:
        """The same condition on states in the space of `scale`."""
        if self.known is None or units.are_those_of_the_data:
            return self
        if not units.by_column:
            raise ValueError(
                "known coordinates stay known only if every column is scaled by itself, but the run has "
                "'scale: whiten': train it with 'scale: standardize'"
            )
        return replace(self, known=units.into(self.known.to(units.shift), dtype))

    def labels_of(self, first: int, n: int) -> Tensor | None:
        """The labels of `n` chains from `first` on, `(n,)`; None if the condition has none."""
        if self.label is not None:
            return torch.full((n,), self.label)
        return None if self.labels is None else self.labels[torch.arange(first, first + n) % len(self.labels)]

    def projection(self, first: int, like: Tensor, schedule: Schedule | None) -> Callable[[Any, Generator], Any] | None:
        """A function that resets the known part of a block of chains after each step; None if nothing is known.

        The block has as many chains as `like` and begins with chain `first`. If there are fewer known states than
        chains, they are used cyclically. The known part is noised to the current level of the chain; at a clean end
        it is exactly what was given.
        """
        if schedule is None or (part := self._part(first, like)) is None:
            return None
        known, mask = part

        def project(state: Any, rng: Generator) -> Any:
            if state.level is None:
                return state._replace(x=torch.where(mask, known, state.x))
            signal, noise = signal_and_noise(schedule, state.level)
            noised = torch.empty_like(known).normal_(0, noise, generator=rng).add_(known, alpha=signal)
            return state._replace(x=torch.where(mask, noised, state.x))

        return project

    def with_known(self, x: Tensor, first: int = 0) -> Tensor:
        """Ends of the chains from `first` on, with the known part as given: a chain that does not end with a
        denoising step leaves it noised."""
        part = self._part(first, x)
        return x if part is None else torch.where(part[1], part[0], x)

    def _part(self, first: int, like: Tensor) -> tuple[Tensor, Tensor] | None:
        """Known states for the chains from `first` on, as many as `like` has, and their mask."""
        if self.known is None or self.mask is None:
            return None
        rows = torch.arange(first, first + len(like), device=self.known.device) % len(self.known)
        known, mask = self.known[rows].to(like), self.mask.to(like.device)
        return known, mask if mask.dim() < like.dim() else mask[rows.to(mask.device)]


def read_condition(path: Path, plan: Plan, label: int | None = None) -> Condition:
    """Read a .npz file with states `x` and a `mask` that is true, or not zero, where they are known, and their labels
    (see `read_labels`).

    Where the mask is false, `x` may hold anything, NaN included. Errors in the file raise ValueError.
    """
    event = plan.event
    x, shape = _states(path, event), npz_header(str(path), "mask").shape
    if shape not in (event, tuple(x.shape)):
        raise ValueError(f"'{path}' has a 'mask' of shape {shape}; expected {event} or {tuple(x.shape)}")
    found = _floats(read_npz(str(path), "mask"))
    if not bool(found.isfinite().all()):
        raise ValueError(f"'{path}' has values in 'mask' that are not finite")
    mask = found != 0
    if not bool(mask.any()):
        raise ValueError(f"'{path}' has a 'mask' that is true nowhere, so nothing is known")
    _check_finite(path, x.masked_fill(~mask, 0))
    return Condition(None, x.masked_fill(~mask, 0), mask, read_labels(path, plan, len(x), label))


def read_labels(path: Path, plan: Plan, n: int, label: int | None) -> Tensor | None:
    """Labels of the `n` states in a .npz file: `label`, or the integers `y` in the file if the model takes labels."""
    if label is not None:
        return torch.full((n,), label)
    if not plan.spec.model.traits().labelled:
        return None
    try:
        header = npz_header(str(path), "y")
    except ValueError as error:
        name = plan.spec.model.component_name
        raise ValueError(f"model '{name}' takes labels, but {error}; add them, or give one with --condition") from error
    if header.shape != (n,) or "float" in header.dtype:
        raise ValueError(f"'{path}' has 'y' of shape {header.shape} and type {header.dtype}; expected {n} integers")
    labels = read_npz(str(path), "y").long()
    for extreme in labels.aminmax():
        if why := label_refusal(plan, int(extreme)):
            raise ValueError(f"'{path}': {why}")
    return labels


def read_states(path: Path, event: Event) -> Tensor:
    """The states `x` of a .npz file, all finite."""
    x = _states(path, event)
    _check_finite(path, x)
    return x


def _states(path: Path, event: Event) -> Tensor:
    """States `(N, *event)`; the file may hold a single state, and points on a line as a flat array."""
    shape = npz_header(str(path), "x").shape
    whole = shape[1:] == event or shape == event or (event == (1,) and len(shape) == 1)
    if not whole or 0 in shape:
        raise ValueError(f"'{path}' has 'x' of shape {shape}; expected (N, {', '.join(map(str, event))})")
    return _floats(read_npz(str(path), "x").reshape(-1, *event))


def _floats(x: Tensor) -> Tensor:
    return x if x.is_floating_point() else x.double()


def _check_finite(path: Path, x: Tensor) -> None:
    wrong = ~x.flatten(1).isfinite().all(1)
    if bool(wrong.any()):
        raise ValueError(f"'{path}': state {int(wrong.nonzero()[0])} of 'x' (counted from 0) is not finite")
