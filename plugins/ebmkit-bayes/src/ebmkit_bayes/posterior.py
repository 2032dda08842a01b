"""What the models of this package have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from ebmkit.api import Event, Model, ability

if TYPE_CHECKING:
    from torch import Tensor


class Moments(NamedTuple):
    """Means and standard deviations of all quantities, each `(Q,)` in float64."""

    mean: Tensor
    std: Tensor


@ability("quantities")
class Quantities(Protocol):
    """The quantities of interest as functions of the unconstrained coordinates that samplers move."""

    def quantities(self, x: Tensor) -> Tensor:
        """`(B, d) -> (B, Q)`, in the order of `Posterior.quantity_names`."""


@ability("reference")
class Reference(Protocol):
    """Moments of the quantities that are exact to at least six digits."""

    def reference(self) -> Moments:
        """By a closed form or by quadrature, never by sampling."""


class Posterior(Model, ABC):
    """A posterior distribution. Its energy is `-log p(data, x)` with all constants, so that log Z is the log evidence.

    States are unconstrained: the energy contains the Jacobian of the map to parameters such as a standard deviation.
    """

    offers: ClassVar[frozenset[str]] = frozenset({"energy", "gradient", "log_z", "quantities", "reference"})

    @abstractmethod
    def coordinate_names(self) -> tuple[str, ...]:
        """The names of the unconstrained coordinates."""

    @abstractmethod
    def quantity_names(self) -> tuple[str, ...]:
        """The names of the quantities of interest."""

    def event(self) -> Event:
        return (len(self.coordinate_names()),)

    def parameter_count(self, event: Event) -> int:
        return 0
