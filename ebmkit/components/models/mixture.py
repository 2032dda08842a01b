"""Mixtures of models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Gt, MinLen

from ebmkit.components.models.banana import Banana
from ebmkit.components.models.composition import (
    ENERGY_AND_GRADIENT,
    check_parts,
    check_weights,
    common_event,
    common_refusal,
    composed_traits,
)
from ebmkit.components.models.ring import Ring
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import ModelTraits
from ebmkit.maths.parameter_counts import total

if TYPE_CHECKING:
    from ebmkit.components.models.nets.mixture import MixtureEnergy

#: Abilities of a mixture, and what every component needs for each: without log Z no component can be chosen for a draw.
PASSED_ON = {
    **ENERGY_AND_GRADIENT,
    "log_z": frozenset({"log_z"}),
    "sample_exact": frozenset({"log_z", "sample_exact"}),
}


@component("mixture")
class Mixture(Model):
    """Mixture of models: a weighted sum of their densities.

        every component offers log Z:  E(x) = -log sum_k w_k exp(-E_k(x)) / Z_k,    log Z = log sum_k w_k = 0
        otherwise:                     E(x) = -log sum_k w_k exp(-E_k(x)),          log Z unknown

    In the first case w_k is the probability of the k-th component, and the mixture offers log Z, and exact samples if
    every component does. In the second w_k only scales an unnormalised density: the probability of the component is
    proportional to w_k Z_k, and adding a constant to its energy changes it. The second case applies if any component
    lacks log Z. A gradient is offered if every component has one.

    The weights and the parameters of the components are trainable; log Z_k follows them.

    Parameters:
        components: the models; those that fix the shape of a state must agree, the others take it.
        weights: w, positive numbers, divided by their sum; without them all components have the same weight.

    Reference: Du, Li and Mordatch, "Compositional visual generation with energy based models", arXiv:2004.06030
    (concept disjunction).

    Example: model: {use: mixture, components: [banana, {use: ring, radius: 5.0}], weights: [1.0, 3.0]}
    """

    offers: ClassVar[frozenset[str]] = frozenset({"energy"})

    components: Annotated[tuple[Model, ...], MinLen(1)] = (Banana(), Ring())
    weights: Annotated[tuple[Annotated[float, Gt(0)], ...], MinLen(1)] | None = None

    def __post_init__(self) -> None:
        check_weights(self.weights, self.components)
        check_parts(self.components)

    def traits(self) -> ModelTraits:
        return composed_traits(self.components, PASSED_ON)

    def event(self) -> Event | None:
        return common_event(self.components)

    def refusal(self, question: Question) -> str | None:
        return common_refusal(self.components, question)

    def parameter_count(self, event: Event) -> int | None:
        return total([len(self.components), *(part.parameter_count(event) for part in self.components)])

    def build(self, event: Event) -> MixtureEnergy:
        from ebmkit.components.models.nets.mixture import MixtureEnergy

        parts = [component.build(event) for component in self.components]
        return MixtureEnergy(parts, self.weights or [1.0] * len(parts), normalised="log_z" in self.traits().offers)
