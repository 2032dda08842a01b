"""What the engine hands to an objective."""

from __future__ import annotations

from collections.abc import Callable

from torch import Generator, Tensor, nn

from ebmkit.chains.chain import Chain, run_chain
from ebmkit.contracts.kinds import Sampler


class StepContext:
    """Beside model and batch: the objective's own generator, its live side parts, how far training is, labels of the
    batch, and the chain runner. One is made for every step."""

    __slots__ = ("_on_step", "chains", "extras", "labels", "rng", "step")

    def __init__(
        self,
        rng: Generator,
        extras: nn.Module | None,
        step: int,
        on_step: Callable[[], None] | None = None,
        labels: Tensor | None = None,
    ) -> None:
        self.rng = rng
        self.extras = extras
        #: The step that is under way, counted from 1.
        self.step = step
        #: Whole numbers `(B,)`, for objectives that say `needs_labels`.
        self.labels = labels
        #: The chains of this step, which the engine checks and reports on.
        self.chains: list[tuple[Sampler, Chain]] = []
        self._on_step = on_step

    def chain(self, sampler: Sampler, model: nn.Module, x: Tensor, *, traced: bool = False) -> Tensor:
        """Where chains end that begin at `x`. No gradient flows through them.

        What is logged of them, v for example, is that of their last step, or if `traced` the mean along their path.
        """
        ended = run_chain(sampler, model, x, self.rng, traces=traced, on_step=self._on_step)
        self.chains.append((sampler, ended))
        return ended.x
