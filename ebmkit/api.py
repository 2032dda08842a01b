"""Everything that a plugin author imports.

    from ebmkit.api import Bregman, component, torch

Only these names are stable: they keep their meaning within one `API_VERSION`. `Conditional`,
`ConditionalDensity`, `Contest`, `Density`, `LiveModule`, `Starts` and `run_chain` import torch, so import them inside
the method that uses them.
"""

import typing as _typing
from types import ModuleType as _ModuleType

# `as` marks exported names for type checkers.
# isort: off
from annotated_types import Ge as Ge, Gt as Gt, Interval as Interval, Le as Le, Len as Len, Lt as Lt, MinLen as MinLen

from ebmkit.contracts.abilities import (
    Blocks as Blocks,
    Conditionals as Conditionals,
    Hidden as Hidden,
    JointConditionals as JointConditionals,
    Logits as Logits,
    LogZ as LogZ,
    Modes as Modes,
    Noised as Noised,
    Posterior as Posterior,
    SampleExact as SampleExact,
    Scores as Scores,
    Statistics as Statistics,
)
from ebmkit.contracts.ability import ability as ability
from ebmkit.contracts.component import component as component, section as section
from ebmkit.contracts.context import Context as Context
from ebmkit.contracts.files import FilePath as FilePath, located as located
from ebmkit.contracts.kinds import *  # noqa: F403  # every kind, and the types of its methods' arguments and results
from ebmkit.contracts.lazy import LazyModule as LazyModule, torch as torch
from ebmkit.contracts.energy import Energy as Energy
from ebmkit.contracts.panel import Panel as Panel
from ebmkit.contracts.question import Question as Question
from ebmkit.contracts.setting import Setting as Setting
from ebmkit.contracts.traits import (
    DataTraits as DataTraits,
    MetricTraits as MetricTraits,
    ModelTraits as ModelTraits,
    NoiseTraits as NoiseTraits,
    ObjectiveTraits as ObjectiveTraits,
    SamplerTraits as SamplerTraits,
)
from ebmkit.contracts.unmeasurable import Unmeasurable as Unmeasurable
from ebmkit.contracts.view import View as View
from ebmkit.errors.running import EnvironmentLacks as EnvironmentLacks
from ebmkit.registry.hookspecs import API_VERSION as API_VERSION, hookimpl as hookimpl
from ebmkit.registry.offer import Offer as Offer

if _typing.TYPE_CHECKING:
    from ebmkit.chains.chain import run_chain as run_chain
    from ebmkit.components.models.nets.conditional import Conditional as Conditional
    from ebmkit.contracts.modules.conditional_density import ConditionalDensity as ConditionalDensity
    from ebmkit.contracts.modules.contest import Contest as Contest
    from ebmkit.contracts.modules.density import Density as Density
    from ebmkit.contracts.modules.live import LiveModule as LiveModule
    from ebmkit.contracts.modules.starts import Starts as Starts
# isort: on

_WITH_TORCH = {
    "Conditional": "ebmkit.components.models.nets.conditional",
    "ConditionalDensity": "ebmkit.contracts.modules.conditional_density",
    "Contest": "ebmkit.contracts.modules.contest",
    "Density": "ebmkit.contracts.modules.density",
    "LiveModule": "ebmkit.contracts.modules.live",
    "Starts": "ebmkit.contracts.modules.starts",
    "run_chain": "ebmkit.chains.chain",
}

if not _typing.TYPE_CHECKING:  # with these a type checker would accept any name, or lose those of the kinds
    _HERE = [name for name, value in globals().items() if name[0] != "_" and type(value) is not _ModuleType]
    __all__ = sorted([*_HERE, *_WITH_TORCH])

    def __getattr__(name: str) -> object:
        """Load the names that need torch when they are first used."""
        if name not in _WITH_TORCH:
            raise AttributeError(f"module 'ebmkit.api' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_WITH_TORCH[name]), name)
