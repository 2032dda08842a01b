"""A chain of spins with long-range couplings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from ebmkit.api import Data, Dataset, Event, Ge, Interval, Space, Split, component, torch

if TYPE_CHECKING:
    from torch import Generator, Tensor

#: Maximum length of a chain, of which all 65,536 states are enumerated.
LONGEST = 16


@component("spin_chain")
class SpinChain(Data):
    """Chain of spins with long-range couplings that fall as a power of the distance, drawn exactly by enumeration.

        p(s) = exp(sum_{i<j} J_ij s_i s_j + field sum_i s_i) / Z,    J_ij = coupling / |i - j|^decay

    For a decay between 1 and 2 an infinite chain orders at a low temperature, unlike one with couplings of neighbours.

    Parameters:
        length: number of spins.
        coupling: J, that of neighbours; negative for neighbours that tend to differ.
        decay: exponent of the distance.
        field: preference of +1 over -1.
        size: number of training points.
        test_size: number of held-out points.

    Reference: Dyson, "Existence of a phase-transition in a one-dimensional Ising ferromagnet", Commun. Math. Phys. 12,
    1969.

    Example: data: {use: graph.spin_chain, length: 12, coupling: 0.4, decay: 1.5}
    """

    space: ClassVar[Space] = "spin"
    known: ClassVar[bool] = True

    length: Annotated[int, Interval(ge=1, le=LONGEST)] = 12
    coupling: float = 0.4
    decay: Annotated[float, Ge(0)] = 1.5
    field: float = 0.1
    size: Annotated[int, Ge(1)] = 10_000
    test_size: Annotated[int, Ge(1)] = 10_000

    def event(self) -> Event:
        return (self.length,)

    def point_count(self, split: Split) -> int:
        return self.size if split == "train" else self.test_size

    def load(self, split: Split, rng: Generator) -> Dataset:
        states = self._states()
        # By the inverse of the distribution function: `multinomial` takes few categories only.
        bounds = self._log_weights(states).softmax(0).cumsum(0)
        u = torch.empty(self.point_count(split), device="cpu", dtype=torch.float64).uniform_(generator=rng)
        drawn = torch.searchsorted(bounds, u * bounds[-1], right=True).clamp(max=len(states) - 1)
        return Dataset(states[drawn].to(torch.get_default_dtype()))

    def log_prob(self, x: Tensor) -> Tensor:
        return self._log_weights(x.double()) - self._log_weights(self._states().to(x.device)).logsumexp(0)

    def _log_weights(self, states: Tensor) -> Tensor:
        """`-E` of states `(N, length)` in float64."""
        place = torch.arange(self.length, device=states.device, dtype=torch.float64)
        distance = (place[:, None] - place).abs()
        couplings = torch.where(distance > 0, self.coupling * distance.clamp(min=1) ** -self.decay, 0.0)
        return ((states @ couplings) * states).sum(1) / 2 + self.field * states.sum(1)

    def _states(self) -> Tensor:
        """All states, `(2^length, length)`."""
        number = torch.arange(1 << self.length, device="cpu")[:, None]
        digits = (number >> torch.arange(self.length, device="cpu")) & 1
        return 2 * digits.double() - 1
