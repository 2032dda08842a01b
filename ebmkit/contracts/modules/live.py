"""Modules that are prepared for a run before training."""

from __future__ import annotations

from torch import nn

from ebmkit.contracts.setting import Setting


class LiveModule(nn.Module):
    """Base class of modules that components build and that depend on the model, the data or the space of states."""

    def prepare(self, setting: Setting) -> None:
        """Called once, before training. A ValueError is reported at the line of the component that built the module."""


def prepare_modules(root: nn.Module, setting: Setting) -> None:
    """Prepare every live module in `root`."""
    for module in list(root.modules()):  # a copy: `prepare` may add modules, such as a copy of the model
        if isinstance(module, LiveModule):
            module.prepare(setting)
