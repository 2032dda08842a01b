"""The scale of the space in which networks, noise and chains work: what `scale: auto` means for a spec."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from math import prod
from typing import Any

from ebmkit.contracts.kinds import Model, Noise
from ebmkit.contracts.walk import walk
from ebmkit.errors.source import Path
from ebmkit.language.sections import Spec

#: The most coordinates of states that are whitened by default: the cost of the map grows with their square.
WIDEST = 512

#: The most bytes of training data that are scaled by default: scaled points are in memory, others may stay in a file.
LARGEST = 2 << 30


def with_scale(spec: Spec) -> tuple[Spec, dict[Path, str]]:
    """The spec with `auto` replaced, and the reason of the choice by its path; unchanged with any other scale."""
    if spec.scale != "auto":
        return spec, {}
    scale, reason = _chosen(spec)
    return dataclasses.replace(spec, scale=scale), {("scale",): f"auto: {reason}"}


def _chosen(spec: Spec) -> tuple[Any, str]:
    data = spec.data
    if data is None or not spec.stages:
        return "none", "nothing is trained on data"
    if data.traits().space != "real":
        return "none", f"states are {data.traits().space}"
    if data.traits().unit_scale or data.traits().known:
        return "none", f"data '{data.component_name}' have unit scale"
    event = data.event()
    if len(event) != 1:
        return "none", "images keep their range"
    if path := next(in_own_units(spec), None):
        return "none", f"{'.'.join(map(str, path))} has parameters in the units of the data"
    if prod(event) * 4 * (data.point_count("train") or 0) > LARGEST:
        return "none", "the data are too large to be scaled in memory"
    if spec.model.traits().conditioning is not None:
        return "standardize", "a noise level is a fraction of the standard deviation of each column"
    if event[0] > WIDEST:
        return "standardize", f"more than {WIDEST} columns"
    return "whiten", "columns with mean 0, standard deviation 1 and without correlation"


def in_own_units(spec: Spec) -> Iterator[Path]:
    """The paths of what is used in training and has parameters in the units of states."""
    for path, component in walk(spec):
        trained = path[0] in ("model", "objective")
        if trained and isinstance(component, Model | Noise) and component.traits().own_units:
            yield path
