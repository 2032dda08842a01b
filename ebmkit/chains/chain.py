"""The chain runner that all samplers share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor, nn

from ebmkit.chains.compiled import BLOCK, NOISE, CompiledEnergy, Splits
from ebmkit.chains.energy import frozen
from ebmkit.chains.joint import ChainSpace
from ebmkit.chains.warmup import WarmUp
from ebmkit.contracts.built import WrongBuild
from ebmkit.contracts.energy import Energy
from ebmkit.contracts.kinds import Sampler, State, StepInfo
from ebmkit.contracts.modules.starts import Starts


class Chain(NamedTuple):
    """The final states of the chains, the information of the last step, and for each step its means over chains."""

    x: Tensor
    last: StepInfo
    traces: dict[str, Tensor]  # each (steps,), on the device
    #: Of every step whose information is available, if the sampler reports them: each (B,).
    energies: list[Tensor]
    divergences: list[Tensor]
    #: The sum over the initial states, which may be overwritten while the chains run.
    start: Tensor
    #: The final hidden units, if the chains moved them.
    hidden: Tensor | None = None


def run_chain(
    sampler: Sampler,
    module: nn.Module,
    x: Tensor,
    rng: Generator,
    *,
    traces: bool = False,
    on_step: Callable[[], None] | None = None,
    project: Callable[[Any, Generator], Any] | None = None,
    warmup: int = 0,
    starts: Starts | None = None,
) -> Chain:
    """Run `sampler.steps` steps from `x`, without host synchronisation and without gradients of parameters.

    `on_step` is called after every step; it may raise to stop the chain. `project` maps a state to one whose known
    parts are set; it is applied before the first step and after each step. The first `warmup` of the steps tune the
    sampler. `starts`, if `x` was drawn from some, have the hidden units of the chains that are continued.
    """
    seen: list[dict[str, Tensor]] = []
    energies: list[Tensor] = []
    divergences: list[Tensor] = []
    info, start = StepInfo(), x.detach().sum()
    with frozen(module) as of_module:
        space = ChainSpace(sampler, of_module, x.detach(), rng, starts)
        energy = space.energy
        state = sampler.init(energy, space.start, rng)
        if project:
            state = project(state, rng)
        tuning = WarmUp(sampler, state, warmup) if warmup else None
        for after, infos in iterate_chain(
            sampler, energy, state, rng, sampler.steps, traced=traces, on_step=on_step, project=project, tuning=tuning
        ):
            state, info = after, infos[-1]
            energies += [info.energy for info in infos if info.energy is not None]
            divergences += [info.divergence for info in infos if info.divergence is not None]
            if traces:
                seen.extend(map(means, infos))
    names = seen[0] if seen else {}
    found = {name: torch.stack([step[name] for step in seen]) for name in names}
    ends = state.x.detach()
    return Chain(space.visible(ends), info, found, energies, divergences, start, space.hidden(ends))


def iterate_chain(
    sampler: Sampler,
    energy: Energy,
    state: State,
    rng: Generator,
    steps: int,
    *,
    traced: bool = False,
    on_step: Callable[[], None] | None = None,
    project: Callable[[Any, Generator], Any] | None = None,
    tuning: WarmUp | None = None,
) -> Iterator[tuple[State, list[StepInfo]]]:
    """Run this many steps; yield the state after each of them and its information. The first ones may be a warm-up.

    On a compiled network, samplers that support it advance by blocks of steps, and unless `traced` only the information
    of the last step of a block is available. Results, up to rounding, and the use of `rng` are the same.
    """
    if isinstance(energy, CompiledEnergy) and isinstance(sampler, Splits) and not project:
        block = max(1, min(BLOCK, NOISE // state.x.numel()))
        for done in range(0, steps, block):
            length = min(block, steps - done)
            state, infos = energy.block(sampler, state, rng, length, traced)
            for _ in range(length):
                if on_step:
                    on_step()
            yield state, infos
        return
    start = state.x
    for number in range(1, steps + 1):
        state, info = sampler.step(energy, state, rng)
        _check_alike(state.x, start)
        if tuning and number <= tuning.steps:
            state = tuning.adapt(number, state, info)
        if project:
            state = project(state, rng)
        if on_step:
            on_step()
        yield state, [info]


def _check_alike(x: Tensor, start: Tensor) -> None:
    """A step that changes the number, shape or type of the states would otherwise go unnoticed. No host waits here."""
    if x.shape != start.shape or x.dtype != start.dtype or x.device != start.device:
        expected, found = (f"{tuple(states.shape)}, {states.dtype}, {states.device}" for states in (start, x))
        raise WrongBuild(f"'step' changed the shape or type of the states from {expected} to {found}")


def means(info: StepInfo) -> dict[str, Tensor]:
    """The information of a step, averaged over chains: energy, v (the gradient norm), acceptance, divergence."""
    found = {}
    if info.energy is not None:
        found["energy"] = info.energy.mean()
    if info.gradient is not None:
        found["gradient_norm"] = torch.linalg.vector_norm(info.gradient.flatten(1), dim=1).mean()
    if info.acceptance is not None:
        found["acceptance"] = info.acceptance.mean()
    if info.divergence is not None:
        found["divergence"] = info.divergence.mean()
    return found
