"""The energy as seen by a sampler."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.contracts.kinds import Schedule

A = TypeVar("A")


class Energy(Protocol):
    """The energy of a frozen model. No result carries a graph."""

    #: Number of evaluations of energies, gradients or scores.
    evaluations: int

    def __call__(self, x: Tensor) -> Tensor:
        """Energies `(B,)` of states `(B, *event)`."""

    def value_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Energies `(B,)` and `dE/dx` at the cost of one forward and one backward pass.

        For categorical states the gradient `(B, *event, K)` is that in their one-hot vectors.
        """

    def ask(self, ability: Callable[..., A]) -> A:
        """An ability of the model, `energy.ask(Conditionals)`, at the temperature of this energy.

        Raises a TypeError if the model lacks it, or if it is not defined at this temperature.
        """

    def at(self, temperature: Tensor) -> Energy:
        """`E / T` with a temperature `(B,)` for each chain."""

    @property
    def unit_values(self) -> tuple[float, ...]:
        """All values of a unit of discrete states, the lowest first."""

    @property
    def schedule(self) -> Schedule:
        """The noise schedule of a conditioned network, fitted to the data."""

    def score(self, x: Tensor, level: Any) -> Tensor:
        """The score of a conditioned network at a noise level or a time."""

    def noise(self, like: Tensor, rng: Generator) -> Tensor:
        """Starting points of chains that run from noise to data, in the shape of `like`."""
