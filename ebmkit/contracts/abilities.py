"""Abilities: what the module of a model can do in addition to its forward pass. One protocol each.

A model announces the names of its abilities in `offers`; samplers, objectives and metrics list those that they require
in `needs`. A sampler accesses one by `energy.ask(Conditionals)`. An ability that is defined for `exp(-E/T)` has a class
that binds the temperature, so that samplers that use it also run inside `parallel_tempering`; any other ability is
refused there. A plugin adds an ability with the same decorator (docs/plugins.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from torch import Generator, Tensor, nn

    from ebmkit.contracts.kinds import Schedule

#: `heated(cold, temperature)`: the same ability of `exp(-E/T)`, with a temperature `(B,)` for each chain.
Heated = Callable[[Any, Any], Any]

P = TypeVar("P", bound=type[Any])


class AbilityInfo(NamedTuple):
    """The declaration of an ability."""

    name: str
    #: Attributes that the module must have.
    members: tuple[str, ...]
    heated: Heated | None
    #: Whether the energy itself provides it, at any temperature.
    by_energy: bool


def ability(name: str, *, heated: Heated | None = None, by_energy: bool = False) -> Callable[[P], P]:
    """Declare a protocol as the ability `name`. Without `heated` it is not defined at temperatures other than 1."""

    def declare(protocol: P) -> P:
        if not getattr(protocol, "_is_protocol", False):
            raise TypeError(f"{protocol.__qualname__}: an ability must be a typing.Protocol")
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            raise TypeError(f"ability name {name!r}: use lower-case letters, digits and underscores")
        if name in globals().get("ABILITIES", {}):
            raise TypeError(f"{protocol.__qualname__}: ebmkit has an ability '{name}' already; choose another name")
        members = tuple(dict.fromkeys(member for base in reversed(protocol.__mro__) for member in _members(base)))
        protocol.ability_info = AbilityInfo(name, members, heated, by_energy)
        return protocol

    return declare


def _members(base: type) -> list[str]:
    """What a protocol requires by itself, without what it inherits."""
    if base in (object, Protocol, Generic):
        return []
    declared = {**vars(base).get("__annotations__", {}), **vars(base)}
    return [member for member in declared if not member.startswith("_") and member != "ability_info"]


def info_of(protocol: Any) -> AbilityInfo:
    """The declaration made by `@ability`. Raises a TypeError if there is none."""
    found = vars(protocol).get("ability_info") if isinstance(protocol, type) else None
    if not isinstance(found, AbilityInfo):
        raise TypeError(f"{protocol!r} is not an ability: declare it with @ability(...)")
    return found


def is_ability(value: Any) -> bool:
    """Whether a class is declared by `@ability`."""
    return isinstance(value, type) and isinstance(vars(value).get("ability_info"), AbilityInfo)


def missing_members(module: Any, protocol: Any) -> list[str]:
    """The attributes of an ability that a module lacks."""
    return [member for member in info_of(protocol).members if not hasattr(module, member)]


@ability("energy", by_energy=True)
class Energies(Protocol):
    """The forward pass returns energies `(B,)`."""


@ability("gradient", by_energy=True)
class Gradients(Protocol):
    """The energy is differentiable in x."""


@ability("score")
class Scores(Protocol):
    """The network takes a noise level or a time in addition to x (a module based on `Conditional`)."""

    schedule: Schedule

    def score(self, x: Tensor, level: Any, labels: Tensor | None = None) -> Tensor:
        """`d log p_level(x) / dx`, of the shape of x."""

    def prior_mean(self) -> Tensor | float:
        """Mean of the distribution from which sampling starts."""


@ability("sample_exact")
class SampleExact(Protocol):
    """Independent draws."""

    def sample_exact(self, n: int, rng: Generator) -> Tensor:
        """`(n, *event)`."""


@ability("log_z")
class LogZ(Protocol):
    """The exact log normaliser."""

    def log_z(self) -> Tensor:
        """A scalar, differentiable in the parameters."""


@ability("noised")
class Noised(Protocol):
    """The same model convolved with Gaussian noise."""

    def noised(self, sigma: float) -> nn.Module:
        """The module of `p * N(0, sigma^2 I)`."""


@ability("modes")
class Modes(Protocol):
    """The modes of the model and their weights."""

    def modes(self) -> tuple[Tensor, Tensor]:
        """Positions `(K, d)` and their shares of the mass `(K,)`."""


@ability("logits")
class Logits(Protocol):
    """A classifier: the softmax of the logits is p(y | x)."""

    def logits(self, x: Tensor) -> Tensor:
        """`(B, K)`."""


class HeatedConditionals:
    """Conditionals of `exp(-E/T)`: log odds are energy differences, so they are divided by T."""

    def __init__(self, cold: Conditionals, temperature: Tensor) -> None:
        self.cold = cold
        self.temperature = temperature

    def log_odds(self, x: Tensor, sites: Tensor) -> Tensor:
        """`(B, K)`."""
        return self.cold.log_odds(x, sites) / self.temperature.unsqueeze(1)

    def blocks(self) -> list[Tensor]:
        """As at T = 1, since independence does not depend on the temperature."""
        return self.cold.blocks()


@ability("conditionals", heated=HeatedConditionals)
class Conditionals(Protocol):
    """Units with two values, each of which can be sampled given all others."""

    def log_odds(self, x: Tensor, sites: Tensor) -> Tensor:
        """The log odds `(B, K)` of the higher value of the units `sites (K,)`, given all others."""

    def blocks(self) -> list[Tensor]:
        """Sets of units that are independent given all others; together they contain all units."""


@ability("statistics")
class Statistics(Protocol):
    """An exponential family: `E(x) = -theta . T(x)` with `theta (K,)`."""

    theta: Tensor

    def statistics(self, x: Tensor) -> Tensor:
        """T, `(B, K)`."""

    def statistic_gradients(self, x: Tensor) -> Tensor:
        """`(B, K, d)`."""

    def statistic_laplacians(self, x: Tensor) -> Tensor:
        """`(B, K)`."""


#: The abilities of ebmkit itself, by name.
ABILITIES: Mapping[str, Any] = {info_of(value).name: value for value in list(globals().values()) if is_ability(value)}
