"""Models at a temperature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Gt

from ebmkit.components.models.composition import (
    ENERGY_AND_GRADIENT,
    check_parts,
    common_event,
    common_refusal,
    composed_traits,
)
from ebmkit.components.models.double_well import DoubleWell
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import ModelTraits

if TYPE_CHECKING:
    from ebmkit.components.models.nets.tempered import TemperedEnergy


@component("tempered")
class Tempered(Model):
    """Tempered model: the energy of a model divided by a temperature.

        p(x) = exp(-E(x) / T) / Z(T)

    It offers an energy, and a gradient if the model has one. Z(T) does not follow from Z(1), so it offers neither log Z
    nor exact samples. The model's parameters are trainable, the temperature is not.

    Parameters:
        model: the model at temperature 1.
        temperature: T; above 1 flattens the density, below 1 sharpens it.

    Reference: Marinari and Parisi, "Simulated tempering: a new Monte Carlo scheme", Europhysics Letters 19, 1992.

    Example: model: {use: tempered, model: {use: double_well, barrier: 10.0}, temperature: 4.0}
    """

    offers: ClassVar[frozenset[str]] = frozenset({"energy"})

    model: Model = DoubleWell()
    temperature: Annotated[float, Gt(0)] = 1.0

    def __post_init__(self) -> None:
        check_parts((self.model,))

    def traits(self) -> ModelTraits:
        return composed_traits((self.model,), ENERGY_AND_GRADIENT)

    def event(self) -> Event | None:
        return common_event((self.model,))

    def coordinate_names(self) -> tuple[str, ...] | None:
        return self.model.coordinate_names()

    def refusal(self, question: Question) -> str | None:
        return common_refusal((self.model,), question)

    def parameter_count(self, event: Event) -> int | None:
        return self.model.parameter_count(event)

    def build(self, event: Event) -> TemperedEnergy:
        from ebmkit.components.models.nets.tempered import TemperedEnergy

        return TemperedEnergy(self.model.build(event), self.temperature)
