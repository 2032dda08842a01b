"""The contract of a data set."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, TypeAlias

from ebmkit.contracts.component import Component
from ebmkit.contracts.states import Event, Space
from ebmkit.contracts.traits import DataTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor

Split: TypeAlias = Literal["train", "test"]


class Dataset(NamedTuple):
    """States `(N, *event)` and, where there are any, labels `(N,)`. Only read them: `x` may be a file."""

    x: Tensor
    y: Tensor | None = None


class Data(Component, ABC):
    """Where training and held-out points come from."""

    component_kind: ClassVar[str] = "data"
    space: ClassVar[Space] = "real"
    #: Whether `load` gives labels too.
    labelled: ClassVar[bool] = False
    #: Whether `log_prob` knows the density that points are drawn from.
    known: ClassVar[bool] = False

    def traits(self) -> DataTraits:
        """What these data are. Override it where parameters decide."""
        return DataTraits(self.space, self.labelled, self.known)

    @abstractmethod
    def event(self) -> Event:
        """The shape of one point, known without loading anything. A ValueError is shown at the spec's line."""

    @abstractmethod
    def load(self, split: Split, rng: Generator) -> Dataset:
        """The points of a split, on the CPU. Each split has its own `rng`."""

    def log_prob(self, x: Tensor) -> Tensor:
        """The exact log density `(B,)` at points `(B, *event)` in float64, for data that say they are `known`."""
        raise NotImplementedError(f"the density of '{self.component_name}' is not known")

    def files(self) -> tuple[Path, ...]:
        """The files that are read, so that a run notices when one of them has changed."""
        return ()

    def missing(self) -> tuple[Path, ...]:
        """Those of them that are not here. Data that know their shape without them can be rehearsed, and not run."""
        return tuple(path for path in self.files() if not path.exists())

    def origin(self) -> str:
        """Where the files come from and where they belong, told to whoever lacks one."""
        return ""
