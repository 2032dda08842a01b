"""What a run is about, as components and live modules learn it once, before training."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Generator, Tensor, nn

    from ebmkit.contracts.states import Event, Space


class Setting(NamedTuple):
    """Given to every `prepare`. The model is on the device of the run; the data may be elsewhere, and are only read."""

    #: The shape of one state, and where states live.
    event: Event
    space: Space
    model: nn.Module
    #: For what is drawn while preparing, on the CPU.
    rng: Generator
    #: The training points `(N, *event)`, their labels `(N,)`, and those of the held-out points, where there are any.
    data: Tensor | None = None
    labels: Tensor | None = None
    test_labels: Tensor | None = None
