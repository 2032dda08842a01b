"""Long chains from their first step to their last, with their draws in memory."""

from collections.abc import Callable

from torch import Generator, Tensor, nn

from ebmkit.chains.draws import Length, LongChains, Memory
from ebmkit.chains.energy import frozen
from ebmkit.contracts.draws import Draws
from ebmkit.contracts.kinds import Sampler


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
    """Run chains from `x`. `on_step` is called after every step; it may raise."""
    with frozen(module) as energy:
        length = Length(draws, thin, burn_in, warmup)
        return LongChains(sampler, energy, x, rng, length, Memory()).run(on_step)
