"""All that a plugin author imports.

    from ebmkit.api import Bregman, component, torch

Nothing else in ebmkit is a promise: these names keep their meaning within one `API_VERSION`. `Conditional`,
`ConditionalDensity`, `Contest`, `Density`, `LiveModule`, `Starts` and `run_chain` import torch, so take them inside the
method that uses them.
"""

from typing import TYPE_CHECKING, Any

from annotated_types import Ge, Gt, Interval, Le, Len, Lt, MinLen

from ebmkit.contracts import kinds
from ebmkit.contracts.component import component, section
from ebmkit.contracts.context import Context
from ebmkit.contracts.kinds import *  # noqa: F403
from ebmkit.contracts.lazy import LazyModule, torch
from ebmkit.contracts.panel import Panel
from ebmkit.contracts.setting import Setting
from ebmkit.contracts.view import View
from ebmkit.errors.running import EnvironmentLacks
from ebmkit.registry.hookspecs import API_VERSION, hookimpl
from ebmkit.registry.offer import Offer

if TYPE_CHECKING:
    from ebmkit.chains.chain import run_chain
    from ebmkit.components.models.nets.conditional import Conditional
    from ebmkit.contracts.modules.conditional_density import ConditionalDensity
    from ebmkit.contracts.modules.contest import Contest
    from ebmkit.contracts.modules.density import Density
    from ebmkit.contracts.modules.live import LiveModule
    from ebmkit.contracts.modules.starts import Starts

__all__ = [
    "API_VERSION",
    "Conditional",
    "ConditionalDensity",
    "Contest",
    "Context",
    "Density",
    "EnvironmentLacks",
    "Ge",
    "Gt",
    "Interval",
    "LazyModule",
    "Le",
    "Len",
    "LiveModule",
    "Lt",
    "MinLen",
    "Offer",
    "Panel",
    "Setting",
    "Starts",
    "View",
    "component",
    "hookimpl",
    "run_chain",
    "section",
    "torch",
]

if not TYPE_CHECKING:  # type checkers take what the import with a star gives
    __all__ += kinds.__all__  # every kind, and the types that its methods are given and return

_WITH_TORCH = {
    "Conditional": "ebmkit.components.models.nets.conditional",
    "ConditionalDensity": "ebmkit.contracts.modules.conditional_density",
    "Contest": "ebmkit.contracts.modules.contest",
    "Density": "ebmkit.contracts.modules.density",
    "LiveModule": "ebmkit.contracts.modules.live",
    "Starts": "ebmkit.contracts.modules.starts",
    "run_chain": "ebmkit.chains.chain",
}


def __getattr__(name: str) -> Any:
    """The names that need torch, when they are first asked for."""
    if name not in _WITH_TORCH:
        raise AttributeError(f"module 'ebmkit.api' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_WITH_TORCH[name]), name)
