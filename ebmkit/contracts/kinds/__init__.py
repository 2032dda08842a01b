"""The eleven kinds: one contract a file, each short enough to read before writing a component."""

from ebmkit.contracts.kinds.bregman import Bregman
from ebmkit.contracts.kinds.data import Data, Dataset
from ebmkit.contracts.kinds.init import Init
from ebmkit.contracts.kinds.metric import Metric
from ebmkit.contracts.kinds.model import Event, Model, Space
from ebmkit.contracts.kinds.noise import Noise
from ebmkit.contracts.kinds.objective import Loss, Objective
from ebmkit.contracts.kinds.optimizer import Optimizer
from ebmkit.contracts.kinds.sampler import Sampler, State, StepInfo
from ebmkit.contracts.kinds.schedule import Schedule
from ebmkit.contracts.kinds.tracker import Tracker

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
