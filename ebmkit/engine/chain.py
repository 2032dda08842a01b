"""The chain runner that all samplers share."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Generator, Tensor, nn

from ebmkit.engine.energy import frozen
from ebmkit.kinds import Sampler, StepInfo


class Chain(NamedTuple):
    """Where the chains ended, what their last step saw and, per step, the means over chains of what all steps saw."""

    x: Tensor
    last: StepInfo
    traces: dict[str, Tensor]  # each (steps,), on the device


def run_chain(
    sampler: Sampler,
    module: nn.Module,
    x: Tensor,
    rng: Generator,
    *,
    traces: bool = False,
    on_step: Callable[[], None] | None = None,
) -> Chain:
    """Run `sampler.steps` steps from `x`. Nothing is brought to the host and no parameter gets a gradient.

    `on_step` is called behind every step: it counts, or raises to break the chain off.
    """
    seen: list[dict[str, Tensor]] = []
    info = StepInfo()
    with frozen(module) as energy:
        state = sampler.init(energy, x.detach(), rng)
        for _ in range(sampler.steps):
            state, info = sampler.step(energy, state, rng)
            if traces:
                seen.append(means(info))
            if on_step:
                on_step()
    names = seen[0] if seen else {}
    return Chain(state.x.detach(), info, {name: torch.stack([step[name] for step in seen]) for name in names})


def means(info: StepInfo) -> dict[str, Tensor]:
    """What a step saw, averaged over the chains: energy, v (the norm of the gradient) and acceptance."""
    found = {}
    if info.energy is not None:
        found["energy"] = info.energy.mean()
    if info.gradient is not None:
        found["gradient_norm"] = torch.linalg.vector_norm(info.gradient.flatten(1), dim=1).mean()
    if info.accepted is not None:
        found["acceptance"] = info.accepted.mean()
    return found
