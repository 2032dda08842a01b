"""A number that a training step reports, and its place in the spec."""

from __future__ import annotations

from typing import NamedTuple

from ebmkit.errors.source import Path


class Statistic(NamedTuple):
    """Its name, the place in the spec to report if it is not finite, and whether it is recorded or only checked."""

    name: str
    path: Path
    recorded: bool = True

    @property
    def turn(self) -> int:
        """Its position in the order of a step: chains, statistics of the objective, loss, gradient, weights."""
        if self.path[-1] == "optimizer":
            return 4
        return 0 if self.path != ("objective",) else {"loss": 2, "gradient_norm": 3}.get(self.name, 1)
