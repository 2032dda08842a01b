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
    """States `(N, *event)` and optional labels `(N,)`, both read-only: `x` may be a memory-mapped file."""

    x: Tensor
    y: Tensor | None = None


class Data(Component, ABC):
    """A source of training and held-out points."""

    component_kind: ClassVar[str] = "data"
    space: ClassVar[Space] = "real"
    #: Whether `load` also returns labels.
    labelled: ClassVar[bool] = False
    #: Whether `log_prob` gives the exact density of the points.
    known: ClassVar[bool] = False
    #: Whether the points are near unit scale by construction, so that `scale: auto` leaves them in their units.
    unit_scale: ClassVar[bool] = False

    def traits(self) -> DataTraits:
        """Properties of these data. Override it if parameters decide."""
        return DataTraits(self.space, self.labelled, self.known, unit_scale=self.unit_scale)

    @abstractmethod
    def event(self) -> Event:
        """The shape of one point, without loading anything. A ValueError is reported at the line of the spec."""

    def point_count(self, split: Split) -> int | None:
        """The number of points of a split, without loading them, or None if it is not known.

        A spec that needs more points is then refused before anything is built.
        """
        return None

    def class_count(self) -> int | None:
        """One more than the largest label, or None without labels or if it is not known before they are loaded."""
        return None

    def category_count(self) -> int | None:
        """The number of categories of a unit of categorical states, which must be that of the model; None for other
        states."""
        return None

    def category_names(self) -> tuple[tuple[str, ...], ...] | None:
        """The names of the categories 0, 1, ... for every coordinate of flattened states; None if they have none."""
        return None

    def coordinate_names(self) -> tuple[str, ...] | None:
        """The names of the coordinates of a vector, such as the columns of a table; None if they have none."""
        return None

    def class_names(self) -> tuple[str, ...] | None:
        """The names of the labels 0, 1, ...; None if they have none."""
        return None

    def label_name(self) -> str | None:
        """What the labels are called, such as the name of their column; None if it has no name."""
        return None

    @abstractmethod
    def load(self, split: Split, rng: Generator) -> Dataset:
        """The points of a split, on the CPU. Each split has its own `rng`."""

    def log_prob(self, x: Tensor) -> Tensor:
        """The exact log density `(B,)` at points `(B, *event)` in float64, for data with `known`."""
        raise NotImplementedError(f"the density of '{self.component_name}' is not known")

    def files(self) -> tuple[Path, ...]:
        """The files that are read, so that a run detects changes in them."""
        return ()

    def missing(self) -> tuple[Path, ...]:
        """Those of the files that are missing. Data with a known shape can then be used in a dry run only."""
        return tuple(path for path in self.files() if not path.exists())

    def origin(self) -> str:
        """Where to obtain the files and where to put them, shown if one is missing."""
        return ""
