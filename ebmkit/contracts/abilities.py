"""Abilities: what the module of a model can do in addition to its forward pass. One protocol each.

A model announces the names of its abilities in `offers`; samplers, objectives and metrics list those that they require
in `needs`. A sampler accesses one by `energy.ask(Conditionals)`. An ability that is defined for `exp(-E/T)` has a class
that binds the temperature, so that samplers that use it also run inside `parallel_tempering`; any other ability is
refused there. A plugin adds an ability with the same decorator (docs/plugins.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from ebmkit.contracts import ability as declaration

if TYPE_CHECKING:
    from torch import Generator, Tensor, nn

    from ebmkit.contracts.kinds import Schedule

AbilityInfo = declaration.AbilityInfo
ability, info_of, is_ability = declaration.ability, declaration.info_of, declaration.is_ability
missing_members = declaration.missing_members


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
    """Units of any type, drawn exactly given all others; those of a block are drawn at once.

    They do not interact, or the model draws them from their joint distribution. A model with hidden units (see
    `Hidden`) has them among its blocks.
    """

    def blocks(self) -> list[Tensor]:
        """The units of each block, in the order in which blocks are drawn; together they are all units, each once."""

    def draw_units(self, units: Tensor, sites: Tensor, temperature: Tensor | float, rng: Generator) -> Tensor:
        """New values `(B, K)` of the units `sites (K,)`, a block or some of its units, from `exp(-E/T)` given all
        others. `units (B, U)` are flat states; the temperature is a number or `(B, 1)`."""


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


@ability("joint_conditionals", joint=True)
class JointConditionals(Protocol):
    """Visible and hidden units with two values, each of which has a known distribution given all others.

    The distributions between a model and another one have the same blocks and log odds in between, which draws of
    `Blocks` could not supply.
    """

    def joint_log_odds(self, units: Tensor, sites: Tensor) -> Tensor:
        """The log odds `(B, K)` of the higher value of the units `sites (K,)` of joint states `(B, U)`."""


@ability("posterior")
class Posterior(Protocol):
    """A distribution q(h | x) of the hidden units given x, exact or variational, for models with hidden units.

    Maximum likelihood needs no more of the data than E_q[dE(x, h)/dtheta], also where exp(-E(x)), the sum over h, is
    not tractable and the model does not offer `energy`.
    """

    def posterior_energy(self, x: Tensor, rng: Generator) -> Tensor:
        """`E_q[E(x, h)] - H(q)`, `(B,)`, never below E(x) and equal to it if q is exact. q is constant: the gradient in
        the parameters is E_q[dE(x, h)/dtheta]. A model that draws h from q leaves out the entropy H(q)."""


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
