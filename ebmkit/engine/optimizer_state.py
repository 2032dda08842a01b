"""The state of an optimizer, to and from a checkpoint."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ebmkit.chains.private_torch import without_compiler


def state_of(optimizer: torch.optim.Optimizer) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The state as tensors and as numbers, each under `parameter.name`."""
    with without_compiler():
        moments = optimizer.state_dict()["state"]
    named = {f"{index}.{name}": value for index, entry in moments.items() for name, value in entry.items()}
    tensors = {name: value for name, value in named.items() if isinstance(value, Tensor)}
    return tensors, {name: value for name, value in named.items() if name not in tensors}


def restore_state(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:
    """Restore what `state_of` gave."""
    moments: dict[int, dict[str, Any]] = {}
    for key, value in {**tensors, **numbers}.items():
        index, _, name = key.partition(".")
        moments.setdefault(int(index), {})[name] = value
    # The groups come from the spec; only the learning rate changes in them, and every step sets it.
    with without_compiler():
        optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for number, entry in moments.items():
        parameter, loaded = parameters[number], optimizer.state[parameters[number]]
        for name, value in entry.items():
            if not isinstance(value, Tensor):
                continue
            # torch casts what it loads to the dtype of the parameter, which changes bits if the optimizer keeps
            # another one; and fused kernels require the same memory layout as the parameter's.
            place = loaded[name].device
            like = parameter if value.shape == parameter.shape else value
            loaded[name] = torch.empty_like(like, dtype=value.dtype, device=place).copy_(value)
