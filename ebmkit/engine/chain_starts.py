"""Where the chains that sample a run begin."""

from __future__ import annotations

import copy

import torch
from torch import Generator, Tensor

from ebmkit.contracts.modules.starts import Starts
from ebmkit.engine.evaluated import Evaluated
from ebmkit.engine.telling.error_site import label_at
from ebmkit.errors.running import Diverged


class ChainStarts:
    """A copy of the starts of a run, so that looking at the run does not change it.

    A sampler of the spec's own begins where `init` says. An objective's sampler is tuned to go on from where its chains
    are, in a replay buffer perhaps.
    """

    def __init__(self, evaluated: Evaluated) -> None:
        self.evaluated, self.parts, self.plan = evaluated, evaluated.parts, evaluated.plan
        self._starts = copy.deepcopy(self._found())
        #: Chains at a time.
        self.rows = min(evaluated.rows, self._starts.capacity or evaluated.rows)

    def draw(self, n: int, rng: Generator) -> Tensor:
        """`n` starts, at most `rows`."""
        return self._starts.draw(self._like(n, rng), rng)

    def draw_finite(self, n: int, rng: Generator) -> Tensor:
        """Starts that the model gives a finite energy, or an error."""
        x = self.draw(n, rng)
        outside = int((~self.evaluated.energy(x).isfinite()).sum()) if self.evaluated.has_energy else 0
        if outside:
            raise Diverged(
                f"{label_at(self.plan, ('init',))}: {outside} of {n} chains begin where the energy is not finite",
                self.plan.place(("init",)),
                help="no chain finds its way from there; begin it where the model has mass",
            )
        return x

    def _found(self) -> Starts:
        if self.plan.spec.sampler is None and self.parts.extras is not None:
            for module in self.parts.extras.modules():
                if isinstance(module, Starts):
                    return module
        return self.parts.starts

    def _like(self, n: int, rng: Generator) -> Tensor:
        """The shape that starts imitate: random training points, which some of them use as they are."""
        train, device = self.parts.train, self.parts.device
        if train is None:
            return torch.zeros(n, *self.plan.event, device=device, dtype=self.parts.dtype)
        rows = torch.randint(len(train), (n,), generator=rng, device=device)
        return train.index_select(0, rows.to(train.device)).to(device)
