"""One number that is not finite, put into what a method of ebmkit returns, at one call of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from typing import Any, NamedTuple
from unittest import mock

import torch

from ebmkit.engine.stage import Stage


class Plant(NamedTuple):
    """Where the number is planted: `method` is `module:Class.method` or `module:function`, below `ebmkit`."""

    method: str
    #: The training step; 0 stands for everything outside of training steps.
    step: int = 0
    value: float = torch.nan
    #: The call of the method in this step, or outside of training steps.
    call: int = 1
    #: One row of the result and one number in it; None for the whole result, which is then a scalar or one row.
    row: int | None = 1
    #: If the method returns several things: the way to one of them, as `0.x`.
    part: str = ""
    #: Plant it into the gradient that flows back through the result, and leave the result as it is.
    backward: bool = False


class Clock:
    """The training step that is being taken; 0 between steps, before the first, and after the last."""

    def __init__(self) -> None:
        self.step = 0
        self.calls = 0
        self.fired = False


@contextmanager
def planted(plant: Plant) -> Iterator[Clock]:
    """Carry out one plant while runs are made."""
    clock, (owner, name) = Clock(), _found(plant.method)
    original: Callable[..., Any] = getattr(owner, name)
    take_step = Stage.take_step

    def timed(stage: Stage, step: int, **options: Any) -> int:
        clock.step, clock.calls = step, 0
        try:
            return take_step(stage, step, **options)
        finally:
            clock.step, clock.calls = 0, clock.calls if plant.step == 0 else 0

    @wraps(original)
    def wrong(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if clock.step != plant.step:
            return result
        clock.calls += 1
        if clock.calls != plant.call:
            return result
        clock.fired = True
        return _changed(result, plant.part, plant)

    kept = staticmethod(wrong) if isinstance(vars(owner).get(name), staticmethod) else wrong
    with mock.patch.object(Stage, "take_step", timed), mock.patch.object(owner, name, kept):
        yield clock


def _found(method: str) -> tuple[Any, str]:
    module, _, names = method.partition(":")
    *owners, name = names.split(".")
    owner: Any = import_module(f"ebmkit.{module}")
    for each in owners:
        owner = getattr(owner, each)
    return owner, name


def _changed(result: Any, part: str, plant: Plant) -> Any:
    """The result with one number replaced, `part` being the way to it."""
    key, _, rest = part.partition(".")
    if not key:
        return _spoilt(result, plant)
    if key.isdigit():
        items = [_changed(item, rest, plant) if i == int(key) else item for i, item in enumerate(result)]
        return type(result)(*items) if hasattr(result, "_fields") else tuple(items)
    if isinstance(result, torch.nn.Module):
        with torch.no_grad():
            result.get_parameter(part).view(-1)[0] = plant.value
        return result
    if isinstance(result, dict):
        return {**result, key: _changed(result[key], rest, plant)}
    return result._replace(**{key: _changed(getattr(result, key), rest, plant)})


def _spoilt(number: Any, plant: Plant) -> Any:
    if not isinstance(number, torch.Tensor):
        return plant.value
    off = torch.zeros(number.shape, dtype=number.dtype)
    flat = off.view(-1) if plant.row is None else off[plant.row].view(-1)
    flat[0] = plant.value
    if plant.backward:
        number.register_hook(lambda gradient: gradient + off)
        return number
    return number + off
