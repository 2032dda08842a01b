"""Chains started at given points."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated

from annotated_types import MinLen

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Init
from ebmkit.contracts.question import Question

if TYPE_CHECKING:
    from ebmkit.components.inits.nets.point_starts import PointStarts


@component("points")
class PointsStart(Init):
    """Chains from given points: chain i starts at point i, and at the first one again where there are more chains.

        x0 of chain i = at[i mod N]

    Points far from each other show whether chains forget where they started.

    Parameters:
        at: the points, each with one number per coordinate (an image row by row), or with one number for all of them.

    Reference: Gelman and Rubin, "Inference from iterative simulation using multiple sequences", Statistical Science 7,
    1992, on starting points that are more dispersed than the distribution.

    Example: init: {use: points, at: [[-3.0], [3.0]]}
    """

    at: Annotated[tuple[Annotated[tuple[float, ...], MinLen(1)], ...], MinLen(1)] = ((0.0,),)

    def __post_init__(self) -> None:
        if len({len(point) for point in self.at}) > 1:
            raise ValueError("the points of 'at' have different numbers of coordinates")

    def refusal(self, question: Question) -> str | None:
        given, wanted = len(self.at[0]), prod(question.event)
        return None if given in (1, wanted) else f"has points of {given} coordinates, but a state has {wanted}"

    def build(self, event: Event) -> PointStarts:
        from ebmkit.components.inits.nets.point_starts import PointStarts

        return PointStarts(event, self.at)
