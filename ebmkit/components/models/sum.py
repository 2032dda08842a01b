"""Products of experts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Gt, MinLen

from ebmkit.components.models.composition import (
    ENERGY_AND_GRADIENT,
    check_parts,
    check_weights,
    common_event,
    common_refusal,
    composed_traits,
)
from ebmkit.components.models.double_well import DoubleWell
from ebmkit.components.models.ring import Ring
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import ModelTraits
from ebmkit.maths.parameter_counts import total

if TYPE_CHECKING:
    from ebmkit.components.models.nets.sum import SumEnergy


@component("sum")
class Sum(Model):
    """Product of experts: a weighted sum of the energies of its components.

        E(x) = sum_k w_k E_k(x),    p(x) = prod_k p_k(x)^w_k / Z

    It offers an energy, and a gradient if every component has one. Its normaliser does not follow from theirs, so it
    offers neither log Z nor exact samples. The components are trainable, the weights are not.

    Parameters:
        components: the models; those that fix the shape of a state must agree, the others take it.
        weights: w, one positive number per component; without them all are 1.

    Reference: Hinton, "Training products of experts by minimizing contrastive divergence", Neural Computation 14, 2002.

    Example: model: {use: sum, components: [ring, {use: double_well, barrier: 2.0}], weights: [1.0, 0.5]}
    """

    offers: ClassVar[frozenset[str]] = frozenset({"energy"})

    components: Annotated[tuple[Model, ...], MinLen(1)] = (Ring(), DoubleWell())
    weights: Annotated[tuple[Annotated[float, Gt(0)], ...], MinLen(1)] | None = None

    def __post_init__(self) -> None:
        check_weights(self.weights, self.components)
        check_parts(self.components)

    def traits(self) -> ModelTraits:
        return composed_traits(self.components, ENERGY_AND_GRADIENT)

    def event(self) -> Event | None:
        return common_event(self.components)

    def coordinate_names(self) -> tuple[str, ...] | None:
        found = (component.coordinate_names() for component in self.components)
        return next((names for names in found if names), None)

    def refusal(self, question: Question) -> str | None:
        return common_refusal(self.components, question)

    def parameter_count(self, event: Event) -> int | None:
        return total(part.parameter_count(event) for part in self.components)

    def build(self, event: Event) -> SumEnergy:
        from ebmkit.components.models.nets.sum import SumEnergy

        parts = [component.build(event) for component in self.components]
        return SumEnergy(parts, self.weights or [1.0] * len(parts))
