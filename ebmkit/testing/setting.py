"""A setting for testing modules without a run."""

from __future__ import annotations

from torch import Tensor, nn

from ebmkit.contracts.setting import Setting
from ebmkit.contracts.states import Event, Space
from ebmkit.testing.oracles import generator


def small_setting(
    model: nn.Module,
    event: Event = (2,),
    space: Space = "real",
    data: Tensor | None = None,
    labels: Tensor | None = None,
) -> Setting:
    """The argument of `prepare`, with a new generator."""
    return Setting(event, space, model, generator(0), data, labels)
