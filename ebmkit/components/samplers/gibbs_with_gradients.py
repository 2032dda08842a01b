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
    """Gibbs with gradients: changes of single units, proposed by the gradient, with Metropolis correction.

        d_i(x) = -(x_i* - x_i) dE/dx_i / T,    x_i* the other value of unit i
        q(i|x) = exp(d_i(x) / 2) / sum_j exp(d_j(x) / 2)
        x* = x with unit i ~ q(i|x) flipped
        a = exp((E(x) - E(x*)) / T) q(i|x*) / q(i|x)
        x' = x* with probability min(1, a), else x

    d_i is the first-order change of the log-probability by the flip. It is exact if the energy is linear in each unit;
    otherwise its error lowers the acceptance, but `exp(-E/T)` stays stationary. For categorical units the changes are
    pairs of a unit and another category, d_i(k) = (dE/dx_i(x_i) - dE/dx_i(k)) / T with the gradient in one-hot vectors.
    A step evaluates one energy and one gradient for all units, while `gibbs` evaluates each unit: useful for large
    models with few undecided units. A proposal whose energy or gradient is not finite is never accepted.

    Parameters:
        steps: number of changes that a chain proposes.
        temperature: T.

    Reference: Grathwohl, Swersky, Hashemi, Duvenaud and Maddison, "Oops I took a gradient: scalable sampling for
    discrete distributions", arXiv:2102.04509, algorithm 1.

    Example: sampler: {use: gibbs_with_gradients, steps: 1000}
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"binary", "spin", "categorical"})

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
        changes = _CategoryChanges(energy) if gradient.dim() > x.dim() else _Flips(energy)
        log_q = self._log_q(x, gradient, changes)
        # Exponential clocks of rates q: the first to ring, at -log(u) / q, is a draw from q, without a cumulative sum.
        log_u = torch.empty_like(log_q).uniform_(generator=rng).log_()
        i = (log_q.exp() / log_u).argmin(1, keepdim=True)
        proposal, reverse = changes.make(x, i)
        proposed, slope = energy.value_and_grad(proposal)
        back = self._log_q(proposal, slope, changes).gather(1, reverse).squeeze(1)
        forth = log_q.gather(1, i).squeeze(1)
        log_ratio = (height - proposed) / self.temperature + back - forth
        finite = proposed.isfinite() & back.isfinite()
        acceptance = torch.where(finite, log_ratio, -torch.inf).exp().clamp(max=1)
        accepted = torch.empty_like(acceptance).uniform_(generator=rng) < acceptance
        wide, wider = (accepted.view(-1, *[1] * (of.dim() - 1)) for of in (x, gradient))
        # Energy and gradient are kept with the position: one evaluation per step.
        moved = GibbsWithGradientsState(
            torch.where(wide, proposal, x),
            torch.where(accepted, proposed, height),
            torch.where(wider, slope, gradient),
        )
        return moved, StepInfo(height, gradient, acceptance, (~finite).to(height.dtype))

    def _log_q(self, x: Tensor, gradient: Tensor, changes: _Flips | _CategoryChanges) -> Tensor:
        """`log q(i|x)` of all changes, `(B, C)`."""
        gain = changes.gain(x, gradient) / self.temperature
        return (gain / 2).flatten(1).log_softmax(1)


class _Flips:
    """The changes of units with two values: one a unit. The other value is the sum of both less the present one."""

    def __init__(self, energy: Energy) -> None:
        self.both = sum(energy.unit_values)

    def gain(self, x: Tensor, gradient: Tensor) -> Tensor:
        """The first-order decrease of the energy by each change."""
        return (2 * x - self.both) * gradient

    def make(self, x: Tensor, i: Tensor) -> tuple[Tensor, Tensor]:
        """The states after the changes `i (B, 1)`, and the changes that lead back."""
        units = x.flatten(1)
        return units.scatter(1, i, self.both - units.gather(1, i)).view_as(x), i


class _CategoryChanges:
    """The changes of categorical units: one for each unit and category, of which the present one is no change."""

    def __init__(self, energy: Energy) -> None:
        self.categories = len(energy.unit_values)

    def gain(self, x: Tensor, gradient: Tensor) -> Tensor:
        present = x.long().unsqueeze(-1)
        gain = gradient.gather(-1, present) - gradient
        return gain.scatter(-1, present, -torch.inf)

    def make(self, x: Tensor, i: Tensor) -> tuple[Tensor, Tensor]:
        units, unit, category = x.flatten(1), i // self.categories, i % self.categories
        reverse = unit * self.categories + units.gather(1, unit).long()
        return units.scatter(1, unit, category.to(x.dtype)).view_as(x), reverse
