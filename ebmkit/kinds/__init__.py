"""The eleven kinds: one contract a file, each short enough to read before writing a component."""

from ebmkit.kinds.bregman import Bregman
from ebmkit.kinds.data import Data, Dataset
from ebmkit.kinds.init import Init
from ebmkit.kinds.metric import Metric
from ebmkit.kinds.model import Event, Model, Space
from ebmkit.kinds.noise import Noise
from ebmkit.kinds.objective import Loss, Objective
from ebmkit.kinds.optimizer import Optimizer
from ebmkit.kinds.sampler import Sampler, State, StepInfo
from ebmkit.kinds.schedule import Schedule
from ebmkit.kinds.tracker import Tracker

#: In the order in which people meet them.
KINDS = {
    kind.component_kind: kind
    for kind in (Data, Model, Objective, Sampler, Init, Noise, Schedule, Bregman, Metric, Optimizer, Tracker)
}

__all__ = [
    "KINDS",
    "Bregman",
    "Data",
    "Dataset",
    "Event",
    "Init",
    "Loss",
    "Metric",
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
]
