"""Long chains that keep many states each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Generator, Tensor, nn

from ebmkit.chains.energy import frozen
from ebmkit.chains.warmup import warm_up
from ebmkit.contracts.draws import Draws
from ebmkit.contracts.kinds import Sampler, StepInfo


def run_chains(
    sampler: Sampler,
    module: nn.Module,
    x: Tensor,
    rng: Generator,
    *,
    draws: int,
    thin: int = 1,
    burn_in: int = 0,
    warmup: int = 0,
    on_step: Callable[[], None] | None = None,
) -> Draws:
    """Run chains from `x`: `warmup` steps that tune the sampler, `burn_in` steps, then keep every `thin`-th state.

    There is no host synchronisation. `on_step` is called after every step; it may raise to stop the chains.
    """
    tuning: dict[str, Tensor] = {}
    kept: list[Tensor] = []
    seen: dict[str, list[Tensor | None]] = {"energy": [], "acceptance": [], "divergence": []}
    with frozen(module) as energy:
        state = sampler.init(energy, x.detach(), rng)
        if warmup:
            state, tried = warm_up(sampler, energy, state, rng, warmup, on_step)
            tuning = _tuning(sampler, state, tried)
        for _ in range(burn_in):
            state, _ = sampler.step(energy, state, rng)
            if on_step:
                on_step()
        before = energy.evaluations
        for _ in range(draws):
            infos = []
            for _ in range(thin):
                state, info = sampler.step(energy, state, rng)
                infos.append(info)
                if on_step:
                    on_step()
            kept.append(state.x.detach())
            for name, value in _seen(infos).items():
                seen[name].append(value)
        evaluations = energy.evaluations - before
        if seen["energy"][0] is not None:  # each is that of the previous draw
            seen["energy"] = [*seen["energy"][1:], energy(state.x)]
    return Draws(torch.stack(kept, 1), _by_chain(seen), evaluations, tuning)


def _tuning(sampler: Sampler, state: Any, tried: Tensor) -> dict[str, Tensor]:
    """What the warm-up found, and the step sizes that it tried."""
    mass = {"inverse_mass": state.mass.inverse} if "mass" in sampler.tunes() else {}
    return {"step_size": state.step_size, "step_sizes": tried, **mass}


def _seen(infos: list[StepInfo]) -> dict[str, Tensor | None]:
    """The energy before the steps of one draw, and the means of acceptance and divergence over them."""
    return {
        "energy": infos[0].energy,
        "acceptance": _mean([info.acceptance for info in infos]),
        "divergence": _mean([info.divergence for info in infos]),
    }


def _by_chain(seen: dict[str, list[Tensor | None]]) -> dict[str, Tensor]:
    """`(chains, draws)` of everything that the sampler reports."""
    known = {name: [value for value in values if value is not None] for name, values in seen.items()}
    return {name: torch.stack(values, 1) for name, values in known.items() if values}


def _mean(values: list[Tensor | None]) -> Tensor | None:
    """The mean over steps, if steps report it."""
    known = [value for value in values if value is not None]
    return torch.stack(known).mean(0) if len(known) > 1 else known[0] if known else None
