"""The context that an objective receives in every training step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ebmkit.contracts.kinds.sampler import Sampler

if TYPE_CHECKING:
    from torch import Generator, Tensor, nn

    from ebmkit.contracts.modules.starts import Starts


class Context(Protocol):
    """What an objective receives in addition to model and batch: generator, extras, step, labels, and chain runner."""

    @property
    def rng(self) -> Generator: ...  # used by the objective only
    @property
    def extras(self) -> nn.Module | None: ...  # what `Objective.extras` built
    @property
    def step(self) -> int: ...  # the current step, counted from 1
    @property
    def labels(self) -> Tensor | None: ...  # integers `(B,)`, for objectives with `needs_labels`

    def chain(
        self,
        sampler: Sampler,
        model: nn.Module,
        x: Tensor,
        *,
        starts: Starts | None = None,
        traced: bool = False,
        joint: bool = False,
    ) -> Tensor:
        """The final states of chains started at `x`. No gradient flows through them.

        If `x` was drawn from `starts`, these keep the final states, and the hidden units of a model that has some.
        Logged values such as v are those of the last step, or the mean over all steps if `traced`. With `joint` the
        states are those of visible and hidden units, `(B, U)`, which a sampler with this trait has moved.
        """
