"""Gibbs with gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

from annotated_types import Ge, Gt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Sampler, Space, StepInfo
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import SamplerTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.contracts.energy import Energy


class GibbsWithGradientsState(NamedTuple):
    """Positions of the chains, with their energy and its gradient."""

    x: Tensor
    energy: Tensor
    gradient: Tensor


@component("gibbs_with_gradients")
class GibbsWithGradients(Sampler):
    """Gibbs with gradients: flips of single units, proposed by the gradient, with Metropolis correction.

        d_i(x) = -(x_i* - x_i) dE/dx_i / T,    x_i* the other value of unit i
        q(i|x) = exp(d_i(x) / 2) / sum_j exp(d_j(x) / 2)
        x* = x with unit i ~ q(i|x) flipped
        a = exp((E(x) - E(x*)) / T) q(i|x*) / q(i|x)
        x' = x* with probability min(1, a), else x

    d_i is the first-order change of the log-probability by the flip. It is exact if the energy is linear in each unit;
    otherwise its error lowers the acceptance, but `exp(-E/T)` stays stationary. A step evaluates one energy and one
    gradient for all units, while `gibbs` evaluates each unit: useful for large models with few undecided units. A
    proposal whose energy or gradient is not finite is never accepted.

    Parameters:
        steps: number of flips that a chain proposes.
        temperature: T.

    Reference: Grathwohl, Swersky, Hashemi, Duvenaud and Maddison, "Oops I took a gradient: scalable sampling for
    discrete distributions", arXiv:2102.04509, algorithm 1.

    Example: sampler: {use: gibbs_with_gradients, steps: 1000}
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"binary", "spin"})

    steps: Annotated[int, Ge(1)] = 1_000
    temperature: Annotated[float, Gt(0)] = 1.0

    def traits(self) -> SamplerTraits:
        return super().traits()._replace(temperature=self.temperature)

    def init(self, energy: Energy, x: Tensor, rng: Generator) -> GibbsWithGradientsState:
        return GibbsWithGradientsState(x, *energy.value_and_grad(x))

    def step(
        self, energy: Energy, state: GibbsWithGradientsState, rng: Generator
    ) -> tuple[GibbsWithGradientsState, StepInfo]:
        x, height, gradient = state
        both = sum(energy.unit_values)
        log_q = self._log_q(x, gradient, both)
        # Exponential clocks of rates q: the first to ring, at -log(u) / q, is a draw from q, without a cumulative sum.
        log_u = torch.empty_like(log_q).uniform_(generator=rng).log_()
        i = (log_q.exp() / log_u).argmin(1, keepdim=True)
        units = x.flatten(1)
        proposal = units.scatter(1, i, both - units.gather(1, i)).view_as(x)
        proposed, slope = energy.value_and_grad(proposal)
        back = self._log_q(proposal, slope, both).gather(1, i).squeeze(1)
        forth = log_q.gather(1, i).squeeze(1)
        log_ratio = (height - proposed) / self.temperature + back - forth
        finite = proposed.isfinite() & back.isfinite()
        acceptance = torch.where(finite, log_ratio, -torch.inf).exp().clamp(max=1)
        accepted = torch.empty_like(acceptance).uniform_(generator=rng) < acceptance
        wide = accepted.view(-1, *[1] * (x.dim() - 1))
        # Energy and gradient are kept with the position: one evaluation per step.
        moved = GibbsWithGradientsState(
            torch.where(wide, proposal, x),
            torch.where(accepted, proposed, height),
            torch.where(wide, slope, gradient),
        )
        return moved, StepInfo(height, gradient, acceptance, (~finite).to(height.dtype))

    def _log_q(self, x: Tensor, gradient: Tensor, both: float) -> Tensor:
        """`log q(i|x)` of all units, `(B, d)`. The other value of a unit is the sum of both values less its own."""
        gain = (2 * x - both) * gradient / self.temperature
        return (gain / 2).flatten(1).log_softmax(1)
