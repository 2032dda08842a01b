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

from ebmkit.contracts.heated_sweeps import HeatedSweeps

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
    #: Whether it takes joint states of visible and hidden units, if a model has both; others take visible ones.
    joint: bool = False


def ability(
    name: str, *, heated: Heated | None = None, by_energy: bool = False, joint: bool = False
) -> Callable[[P], P]:
    """Declare a protocol as the ability `name`. Without `heated` it is not defined at temperatures other than 1."""

    def declare(protocol: P) -> P:
        if not getattr(protocol, "_is_protocol", False):
            raise TypeError(f"{protocol.__qualname__}: an ability must be a typing.Protocol")
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            raise TypeError(f"ability name {name!r}: use lower-case letters, digits and underscores")
        if name in globals().get("ABILITIES", {}):
            raise TypeError(f"{protocol.__qualname__}: ebmkit has an ability '{name}' already; choose another name")
        members = tuple(dict.fromkeys(member for base in reversed(protocol.__mro__) for member in _members(base)))
        protocol.ability_info = AbilityInfo(name, members, heated, by_energy, joint)
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


@ability("conditionals", heated=HeatedConditionals)
class Conditionals(Protocol):
    """Units with two values, each of which has a known distribution given all others."""

    def log_odds(self, x: Tensor, sites: Tensor) -> Tensor:
        """The log odds `(B, K)` of the higher value of the units `sites (K,)`, given all others."""


class HeatedBlocks:
    """Blocks of `exp(-E/T)`: every draw is made at the temperature of its chain."""

    def __init__(self, cold: Blocks, temperature: Tensor) -> None:
        self.cold = cold
        self.temperature = temperature.unsqueeze(1)

    def blocks(self) -> list[Tensor]:
        """As at T = 1, since independence does not depend on the temperature."""
        return self.cold.blocks()

    def draw_units(self, units: Tensor, sites: Tensor, temperature: Tensor | float, rng: Generator) -> Tensor:
        """`(B, K)`."""
        return self.cold.draw_units(units, sites, temperature * self.temperature, rng)


@ability("blocks", heated=HeatedBlocks, joint=True)
class Blocks(Protocol):
    """Units of any type, drawn exactly given all others; those of a block do not interact, and are drawn at once.

    A model with hidden units (see `Hidden`) has them among its blocks.
    """

    def blocks(self) -> list[Tensor]:
        """The units of each block, in the order in which blocks are drawn; together they are all units, each once."""

    def draw_units(self, units: Tensor, sites: Tensor, temperature: Tensor | float, rng: Generator) -> Tensor:
        """New values `(B, K)` of the units `sites (K,)`, a block or some of its units, from `exp(-E/T)` given all
        others. `units (B, U)` are flat states; the temperature is a number or `(B, 1)`."""


@ability("sweeps", heated=HeatedSweeps, joint=True)
class Sweeps(Protocol):
    """All blocks of a model drawn in turn, at less cost than one by one: in a layout of its own, for example, or with
    results that draws and energies have in common. Optional next to `Blocks`, with the same distribution."""

    def sweep(self, units: Tensor, temperature: Tensor | float, rng: Generator) -> tuple[Tensor, Tensor]:
        """New states `(B, U)` after each of `blocks()` was drawn once, in this order, from `exp(-E/T)` given all
        others; and the energies E `(B,)` of `units (B, U)`, the states before. The temperature is a number or
        `(B, 1)`."""


@ability("hidden")
class Hidden(Protocol):
    """Hidden units h next to the visible ones x: `exp(-E(x))` is the sum or integral of `exp(-E(x, h))` over h.

    Data, samples and metrics see x only. A sampler with the trait `joint` moves joint states `(B, U)`: the flat x,
    followed by h. A temperature then heats `E(x, h)`, whose marginal is not `exp(-E(x)/T)`.
    """

    #: The number of hidden units.
    hidden_units: int
    #: Whether h has to be kept between two chains; not if `draw_hidden` is exact and costs no more than a sweep.
    keeps_hidden: bool

    def joint_energy(self, units: Tensor) -> Tensor:
        """`E(x, h)`, `(B,)`, of joint states."""

    def draw_hidden(self, x: Tensor, rng: Generator) -> Tensor:
        """h `(B, hidden_units)` for chains that start at `x (B, *event)`: drawn given x, or near that."""


@ability("harmonium")
class Harmonium(Protocol):
    """`E(v, h) = -b'v - c'h - v'Wh` on two layers of units of two values, each independent given the other."""

    #: The two values of a hidden unit, the lower one first.
    hidden_values: tuple[float, float]
    hidden_units: int

    def hidden_field(self, v: Tensor) -> Tensor:
        """`v'W + c`, `(B, H)`, of flat visible states."""

    def visible_field(self, h: Tensor) -> Tensor:
        """`W h + b`, `(B, D)`."""

    def visible_energy(self, v: Tensor) -> Tensor:
        """`-b'v`, `(B,)`."""


@ability("patterns")
class Patterns(Protocol):
    """States that the energy is made from: the stored patterns of a memory, or an observed image."""

    #: `(P, *event)`.
    patterns: Tensor


@ability("ground_state")
class GroundState(Protocol):
    """A state of the lowest energy, which is the most probable one at every temperature."""

    def ground_state(self) -> Tensor:
        """`(*event)`."""


@ability("true_image")
class TrueImage(Protocol):
    """A model that restores an image of which the true version is known."""

    #: `(*event)`.
    true_image: Tensor


@ability("parts")
class Parted(Protocol):
    """Parts that stages of training train one after the other, by the names of `Model.parts`.

    Only the parameters of a part change while it is trained, so what it sees does not.
    """

    def part(self, name: str) -> nn.Module:
        """The module of a part, which is inside this one."""

    def begin_part(self, name: str) -> None:
        """Start a part before it is trained, from what was trained before; called once for every stage."""

    def seen_by(self, name: str, x: Tensor, rng: Generator) -> Tensor:
        """The states that a part sees `(B, *its event)`, for data `x (B, *event)`."""


@ability("ancestral")
class Descends(Protocol):
    """A directed model below an undirected top, whose states are drawn from the top down."""

    def draw_top(self, x: Tensor, rng: Generator) -> Tensor:
        """A joint state `(B, U)` of the top, where chains that start at `x (B, *event)` begin."""

    def sweep_top(self, units: Tensor, rng: Generator) -> Tensor:
        """The top after a sweep that leaves its distribution invariant."""

    def descend(self, units: Tensor, rng: Generator) -> Tensor:
        """x given the top, drawn layer by layer, `(B, *event)`."""


@ability("bound")
class Bounded(Protocol):
    """A variational lower bound of the log-likelihood."""

    def log_bounds(self, x: Tensor, rng: Generator) -> Tensor:
        """`(B, K)`: estimates without bias of the bounds of log p(x) by the first 1, ..., K layers."""


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
