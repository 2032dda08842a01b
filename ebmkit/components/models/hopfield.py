"""The Hopfield network."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from annotated_types import Ge, MinLen

from ebmkit.components.models.couplings import Values, unit_traits
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import ModelTraits
from ebmkit.maths.enumeration import VALUES

if TYPE_CHECKING:
    from ebmkit.components.models.nets.hopfield import HopfieldEnergy

#: The rows of several states.
Rows = Annotated[tuple[Annotated[tuple[float, ...], MinLen(1)], ...], MinLen(1)]


@component("hopfield")
class Hopfield(Model):
    """Hopfield network: an associative memory whose stored patterns are minima of a pairwise energy.

        E(x) = -1/2 s'Ws,    s = x for spins,  s = 2 x - 1 for values 0 and 1,    W without its diagonal
        hebbian:         W = 1/n sum_p s_p s_p'
        pseudo_inverse:  W = S'(S S')^-1 S,    the projection on the patterns, which are the rows of S

    The sampler `icm` recalls a pattern from a corrupted start. By the Hebbian rule about 0.138 n random patterns of n
    units can be recalled, with 1.6 % wrong units at most. By the pseudo-inverse rule all patterns are fixed points up
    to n independent ones, but the regions from which they are recalled shrink. With 0 and 1 the energy is
    -1/2 x'(4W)x + 2 (W 1)'x up to a constant. With up to 16 units the model offers log Z and exact samples, by
    enumeration, if its parameters fix the number of units. It has no trainable parameters.

    Parameters:
        patterns: the rows of the patterns, in the values of the units; or their number, for random patterns of a
            `shape`; null stores the training data.
        storage: `hebbian` or `pseudo_inverse`.
        shape: shape of a state; without it a state is a flat list as long as a pattern, or has the shape of the data.
        values: `spin` for units of -1 and +1, `binary` for units of 0 and 1.

    Reference: Hopfield, "Neural networks and physical systems with emergent collective computational abilities", PNAS
    79, 1982; Personnaz, Guyon and Dreyfus, J. Physique Lett. 46, 1985; Amit, Gutfreund and Sompolinsky, Phys. Rev.
    Lett. 55, 1985 (capacity).

    Example: model: {use: hopfield, patterns: [[1, 1, 1, -1, -1, -1], [1, -1, 1, -1, 1, -1]], storage: pseudo_inverse}
    """

    space: ClassVar[Space] = "spin"
    offers: ClassVar[frozenset[str]] = frozenset({"energy", "gradient", "conditionals", "patterns"})

    patterns: Rows | Annotated[int, Ge(1)] | None = None
    storage: Literal["hebbian", "pseudo_inverse"] = "hebbian"
    shape: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] | None = None
    values: Values = "spin"

    def __post_init__(self) -> None:
        event = self.event()
        if isinstance(self.patterns, int) and event is None:
            raise ValueError("random patterns need a 'shape'")
        if not isinstance(self.patterns, tuple) or event is None:
            return
        low, high = VALUES[self.values]
        for i, row in enumerate(self.patterns):
            if len(row) != prod(event):
                raise ValueError(f"'patterns': row {i} has {len(row)} numbers, but there are {prod(event)} units")
            if odd := [value for value in row if value not in (low, high)]:
                raise ValueError(f"'patterns': row {i} has {odd[0]}, but {self.values} units are {low:g} or {high:g}")

    def traits(self) -> ModelTraits:
        event = self.event()
        return unit_traits(super().traits(), self.values, None if event is None else prod(event))

    def event(self) -> Event | None:
        return self.shape or ((len(self.patterns[0]),) if isinstance(self.patterns, tuple) else None)

    def refusal(self, question: Question) -> str | None:
        if self.patterns is None and question.data is None:
            return "stores the training data, but the spec has none: add 'data:', or give 'patterns'"
        return None

    def parameter_count(self, event: Event) -> int:
        return 0

    def build(self, event: Event) -> HopfieldEnergy:
        from ebmkit.components.models.nets.hopfield import HopfieldEnergy

        values = VALUES[self.values]
        if isinstance(self.patterns, tuple):
            patterns = torch.tensor(self.patterns, dtype=torch.float64).view(-1, *event)
        elif self.patterns:
            patterns = torch.randint(2, (self.patterns, *event)) * (values[1] - values[0]) + values[0]
        else:
            patterns = None
        return HopfieldEnergy(event, values, patterns, self.storage)
