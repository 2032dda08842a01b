"""The exponential family."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from annotated_types import MinLen

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model
from ebmkit.contracts.traits import ModelTraits

if TYPE_CHECKING:
    from ebmkit.components.models.nets.exponential_family import ExponentialFamilyEnergy


@component("exponential_family")
class ExponentialFamily(Model):
    """Exponential family: an energy linear in its parameters, with chosen polynomial statistics.

        E(x) = -theta . T(x)

        linear     x_i
        squares    x_i^2
        quadratic  x_i x_j, i <= j
        cubic      x_i^3
        quartic    x_i^4

    It starts as a standard normal (with `quartic` but neither `squares` nor `quadratic`, as exp(-sum x_i^4 / 4)).
    Training may move theta to values whose density cannot be normalised; `closed_form_score_matching` computes the
    optimal theta directly. `linear` with `quadratic` represents every Gaussian.

    Parameters:
        statistics: names from the table above, each at most once. One of `squares`, `quadratic` and `quartic` is
            required to confine the density, and `cubic` requires `quartic`.

    Reference: Hyvarinen, "Some extensions of score matching", Computational Statistics and Data Analysis 51, 2007.

    Example: model: {use: exponential_family, statistics: [linear, quadratic, quartic]}
    """

    offers: ClassVar[frozenset[str]] = frozenset({"energy", "gradient", "statistics"})
    learning_rate: ClassVar[float] = 1e-2

    statistics: Annotated[tuple[Literal["linear", "squares", "quadratic", "cubic", "quartic"], ...], MinLen(1)] = (
        "linear",
        "quadratic",
    )

    def __post_init__(self) -> None:
        names = set(self.statistics)
        if len(names) < len(self.statistics):
            raise ValueError("'statistics' names one of them twice")
        if {"squares", "quadratic"} <= names:
            raise ValueError("'quadratic' already includes the statistics of 'squares': leave out 'squares'")
        if "cubic" in names and "quartic" not in names:
            raise ValueError("'cubic' without 'quartic' gives an unbounded density: add 'quartic'")
        if not names & {"squares", "quadratic", "quartic"}:
            raise ValueError("nothing confines the density: add 'squares', 'quadratic' or 'quartic'")

    def traits(self) -> ModelTraits:
        return super().traits()._replace(own_units=True)  # which densities are in the family depends on the units

    def parameter_count(self, event: Event) -> int:
        d = prod(event)
        return sum(d * (d + 1) // 2 if name == "quadratic" else d for name in self.statistics)

    def build(self, event: Event) -> ExponentialFamilyEnergy:
        from ebmkit.components.models.nets.exponential_family import ExponentialFamilyEnergy

        return ExponentialFamilyEnergy(event, self.statistics)
