"""Watches over what a call must leave alone."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from ebmkit.testing.law import require


@contextmanager
def no_global_randomness(*, torch_too: bool = True) -> Iterator[None]:
    """The global generators of torch, Python and numpy stand afterwards where they stood before."""
    ours, python, numpy = torch.default_generator.get_state(), random.getstate(), _numpy_state()
    yield
    require(random.getstate() == python, "Python's global generator `random` moved")
    require(_numpy_state() == numpy, "numpy's global generator moved")
    if torch_too:
        require(torch.equal(torch.default_generator.get_state(), ours), "torch's global generator moved")


def _numpy_state() -> tuple[bytes, int]:
    _, keys, position, *_ = np.random.get_state(legacy=True)
    return np.asarray(keys).tobytes(), int(position)


@contextmanager
def unchanged(module: nn.Module, *, buffers: bool = True) -> Iterator[None]:
    """Parameters, buffers, gradients, `requires_grad` and modes are afterwards what they were before."""
    before = _state(module)
    yield
    after = _state(module)
    require(before.keys() == after.keys(), f"its entries changed: {sorted(before.keys() ^ after.keys())}")
    for name, (value, settings) in before.items():
        if not buffers and name.startswith("buffer"):
            continue
        require(after[name][1] == settings, f"{name} was {settings} and became {after[name][1]}")
        require(same_bits(after[name][0], value), f"{name} moved by {_distance(after[name][0], value):.3g}")


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
    """The numbers in some tensors are afterwards what they were before."""
    before = [tensor.detach().clone() for tensor in tensors]
    yield
    for tensor, value in zip(tensors, before, strict=True):
        require(same_bits(tensor, value), f"a tensor that was handed in moved by {_distance(tensor, value):.3g}")


def same_bits(a: Tensor | None, b: Tensor | None) -> bool:
    """Equal to the last bit, where two numbers that are not finite are equal too."""
    if a is None or b is None:
        return a is b
    return a.dtype == b.dtype and a.shape == b.shape and bool(torch.eq(a, b).logical_or(a.isnan() & b.isnan()).all())


def require_same_bits(a: Tensor, b: Tensor, what: str) -> None:
    """Raise with the largest difference."""
    require(same_bits(a, b), f"{what} differ by up to {_distance(a, b):.3g}")


def _distance(a: Tensor | None, b: Tensor | None) -> float:
    if a is None or b is None or a.shape != b.shape:
        return float("inf")
    return float((a.detach().double() - b.detach().double()).abs().max()) if a.numel() else 0.0
