"""The contract of a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from ebmkit.contracts.component import Component
from ebmkit.contracts.kinds.schedule import Schedule

if TYPE_CHECKING:
    from torch import nn

#: Shape of one state, without the batch: `(2,)` for a point in the plane, `(1, 28, 28)` for an image.
Event: TypeAlias = tuple[int, ...]

#: Where a state lives.
Space: TypeAlias = Literal["real", "binary", "spin"]

#: What a network takes beside x: nothing, a noise level, or a time.
Conditioning: TypeAlias = Literal["sigma", "time"] | None


class Model(Component, ABC):
    """An energy, low for likely states: `p(x) = exp(-E(x)) / Z`.

    `build` gives a torch module whose forward maps `(B, *event) -> (B,)`. What else the module can do is announced in
    `offers`, so that a spec which asks for more is refused before anything is built:

    `energy`        forward gives energies
    `score`         forward takes a noise level or a time beside x, as `conditioning` says: `module` is a `Conditional`,
                    with `module.score(x, level, labels=None) -> (B, *event)`; its forward is that, without `energy`
    `gradient`      the energy is differentiable in x
    `sample_exact`  `module.sample_exact(n, rng) -> (n, *event)`, independent draws
    `log_z`         `module.log_z() -> ()`, the exact log normaliser
    `noised`        `module.noised(sigma) -> module`, the same model convolved with N(0, sigma^2 I)
    `modes`         `module.modes() -> (K, d), (K,)`, where its mass is gathered, and how much of it
    `logits`        `module.logits(x) -> (B, K)`, of which the softmax is p(y | x) for labels y
    `conditionals`  `module.log_odds(x, sites) -> (B, K)`, of the units `sites` the log odds of the higher value given
                    all others; `module.blocks()`, lists of units that are independent given all others, together all
    `statistics`    E(x) = -theta . T(x): `module.theta` (K,), `module.statistics(x) -> (B, K)`,
                    `module.statistic_gradients(x) -> (B, K, d)`, `module.statistic_laplacians(x) -> (B, K)`

    What a module only knows a cheaper way to is not announced but found: `energy_and_grad(x) -> E, dE/dx` without a
    graph, for chains, and for score matching, differentiable in the parameters, `laplacian(x) -> E, dE/dx, (B,)`, the
    trace of the Hessian, and `curvature(x, v) -> E, dE/dx, (B,)`, the mean of v'Hv over directions v `(K, B, *event)`.

    A module on binary or spin states has `unit_values`, the two values of a unit, the lower one first.

    The class says what all its models are and offer. Where parameters decide, as in a composition, `__post_init__` sets
    `space` and `offers` on the instance (see `components/models/composition.py`).
    """

    component_kind: ClassVar[str] = "model"
    space: ClassVar[Space] = "real"
    offers: ClassVar[frozenset[str]] = frozenset({"energy", "gradient"})
    #: The noise that a model is made for whose network takes a noise level, or a time. A parameter of such models.
    schedule: Schedule | None = None

    @property
    def conditioning(self) -> Conditioning:
        """What the network takes beside x."""
        return self.schedule.conditioning if self.schedule else None

    @property
    def labelled(self) -> bool:
        """Whether it takes a label too, which the data then have to have."""
        return False

    def event(self) -> Event | None:
        """The shape that the parameters fix, or None for a model that takes the shape of its data."""
        return None

    def refusal(self, event: Event) -> str | None:
        """Why the model cannot take states of this shape, in words that follow its name; None if it can."""
        return None

    @abstractmethod
    def build(self, event: Event) -> nn.Module:
        """The module, freshly initialised, on the CPU in float32. The engine seeds torch's initialisers around it."""
