"""Energies derived from another one: at a temperature of each chain, or of rescaled states."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from torch import Generator, Tensor, nn

from ebmkit.contracts.abilities import Scores
from ebmkit.contracts.ability import info_of
from ebmkit.contracts.energy import Energy

if TYPE_CHECKING:
    from ebmkit.contracts.kinds import Schedule

A = TypeVar("A")


class DerivedEnergy:
    """An energy computed from another one. What the module of the model can do is only reached through `ask`."""

    #: Number of calls that computed energies or gradients.
    evaluations = 0

    def __init__(self, original: Energy) -> None:
        self.original = original

    @property
    def module(self) -> nn.Module:
        """Not available: a module computes the original energy, and using it here would give that one."""
        raise TypeError(f"{type(self).__name__} has no module: use energy.ask(ability)")

    @abstractmethod
    def __call__(self, x: Tensor) -> Tensor:
        """Energies `(B,)`, without a graph."""

    @abstractmethod
    def value_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Energies `(B,)` and `dE/dx`, both detached."""

    @abstractmethod
    def ask(self, ability: Callable[..., A]) -> A:
        """An ability of the model as this energy changes it; TypeError if it is not defined."""

    def at(self, temperature: Tensor) -> Energy:
        """`E / T` with a temperature `(B,)` for each chain."""
        return HeatedEnergy(self, temperature)

    @property
    def unit_values(self) -> tuple[float, ...]:
        """Those of the original energy."""
        return self.original.unit_values

    @property
    def schedule(self) -> Schedule:
        """Of a conditioned network; TypeError, as scores are defined for the original energy only."""
        return self.ask(Scores).schedule

    def score(self, x: Tensor, level: Any) -> Tensor:
        """See `schedule`."""
        return self.ask(Scores).score(x, level)

    def noise(self, like: Tensor, rng: Generator) -> Tensor:
        """See `schedule`."""
        self.ask(Scores)
        return self.original.noise(like, rng)


class HeatedEnergy(DerivedEnergy):
    """An energy with a separate temperature for each chain."""

    def __init__(self, original: Energy, temperature: Tensor) -> None:
        super().__init__(original)
        self.temperature = temperature

    def __call__(self, x: Tensor) -> Tensor:
        self.evaluations += 1
        return self.original(x) / self.temperature

    def value_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.evaluations += 1
        energy, gradient = self.original.value_and_grad(x)
        return energy / self.temperature, gradient / self.temperature.view(-1, *[1] * (gradient.dim() - 1))

    def ask(self, ability: Callable[..., A]) -> A:
        """The ability at these temperatures, if it is defined for them."""
        info = info_of(ability)
        if info.by_energy:
            return cast("A", self)
        if info.heated is None:
            raise TypeError(f"the ability '{info.name}' is only defined at temperature 1")
        return cast("A", info.heated(self.original.ask(ability), self.temperature))
