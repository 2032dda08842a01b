"""What an objective receives in every training step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ebmkit.contracts.kinds.sampler import Sampler

if TYPE_CHECKING:
    from torch import Generator, Tensor, nn


class Context(Protocol):
    """Beyond model and batch: randomness, side parts, position, labels, and the chain runner."""

    @property
    def rng(self) -> Generator: ...  # the objective's own
    @property
    def extras(self) -> nn.Module | None: ...  # what `Objective.extras` built
    @property
    def step(self) -> int: ...  # the step under way, counted from 1
    @property
    def labels(self) -> Tensor | None: ...  # whole numbers `(B,)`, for objectives that say `needs_labels`

    def chain(self, sampler: Sampler, model: nn.Module, x: Tensor, *, traced: bool = False) -> Tensor:
        """The ends of chains that begin at `x`. No gradient flows through them.

        What is logged of them, v for example, is that of their last step, or if `traced` the mean along their path.
        """
