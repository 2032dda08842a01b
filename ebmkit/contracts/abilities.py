"""Abilities: what the module of a model can do in addition to its forward pass. One protocol each.

A model announces the names of its abilities in `offers`; samplers, objectives and metrics list those that they require
in `needs`. A sampler accesses one by `energy.ask(Conditionals)`. An ability that is defined for `exp(-E/T)` has a class
that binds the temperature, so that samplers that use it also run inside `parallel_tempering`; any other ability is
refused there. A plugin adds an ability with the same decorator (docs/plugins.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from ebmkit.contracts.ability import ability, reserved

# `as` marks exported names for type checkers.
# isort: off
from ebmkit.contracts.unit_abilities import (
    Activations as Activations,
    Blocks as Blocks,
    Conditionals as Conditionals,
    Harmonium as Harmonium,
    Hidden as Hidden,
    JointConditionals as JointConditionals,
    Posterior as Posterior,
    ReceptiveFields as ReceptiveFields,
    Reconstructs as Reconstructs,
    Sweeps as Sweeps,
)
# isort: on


if TYPE_CHECKING:
    from torch import Generator, Tensor, nn

    from ebmkit.contracts.kinds import Schedule


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
ABILITIES: Mapping[str, Any] = reserved(globals().values())
