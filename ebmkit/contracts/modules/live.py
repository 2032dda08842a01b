"""Modules that learn what a run is about before it begins."""

from __future__ import annotations

from torch import nn

from ebmkit.contracts.setting import Setting


class LiveModule(nn.Module):
    """The base of modules that components build and that depend on the model, the data or the space of states."""

    def prepare(self, setting: Setting) -> None:
        """Called once, before training. A ValueError is shown at the line of the component that built the module."""


def prepare_modules(root: nn.Module, setting: Setting) -> None:
    """Prepare every live module in `root`."""
    for module in list(root.modules()):  # which may adopt others, a copy of the model for example
        if isinstance(module, LiveModule):
            module.prepare(setting)
