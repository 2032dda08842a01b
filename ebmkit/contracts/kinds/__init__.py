"""The kinds of components: one contract per file, short enough to read before writing a component.

A new kind is a file here and a line below: commands, schema, checks and `ebmkit.api` derive their lists from it.
"""

import typing as _typing
from types import ModuleType as _ModuleType

from ebmkit.contracts.component import Component as _Component
from ebmkit.contracts.component import is_kind as _is_kind

# In the order of introduction in the documentation, which every list of kinds keeps; `as` marks what is exported.
# isort: off
from ebmkit.contracts.kinds.data import Data as Data, Dataset as Dataset, Split as Split
from ebmkit.contracts.states import Event as Event, Space as Space
from ebmkit.contracts.kinds.model import Model as Model
from ebmkit.contracts.kinds.objective import Loss as Loss, Objective as Objective
from ebmkit.contracts.kinds.sampler import Sampler as Sampler, State as State, StepInfo as StepInfo
from ebmkit.contracts.kinds.init import Init as Init
from ebmkit.contracts.kinds.noise import Noise as Noise
from ebmkit.contracts.kinds.schedule import Schedule as Schedule
from ebmkit.contracts.kinds.bregman import Bregman as Bregman
from ebmkit.contracts.kinds.metric import Metric as Metric
from ebmkit.contracts.kinds.optimizer import Optimizer as Optimizer
from ebmkit.contracts.kinds.tracker import Log as Log, TrackedRun as TrackedRun, Tracker as Tracker
# isort: on

_HERE = {name: value for name, value in globals().items() if not name.startswith("_")}

#: The name of a kind, as in `ebmkit list KIND` -> its contract.
KINDS: dict[str, type[_Component]] = {
    value.component_kind: value
    for value in _HERE.values()
    if isinstance(value, type) and issubclass(value, _Component) and _is_kind(value)
}

#: Kinds whose name in a spec is not what one component is called in a sentence.
NOUNS = {
    "data": "data set",
    "noise": "noise distribution",
    "schedule": "noise schedule",
    "bregman": "Bregman generator",
}


def noun(kind: str) -> str:
    """What one component of a kind is called in messages."""
    return NOUNS.get(kind, kind)


if not _typing.TYPE_CHECKING:  # type checkers read the lines above
    __all__ = [name for name, value in _HERE.items() if not isinstance(value, _ModuleType)]
