"""Checks that data, model and sections fit together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ebmkit.contracts.kinds import Data
from ebmkit.errors.base import EbmkitError
from ebmkit.errors.describe import text_of
from ebmkit.errors.fit import DataUnreadable, SectionMissing, ShapeMismatch, SpaceMismatch
from ebmkit.errors.running import ComponentFailed
from ebmkit.language.check import Checked
from ebmkit.language.fit.places import Places, label_of


def data_misfits(checked: Checked, here: Places) -> Iterator[EbmkitError]:
    """Checks that the shape of a state is known: files of data can be read, and shapes are shapes."""
    spec = checked.spec
    if spec.data:
        try:
            if not _is_shape(spec.data.event()):
                yield ComponentFailed(f"{here.label(spec.data)}: {_NO_SHAPE}", here("data"))
            else:
                yield from _empty_splits(spec.data, here)
        except ValueError as error:
            yield DataUnreadable(f"{label_of(spec.data)}: {text_of(error)}", here("data"))
    fixed = spec.model.event()
    if fixed is not None and not _is_shape(fixed):
        yield ComponentFailed(f"{here.label(spec.model)}: {_NO_SHAPE}", here("model"))


def _empty_splits(data: Data, here: Places) -> Iterator[EbmkitError]:
    """Checks what data announce about themselves, and that both splits have points."""
    train, test, classes = data.point_count("train"), data.point_count("test"), data.class_count()
    if not all(count is None or type(count) is int for count in (train, test, classes)):
        said = "'point_count' and 'class_count' must return a whole number or None"
        yield ComponentFailed(f"{here.label(data)}: {said}", here("data"))
    for noun, count in (("training", train), ("held-out", test)):
        if count == 0:
            help = "use more points, or change what is held out"
            yield DataUnreadable(f"{label_of(data)} has no {noun} points", here("data"), help=help)


def _is_shape(event: Any) -> bool:
    return type(event) is tuple and all(type(size) is int and size > 0 for size in event)


_NO_SHAPE = "'event' must return a tuple of positive integers"


def shape_misfits(checked: Checked, here: Places) -> Iterator[EbmkitError]:
    data, model = checked.spec.data, checked.spec.model
    fixed = model.event()
    if data and fixed is not None and data.event() != fixed:
        yield ShapeMismatch(
            f"{label_of(data)} has states of shape {data.event()}, but {label_of(model)} has shape {fixed}",
            here("model"),
            label=f"shape {fixed}",
            other=here("data"),
            other_label=f"shape {data.event()}",
        )
    if data and data.traits().space != model.traits().space:
        yield SpaceMismatch(
            f"{label_of(data)} has {data.traits().space} states, but {label_of(model)} has "
            f"{model.traits().space} states",
            here("model"),
            label=model.traits().space,
            other=here("data"),
            other_label=data.traits().space,
        )
    yield from _category_misfits(checked, here)
    if not data and fixed is None:
        own = "." in here.registry.name_of(type(model))  # its author may have forgotten something
        yield SectionMissing(
            f"{label_of(model)} takes its shape from data, but there is no 'data:'",
            here("model"),
            help="a model with a fixed shape returns it from event()" if own else "",
        )


def _category_misfits(checked: Checked, here: Places) -> Iterator[EbmkitError]:
    """Checks that data and model have the same number of categories."""
    data, model = checked.spec.data, checked.spec.model
    if data is None or {data.traits().space, model.traits().space} != {"categorical"}:
        return
    found, known = data.category_count(), model.traits().categories
    if type(found) is not int:
        said = "'category_count' must return the number of categories, because its states are categorical"
        yield ComponentFailed(f"{here.label(data)}: {said}", here("data"))
    elif found != known:
        yield SpaceMismatch(
            f"{label_of(data)} has {found} categories, but {label_of(model)} has {known}",
            here("model"),
            label=f"{known} categories",
            other=here("data"),
            other_label=f"{found} categories",
            help=f"set 'categories: {found}' of the model",
        )


def section_misfits(checked: Checked, here: Places) -> Iterator[EbmkitError]:
    spec = checked.spec
    if spec.train:
        if spec.data is None:
            yield SectionMissing("training needs 'data:'", here("train"))
        if not all(map(spec.objective_of, range(len(spec.stages)))):
            yield SectionMissing("training needs 'objective:'", here("train"))
    elif spec.objective:
        yield SectionMissing(
            f"{label_of(spec.objective)} is for training, but there is no 'train:'",
            here("objective"),
            help="train: {steps: 1000}",
        )


def idle_misfits(checked: Checked, here: Places) -> Iterator[EbmkitError]:
    if not (checked.spec.train or checked.spec.objective or checked.spec.sampler):
        yield SectionMissing(
            "there is nothing to do: no 'train:' and no 'sampler:'",
            here("model"),
            help="add 'sampler:' for a sampling experiment",
        )
