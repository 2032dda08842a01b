"""Probabilities of values of units."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar, TypeAlias

from annotated_types import Ge, MinLen

from ebmkit.components.metrics.enumerated import probabilities, too_many, unit_values
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import MetricTraits
from ebmkit.contracts.unmeasurable import Unmeasurable
from ebmkit.maths.enumeration import states

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.contracts.view import View

#: A unit, counted from 0, and its value.
Setting: TypeAlias = tuple[Annotated[int, Ge(0)], Annotated[int, Ge(-1)]]


@component("probability")
class Probability(Metric):
    """Conditional probability of values of units, estimated by counting samples, and exact for small models.

        p(x0=1|x1=-1) = number of samples with x_0 = 1 and x_1 = -1 / number of samples with x_1 = -1

    The result is named after the event, as in this formula, so that one run can measure several; several units are
    joined by `&`, as in `p(x0=1&x2=1)`. With the suffix `_exact` it is the model's own probability, by enumeration.

    Results:
        p: share of the samples with these values.
        p_exact: the same probability under the model, by enumeration.

    Parameters:
        of: pairs of a unit and its value; units are counted from 0, an image row by row.
        given: the same, for units that are conditioned on.
        exact: report the exact value too, for models of at most 65,536 states.
        samples: model samples.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Ackley, Hinton and Sejnowski, "A learning algorithm for Boltzmann machines", Cognitive Science 9, 1985.

    Example: evaluate: [{use: probability, of: [[0, 1]], given: [[1, -1]]}]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"binary", "spin", "categorical"})
    needs: ClassVar[frozenset[str]] = frozenset({"samples", "energy"})

    of: Annotated[tuple[Setting, ...], MinLen(1)] = ((0, 1),)
    given: tuple[Setting, ...] = ()
    exact: bool = True
    samples: Annotated[int, Ge(1)] = 10_000

    def __post_init__(self) -> None:
        seen: set[int] = set()
        for unit, _ in (*self.of, *self.given):
            if unit in seen:
                raise ValueError(f"'of' and 'given' name unit {unit} twice")
            seen.add(unit)

    def traits(self) -> MetricTraits:
        return super().traits()._replace(samples=self.samples)

    def refusal(self, question: Question) -> str | None:
        event, model = question.event, question.model
        values = model.traits().unit_values or (0.0, 1.0)
        for unit, value in (*self.of, *self.given):
            if unit >= prod(event):
                return f"names unit {unit}, but a state has {prod(event)}, counted from 0"
            if value not in values:
                known = f"{values[0]:g} {'to' if len(values) > 2 else 'or'} {values[-1]:g}"
                return f"names value {value} of unit {unit}, but {model.traits().space} units are {known}"
        reason = too_many(event, model) if self.exact else None
        return f"{reason}; set 'exact: false' to omit it" if reason else None

    def results(self) -> tuple[str, ...]:
        return (self._name(), f"{self._name()}_exact") if self.exact else (self._name(),)

    def measure(self, view: View) -> dict[str, float]:
        x = view.samples(self.samples)
        among = _have(x, self.given)
        if not (count := int(among.sum())):
            raise Unmeasurable(f"none of {len(x)} samples has {_written(self.given)}: use more samples")
        found = {self._name(): int((_have(x, self.of) & among).sum()) / count}
        if self.exact:
            p = probabilities(view)
            every = states(torch.arange(len(p), device=p.device), view.event, unit_values(view), p.dtype)
            among = _have(every, self.given)
            both = _have(every, self.of) & among
            found[f"{self._name()}_exact"] = float(p[both].sum() / p[among].sum())
        return found

    def _name(self) -> str:
        given = f"|{_written(self.given)}" if self.given else ""
        return f"p({_written(self.of)}{given})"


def _have(x: Tensor, settings: tuple[Setting, ...]) -> Tensor:
    """Whether each state has all of these values, `(N,)`."""
    units = x.flatten(1)
    have = torch.ones(len(x), device=x.device, dtype=torch.bool)
    for unit, value in settings:
        have &= units[:, unit] == value
    return have


def _written(settings: tuple[Setting, ...]) -> str:
    return "&".join(f"x{unit}={value}" for unit, value in settings)
