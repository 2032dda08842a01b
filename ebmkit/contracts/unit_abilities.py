"""Abilities of models whose units are drawn given all others, and of models with hidden units.

They are used by their names in `abilities.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ebmkit.contracts.ability import ability

if TYPE_CHECKING:
    from torch import Generator, Tensor


class HeatedConditionals:
    """Conditionals of `exp(-E/T)`: log odds are energy differences, so they are divided by T."""

    def __init__(self, cold: Conditionals, temperature: Tensor) -> None:
        self.cold = cold
        self.temperature = temperature

    def log_odds(self, x: Tensor, sites: Tensor) -> Tensor:
        """As at T = 1, divided by T."""
        found = self.cold.log_odds(x, sites)
        return found / self.temperature.view(-1, *[1] * (found.dim() - 1))


@ability("conditionals", heated=HeatedConditionals)
class Conditionals(Protocol):
    """Discrete units, each of which has a known distribution given all others."""

    def log_odds(self, x: Tensor, sites: Tensor) -> Tensor:
        """The log odds `(B, S)` of the higher value of the units `sites (S,)`, given all others; of categorical states
        the log probabilities `(B, S, K)` of all K categories, up to a constant of each unit."""


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


class HeatedSweeps:
    """Sweeps of `exp(-E/T)`: every draw is made at the temperature of its chain."""

    def __init__(self, cold: Sweeps, temperature: Tensor) -> None:
        self.cold = cold
        self.temperature = temperature

    def sweep(self, units: Tensor, temperature: Tensor | float, rng: Generator) -> tuple[Tensor, Tensor]:
        """`(B, U)` and `E/T (B,)`."""
        swept, energy = self.cold.sweep(units, temperature * self.temperature.unsqueeze(1), rng)
        return swept, energy / self.temperature


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


@ability("activations")
class Activations(Protocol):
    """Layers of hidden units, which respond to x."""

    def activations(self, x: Tensor) -> list[Tensor]:
        """For every layer, the lowest first, the probability `(B, H)` that a unit has its higher value given x; above
        the lowest layer, where that has no closed form, that of a mean-field pass upwards."""


@ability("receptive_fields")
class ReceptiveFields(Protocol):
    """Layers of hidden units with weights onto x."""

    def receptive_fields(self) -> list[Tensor]:
        """For every layer, the lowest first, the weights `(H, *event)` of its units onto x; those of higher layers are
        projected down by the weights of the layers below."""


@ability("reconstruct")
class Reconstructs(Protocol):
    """A mean-field pass from x up to the hidden units and down again."""

    def reconstruct(self, x: Tensor) -> Tensor:
        """`(B, *event)`: the log odds of the higher value of units with two values, or the mean of real ones, with all
        hidden units at their means given x."""
