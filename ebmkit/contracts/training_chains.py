"""Where an objective starts the chains of training."""

from __future__ import annotations

from ebmkit.contracts.kinds.init import Init
from ebmkit.contracts.kinds.objective import Objective
from ebmkit.contracts.walk import walk
from ebmkit.errors.source import Path


def training_init(objective: Objective | None, at: Path = ("objective",)) -> tuple[Path, Init] | None:
    """The init among the parameters of the objective `at` a path, and its path in the spec; None if there is none."""
    inside = walk(objective, at)
    return next(((path, component) for path, component in inside if isinstance(component, Init)), None)
