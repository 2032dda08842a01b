"""Chains started at the patterns of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Le

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Init
from ebmkit.contracts.question import Question

if TYPE_CHECKING:
    from ebmkit.components.inits.nets.pattern_starts import PatternStarts

Share = Annotated[float, Ge(0), Le(1)]


@component("patterns")
class PatternStart(Init):
    """Corrupted patterns: every chain starts at a stored pattern, or at the observed image, with some units changed.

        x0 = a pattern of the model, of which a share `flip` of the units is flipped and a share `mask` is random

    Chains start at the patterns in turn. From masked patterns `icm` completes them. The model offers `patterns`: those
    that `hopfield` stores, or the image that `grid_mrf` restores.

    Parameters:
        flip: share of the units that start at their other value.
        mask: share of the units that start at a random value; no unit is both flipped and masked.

    Reference: Hopfield, "Neural networks and physical systems with emergent collective computational abilities", PNAS
    79, 1982.

    Example: init: {use: patterns, flip: 0.1}
    """

    flip: Share = 0.0
    mask: Share = 0.0

    def __post_init__(self) -> None:
        if self.flip + self.mask > 1:
            raise ValueError(f"'flip' and 'mask' are {self.flip + self.mask:g} of the units together, but at most all")

    def refusal(self, question: Question) -> str | None:
        if "patterns" in question.model.traits().offers:
            return None
        return f"needs 'patterns', but model '{question.model.component_name}' does not offer them"

    def build(self, event: Event) -> PatternStarts:
        from ebmkit.components.inits.nets.pattern_starts import PatternStarts

        return PatternStarts(event, self.flip, self.mask)
