"""Private functions of torch. Each saves time, and each has a public fallback with bitwise equal results, for versions
of torch that lack it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from inspect import unwrap
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812, the usual name
from torch.optim import Optimizer

#: The attribute in which torch keeps the variant of a function that is excluded from compilation.
_EXCLUDED = "__dynamo_disable"


def gradient_in(point: Tensor, energy: Tensor, weights: Tensor) -> Tensor:
    """The gradient of `sum(weights * energy)` with respect to `point`: `torch.autograd.grad` without its checks, which
    take a fifth of the time of a small network."""
    run_backward = _run_backward()
    gradient: Tensor
    if run_backward is None:
        (gradient,) = torch.autograd.grad(energy, point, weights)
    else:
        (gradient,) = run_backward(
            (energy,), (weights,), False, False, (point,), allow_unreachable=False, accumulate_grad=False
        )
    return gradient


def is_transformed(tensor: Tensor) -> bool:
    """Whether a tensor belongs to a transformation of `torch.func`, such as vmap, and is invalid outside of it. False
    for versions of torch that do not have them."""
    found = _is_wrapped()
    return found is not None and found(tensor)


@cache
def _is_wrapped() -> Callable[[Tensor], bool] | None:
    return getattr(getattr(torch._C, "_functorch", None), "is_functorch_wrapped_tensor", None)


@cache
def _run_backward() -> Callable[..., tuple[Tensor, ...]] | None:
    """The function that `torch.autograd.grad` calls after its checks, if it exists and accepts these arguments."""
    try:
        found: Callable[..., tuple[Tensor, ...]] = torch.autograd.Variable._execution_engine.run_backward
        with torch.enable_grad():
            point = torch.ones(1, device="cpu", requires_grad=True)
            (slope,) = found(
                (2 * point,), (point.detach(),), False, False, (point,), allow_unreachable=False, accumulate_grad=False
            )
    except (AttributeError, TypeError):
        return None
    return found if slope is not None and slope.item() == 2 else None


def joined(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors as one vector, in one call instead of one per tensor."""
    flatten = getattr(getattr(torch, "_utils", None), "_flatten_dense_tensors", None)
    vector: Tensor = flatten(tensors) if flatten else torch.cat([tensor.reshape(-1) for tensor in tensors])
    return vector


def multiply_all(tensors: Sequence[Tensor], factor: Tensor) -> None:
    """`tensor *= factor` for each tensor; on a GPU in one kernel, like the next three functions."""
    if at_once := getattr(torch, "_foreach_mul_", None):
        at_once(tensors, factor)
        return
    for tensor in tensors:
        tensor.mul_(factor)


def lerp_all(tensors: Sequence[Tensor], ends: Sequence[Tensor], weight: float) -> None:
    """`tensor += weight * (end - tensor)` for each pair."""
    if at_once := getattr(torch, "_foreach_lerp_", None):
        at_once(tensors, ends, weight)
        return
    for tensor, end in zip(tensors, ends, strict=True):
        tensor.lerp_(end, weight)


def copy_all(tensors: Sequence[Tensor], sources: Sequence[Tensor]) -> None:
    """`tensor[:] = source` for each pair."""
    if at_once := getattr(torch, "_foreach_copy_", None):
        at_once(tensors, sources)
        return
    for tensor, source in zip(tensors, sources, strict=True):
        tensor.copy_(source)


def norms(tensors: Sequence[Tensor]) -> Tensor:
    """The Euclidean norm of each, as a vector."""
    at_once = getattr(torch, "_foreach_norm", None)
    return torch.stack(at_once(tensors) if at_once else [torch.linalg.vector_norm(tensor) for tensor in tensors])


def step_of(optimizer: Optimizer) -> Callable[[], Any]:
    """`optimizer.step` without torch's wrapper for hooks and the profiler, which takes half as long as a step of a
    small network. Call it under `no_grad`, which the wrapper would otherwise set."""
    if not type(optimizer).__module__.startswith("torch.optim.") or "step" in vars(optimizer):
        return optimizer.step
    base = sys.modules[Optimizer.__module__]
    hooks = [
        getattr(owner, name, None)
        for owner, name in (
            (optimizer, "_optimizer_step_pre_hooks"),
            (optimizer, "_optimizer_step_post_hooks"),
            (base, "_global_optimizer_pre_hooks"),
            (base, "_global_optimizer_post_hooks"),
        )
    ]
    if any(hook is None or len(hook) for hook in hooks):  # there are hooks, or torch stores them elsewhere
        return optimizer.step
    return partial(unwrap(type(optimizer).step), optimizer)


@contextmanager
def without_compiler() -> Iterator[None]:
    """Build, save and restore optimizers of torch without importing its compiler, which takes as long as importing
    torch: these methods import it only to exclude themselves from compilation."""
    functions = [unwrap(getattr(Optimizer, name)) for name in ("add_param_group", "state_dict", "load_state_dict")]
    excluded = [function for function in functions if not hasattr(function, _EXCLUDED)]
    for function in excluded:
        setattr(function, _EXCLUDED, function)
    try:
        yield
    finally:
        for function in excluded:
            delattr(function, _EXCLUDED)


def compiler_is_imported() -> bool:
    """Whether torch's compiler is in use, and so has settings to restore."""
    return "torch._inductor.config" in sys.modules


def allow_recompilations(count: int) -> None:
    """Let torch compile this many versions of one function, if the option exists; the default is 8."""
    config = getattr(getattr(torch, "_dynamo", None), "config", None)
    for name in ("recompile_limit", "cache_size_limit"):  # the second is its name before torch 2.6
        if hasattr(config, name):
            setattr(config, name, max(count, getattr(config, name)))
            return


def pullback(
    function: Callable[[Tensor], Tensor], kernel: str, call: Callable[[Any, Tensor, Tensor, Tensor], Tensor]
) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """The vector-Jacobian product `(gradient, input, output)` of an activation: `call` on torch's backward kernel,
    which needs no graph and may write into the output."""
    packet = getattr(torch.ops.aten, kernel, None)
    found = getattr(packet, "grad_input", None)
    return partial(call, found) if found is not None else partial(_by_autograd, function)


def _by_autograd(function: Callable[[Tensor], Tensor], gradient: Tensor, z: Tensor, output: Tensor) -> Tensor:
    with torch.enable_grad():
        point = z.detach().requires_grad_()
        (pulled,) = torch.autograd.grad(function(point), point, gradient)
    return pulled


def convolution_pullback() -> Callable[[Tensor, Tensor, Tensor, Any], Tensor]:
    """The vector-Jacobian product `(gradient, input, weight, layer)` of `conv2d` for its input, without a graph."""
    return _convolved_back if hasattr(torch.ops.aten, "convolution_backward") else _convolved_back_by_autograd


def _convolved_back(gradient: Tensor, x: Tensor, weight: Tensor, layer: Any) -> Tensor:
    place = (layer.stride, layer.padding, layer.dilation, False, (0, 0), layer.groups)
    found = torch.ops.aten.convolution_backward(gradient, x, weight, None, *place, (True, False, False))
    pulled: Tensor = found[0]
    return pulled


def _convolved_back_by_autograd(gradient: Tensor, x: Tensor, weight: Tensor, layer: Any) -> Tensor:
    def convolved(point: Tensor) -> Tensor:
        return F.conv2d(point, weight, None, layer.stride, layer.padding, layer.dilation, layer.groups)

    return _by_autograd(convolved, gradient, x, gradient)
