"""All that a plugin author imports.

    from ebmkit.api import Bregman, component, torch

Nothing else in ebmkit is a promise: these names keep their meaning within one `API_VERSION`.
"""

from annotated_types import Ge, Gt, Interval, Le, Len, Lt, MinLen

from ebmkit.component import component
from ebmkit.hookspecs import API_VERSION, hookimpl
from ebmkit.kinds import (
    Bregman,
    Data,
    Dataset,
    Event,
    Init,
    Loss,
    Metric,
    Model,
    Noise,
    Objective,
    Optimizer,
    Sampler,
    Schedule,
    Space,
    State,
    StepInfo,
    Tracker,
)
from ebmkit.lazy import LazyModule, torch

__all__ = [
    "API_VERSION",
    "Bregman",
    "Data",
    "Dataset",
    "Event",
    "Ge",
    "Gt",
    "Init",
    "Interval",
    "LazyModule",
    "Le",
    "Len",
    "Loss",
    "Lt",
    "Metric",
    "MinLen",
    "Model",
    "Noise",
    "Objective",
    "Optimizer",
    "Sampler",
    "Schedule",
    "Space",
    "State",
    "StepInfo",
    "Tracker",
    "component",
    "hookimpl",
    "torch",
]
