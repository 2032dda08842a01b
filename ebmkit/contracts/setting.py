"""The setting of a run, which components and live modules receive once, before training."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Generator, Tensor, nn

    from ebmkit.contracts.states import Event, Space


class Setting(NamedTuple):
    """Passed to every `prepare`. The model is on the device of the run; the data are read-only and may be elsewhere."""

    #: The shape of one state, and the space of states.
    event: Event
    space: Space
    model: nn.Module
    #: For random draws during preparation, on the CPU.
    rng: Generator
    #: The training points `(N, *event)`, their labels `(N,)`, and the labels of held-out points, if available.
    data: Tensor | None = None
    labels: Tensor | None = None
    test_labels: Tensor | None = None
