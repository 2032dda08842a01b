"""The experiment around a component, for its `refusal`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ebmkit.contracts.kinds import Data, Event, Model, Objective, Sampler


@dataclass(frozen=True)
class Question:
    """The rest of the experiment, as known before anything is built.

    It is passed to every component of a spec, so that a component can refuse for its own reasons.
    """

    #: Shape of one state.
    event: Event
    model: Model
    data: Data | None = None
    objective: Objective | None = None
    #: The sampler that draws samples: that of the spec, or that of the objective.
    sampler: Sampler | None = None
    #: The number of long chains; None without `chains:`.
    chains: int | None = None
    #: The space in which the network works; `none` is that of the data.
    scale: str = "none"
    #: The number of samples that are drawn; None if it is not known.
    samples: int | None = None

    @property
    def train_points(self) -> int | None:
        """The number of training points, or None without data or if it is not known before they are loaded."""
        return self.data.point_count("train") if self.data else None

    @property
    def test_points(self) -> int | None:
        """The number of held-out points, or None without data or if it is not known before they are loaded."""
        return self.data.point_count("test") if self.data else None
