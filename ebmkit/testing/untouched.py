"""Checks that a call leaves its surroundings unchanged."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ebmkit.testing.law import require


@contextmanager
def no_global_randomness(*, torch_too: bool = True) -> Iterator[None]:
    """Check that the global generators of torch, Python and numpy are unchanged afterwards."""
    ours, python, numpy = torch.default_generator.get_state(), random.getstate(), _numpy_state()
    yield
    require(random.getstate() == python, "Python's global generator `random` was used")
    require(_numpy_state() == numpy, "numpy's global generator was used")
    if torch_too:
        require(torch.equal(torch.default_generator.get_state(), ours), "torch's global generator was used")


def _numpy_state() -> tuple[bytes, int]:
    _, keys, position, *_ = np.random.get_state(legacy=True)
    return np.asarray(keys).tobytes(), int(position)


@contextmanager
def same_settings() -> Iterator[None]:
    """Check that torch's settings for the whole process are as before afterwards, and restore them."""
    before = {name: read() for name, (read, _) in _SETTINGS.items()}
    try:
        yield
        for name, value in before.items():
            after = _SETTINGS[name][0]()
            require(after == value, f"it changed {name} of the process from {value} to {after}")
    finally:
        for name, (read, write) in _SETTINGS.items():
            if read() != before[name]:
                write(before[name])


#: How torch's settings are read and written.
_SETTINGS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "torch's default dtype": (torch.get_default_dtype, torch.set_default_dtype),
    "torch's number of threads": (torch.get_num_threads, torch.set_num_threads),
    "whether torch records gradients": (torch.is_grad_enabled, torch.set_grad_enabled),
}


@contextmanager
def unchanged(module: nn.Module, *, buffers: bool = True) -> Iterator[None]:
    """Check that parameters, buffers, gradients, `requires_grad` and modes are unchanged afterwards."""
    before = _state(module)
    yield
    after = _state(module)
    require(before.keys() == after.keys(), f"its entries changed: {sorted(before.keys() ^ after.keys())}")
    for name, (value, settings) in before.items():
        if not buffers and name.startswith("buffer"):
            continue
        require(after[name][1] == settings, f"{name} changed from {settings} to {after[name][1]}")
        require(same_bits(after[name][0], value), f"{name} changed by {_distance(after[name][0], value):.3g}")


def _state(module: nn.Module) -> dict[str, tuple[Tensor | None, str]]:
    state: dict[str, tuple[Tensor | None, str]] = {}
    for name, child in module.named_modules():
        state[f"mode of '{name}'"] = None, "training" if child.training else "eval"
    for name, parameter in module.named_parameters():
        state[f"parameter '{name}'"] = parameter.detach().clone(), f"requires_grad={parameter.requires_grad}"
        gradient = parameter.grad
        state[f"gradient of '{name}'"] = None if gradient is None else gradient.clone(), ""
    for name, buffer in module.named_buffers():
        state[f"buffer '{name}'"] = buffer.detach().clone(), ""
    return state


@contextmanager
def unmoved(*tensors: Tensor) -> Iterator[None]:
    """Check that the numbers in some tensors are unchanged afterwards."""
    before = [tensor.detach().clone() for tensor in tensors]
    yield
    for tensor, value in zip(tensors, before, strict=True):
        require(same_bits(tensor, value), f"a tensor that was passed changed by {_distance(tensor, value):.3g}")


def same_bits(a: Tensor | None, b: Tensor | None) -> bool:
    """Equal to the last bit, where two non-finite numbers are equal too."""
    if a is None or b is None:
        return a is b
    return a.dtype == b.dtype and a.shape == b.shape and bool(torch.eq(a, b).logical_or(a.isnan() & b.isnan()).all())


def require_same_bits(a: Tensor, b: Tensor, what: str) -> None:
    """Raise with the largest difference unless they are equal to the last bit."""
    require(same_bits(a, b), f"{what} differ by up to {_distance(a, b):.3g}")


def _distance(a: Tensor | None, b: Tensor | None) -> float:
    if a is None or b is None or a.shape != b.shape:
        return float("inf")
    return float((a.detach().double() - b.detach().double()).abs().max()) if a.numel() else 0.0
