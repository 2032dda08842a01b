"""Checking an energy that was written for this occasion, before chains run on it."""

from __future__ import annotations

from typing import Any, NoReturn

import torch
from torch import Tensor, nn

from ebmkit.engine.model_check import DTYPE_HELP, mixes_dtypes, states_words, wrong_shape
from ebmkit.errors.describe import describe_error
from ebmkit.errors.running import ComponentFailed, Diverged


def check_energy(module: nn.Module, x: Tensor, sampler: str, *, gradient: bool) -> None:
    """Evaluate the energy once at the starts of chains, and its gradient if the sampler needs it.

    Raises `ComponentFailed` or `Diverged` with one sentence that says what is wrong and what to do.
    """
    module.eval()
    states = states_words(x)
    point = x.detach().clone().requires_grad_(gradient)
    with torch.set_grad_enabled(gradient):
        try:
            energy: Any = module(point)
        except Exception as error:
            _refuse(f"raised {describe_error(error)} for {states}", DTYPE_HELP if mixes_dtypes(error) else "")
    _check_result(energy, x, states)
    if gradient:
        _check_gradient(energy, point, sampler)


def _check_result(energy: Any, x: Tensor, states: str) -> None:
    if wrong := wrong_shape(energy, (len(x),), "one energy for each state", states):
        _refuse(wrong)
    if energy.dtype != x.dtype:
        _refuse(f"returned {_name(energy.dtype)} for {states}", DTYPE_HELP)
    if energy.device != x.device:
        _refuse(f"returned a tensor on {energy.device} for states on {x.device}", "make its constants on x.device")
    if count := int((~energy.isfinite()).sum()):
        raise Diverged(
            f"the energy is {_first_odd(energy)} at {count} of {len(x)} starting points; pass init=, states at which "
            "it is finite: an array (chains, *event), or one state for all chains"
        )


def _check_gradient(energy: Tensor, point: Tensor, sampler: str) -> None:
    help = "compute it from x by operations of torch, without numpy, .item() or .detach(), or use sampler='metropolis'"
    found: Tensor | None = None
    if energy.requires_grad:
        (found,) = torch.autograd.grad(energy.sum(), point, allow_unused=True)
    if found is None:
        _refuse(f"has no gradient, which sampler '{sampler}' needs: its result does not depend on x for torch", help)
    if wrong := int((~found.flatten(1).isfinite().all(1)).sum()):
        raise Diverged(
            f"the gradient of the energy is {_first_odd(found)} at {wrong} of {len(point)} starting points, where the "
            "energy itself is finite; a square root or a logarithm at zero does this: add a small constant inside, or "
            "pass another init="
        )


def _first_odd(values: Tensor) -> str:
    odd = values[~values.isfinite()].flatten()[0].item()
    return {"nan": "NaN", "inf": "infinite"}.get(str(abs(odd)), str(odd))


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _refuse(what: str, help: str = "") -> NoReturn:
    raise ComponentFailed(f"the energy {what}" + (f"; {help}" if help else ""))
