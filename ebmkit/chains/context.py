"""The context that the engine passes to an objective."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Generator, Tensor, nn

from ebmkit.chains.chain import Chain, run_chain
from ebmkit.contracts.kinds import Sampler
from ebmkit.contracts.modules.starts import Starts


class StepContext:
    """What an objective receives in addition to model and batch: its random generator, its auxiliary modules, the
    current step, the labels of the batch, and the chain runner. A new context is created for every step."""

    __slots__ = ("_in_chain", "_on_step", "chains", "extras", "labels", "rng", "step")

    def __init__(
        self,
        rng: Generator,
        extras: nn.Module | None,
        step: int,
        on_step: Callable[[], None] | None = None,
        labels: Tensor | None = None,
        in_chain: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self.rng = rng
        self.extras = extras
        #: The current step, counted from 1.
        self.step = step
        #: Integers `(B,)`, for objectives with `needs_labels`.
        self.labels = labels
        #: The chains of this step, which the engine checks and reports.
        self.chains: list[tuple[Sampler, Chain]] = []
        self._on_step = on_step
        #: Entered while chains run.
        self._in_chain = in_chain

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
        with self._in_chain():
            ended = run_chain(sampler, model, x, self.rng, traces=traced, on_step=self._on_step, starts=starts)
        self.chains.append((sampler, ended))
        if starts is not None:
            if ended.hidden is not None:
                starts.keep_hidden(ended.hidden)
            starts.keep(ended.x)
        if not joint:
            return ended.x
        if ended.hidden is None:
            raise TypeError(f"sampler '{sampler.component_name}' moves no hidden units of this model")
        return torch.cat([ended.x.flatten(1), ended.hidden], 1)
