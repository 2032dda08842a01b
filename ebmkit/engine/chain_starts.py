"""The starting points of the chains that sample a run."""

from __future__ import annotations

import copy

import torch
from torch import Generator, Tensor

from ebmkit.engine.evaluated import Evaluated
from ebmkit.engine.telling.error_site import label_at
from ebmkit.errors.running import Diverged


class ChainStarts:
    """A copy of the starts at the spec's `init`, so that sampling does not change the run."""

    def __init__(self, evaluated: Evaluated) -> None:
        self.evaluated, self.parts, self.plan = evaluated, evaluated.parts, evaluated.plan
        #: The copy, which also knows the hidden units of the chains drawn last.
        self.source = copy.deepcopy(self.parts.starts.follow(self.parts.extras))
        #: The number of chains per block.
        self.rows = min(evaluated.rows, self.source.capacity or evaluated.rows)

    def draw(self, n: int, rng: Generator) -> Tensor:
        """`n` starts, at most `rows`."""
        return self.source.draw(self._like(n, rng), rng)

    def draw_finite(self, n: int, rng: Generator) -> Tensor:
        """`n` starts, at most `rows`. Raises `Diverged` if the energy is not finite at one of them."""
        x = self.draw(n, rng)
        outside = int((~self.evaluated.raw_energy(x).isfinite()).sum()) if self.evaluated.has_energy else 0
        if outside:
            raise Diverged(
                f"{label_at(self.plan, ('init',))}: {outside} of {n} chains start where the energy is not finite",
                self.plan.place(("init",)),
                help="choose an init that starts chains where the model has probability mass",
            )
        return x

    def _like(self, n: int, rng: Generator) -> Tensor:
        """Random training points: they give shape, device and dtype, and some starts use the points themselves."""
        train, device = self.parts.train, self.parts.device
        if train is None:
            return torch.zeros(n, *self.plan.event, device=device, dtype=self.parts.dtype)
        rows = torch.randint(len(train), (n,), generator=rng, device=device)
        return train.index_select(0, rows.to(train.device)).to(device)
