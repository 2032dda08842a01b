"""Side parts of an objective are told what they will work with."""

from __future__ import annotations

from torch import nn

from ebmkit.components.models.nets.exponential_family import ClosedForm
from ebmkit.contracts.kinds.model import Space
from ebmkit.contracts.modules.density import Density
from ebmkit.contracts.modules.starts import Starts


def introduce(extras: nn.Module, model: nn.Module, space: Space) -> None:
    """Chain starts learn where states live; noise that follows the model, and a fit of it, learn which one it is."""
    for part in list(extras.modules()):
        if isinstance(part, (Density, ClosedForm)):
            part.meet(model)
    for part in extras.modules():
        if isinstance(part, Starts):
            part.live_in(space)
