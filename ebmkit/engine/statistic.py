"""A number that a training step gives, and who answers for it."""

from __future__ import annotations

from typing import NamedTuple

from ebmkit.errors.source import Path


class Statistic(NamedTuple):
    """Its name, the place in the spec that is blamed when it is not finite, and whether it is recorded or only
    checked."""

    name: str
    path: Path
    recorded: bool = True

    @property
    def turn(self) -> int:
        """When a step computes it: first chains, then what the objective reports, the loss, its gradient, weights."""
        if self.path[-1] == "optimizer":
            return 4
        return 0 if self.path != ("objective",) else {"loss": 2, "gradient_norm": 3}.get(self.name, 1)
