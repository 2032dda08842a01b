"""What holds for every model that is conditioned on noise. Checked without torch."""

from __future__ import annotations

from ebmkit.kinds import Model, Schedule


def condition(model: Model, schedule: Schedule, classes: int | None = None) -> None:
    """Set on a model what follows from its schedule, and from whether it takes labels."""
    if schedule is None:  # it is wrong itself, and that was said
        return  # type: ignore[unreachable]
    object.__setattr__(model, "conditioning", schedule.conditioning)  # frozen: this is still its construction
    object.__setattr__(model, "labelled", classes is not None)
