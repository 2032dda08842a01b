"""Starts of new chains inside an init that keeps chains."""

from __future__ import annotations

from ebmkit.components.inits.training import TrainingStart
from ebmkit.contracts.kinds import Init


def check_fresh(name: str, init: Init) -> None:
    """Raise a ValueError if this parameter of an init continues chains, as the init itself does."""
    if init.capacity() is not None or isinstance(init, TrainingStart):
        raise ValueError(f"'{name}' itself keeps chains: give an init that does not, such as 'noise' or 'data'")
