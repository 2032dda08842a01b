"""Checks that data can be scaled as the spec says."""

from __future__ import annotations

from collections.abc import Iterator

from ebmkit.errors.base import EbmkitError
from ebmkit.errors.fit import SectionMissing, SpaceMismatch, Unsuitable
from ebmkit.language.check import Checked
from ebmkit.language.fit.places import Places, label_of
from ebmkit.language.scaling import in_own_units, with_scale


def scale_misfits(checked: Checked, here: Places) -> Iterator[EbmkitError]:
    """A scale that is written in the spec, and data that cannot be scaled by it."""
    written, spec = checked.spec.scale, with_scale(checked.spec)[0]
    if spec.scale == "none":
        return
    place = here("data") if written == "auto" else here("scale")
    if spec.data is None:
        yield SectionMissing(f"'scale: {written}' is fitted to data, but there is no 'data:'", place)
        return
    if spec.data.traits().space != "real":
        yield SpaceMismatch(
            f"'scale: {written}' is for real states, but {label_of(spec.data)} has {spec.data.traits().space} ones",
            place,
            other=here("data"),
            other_label=spec.data.traits().space,
        )
    for path in in_own_units(spec):
        yield Unsuitable(
            f"'scale: {written}' changes the units of states, but this has parameters in the units of the data",
            here(*path),
            other=place,
            other_label="set 'scale: none' to train in the units of the data",
        )
    if spec.data.traits().variation == "constant":
        yield Unsuitable(
            f"{label_of(spec.data)} has coordinates that are the same in every point, which have no scale",
            here("scale"),
            other=here("data"),
            other_label="not all coordinates vary",
            help="leave out 'scale'",
        )
    if spec.data.point_count("train") == 1:
        yield Unsuitable(
            f"{label_of(spec.data)} has a single training point, which has no spread to scale by",
            place,
            other=here("data"),
            other_label="one training point",
            help="use more points, or 'scale: none'",
        )
