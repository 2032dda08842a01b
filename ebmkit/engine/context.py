"""What the engine hands to an objective."""

from __future__ import annotations

from collections.abc import Callable

from torch import Generator, Tensor, nn

from ebmkit.engine.chain import Chain, run_chain
from ebmkit.kinds import Sampler


class Context:
    """Beside model and batch: the objective's own generator, its live side parts, how far training is, and the chain
    runner. One is made for every step."""

    __slots__ = ("_on_step", "chains", "extras", "rng", "step")

    def __init__(
        self, rng: Generator, extras: nn.Module | None, step: int, on_step: Callable[[], None] | None = None
    ) -> None:
        self.rng = rng
        self.extras = extras
        self.step = step
        #: The chains of this step, which the engine checks and reports on.
        self.chains: list[tuple[Sampler, Chain]] = []
        self._on_step = on_step

    def chain(self, sampler: Sampler, model: nn.Module, x: Tensor) -> Tensor:
        """Where chains end that begin at `x`. No gradient flows through them."""
        ended = run_chain(sampler, model, x, self.rng, on_step=self._on_step)
        self.chains.append((sampler, ended))
        return ended.x
