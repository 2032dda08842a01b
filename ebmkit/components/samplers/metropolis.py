"""Metropolis-Hastings with Gaussian proposals."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

from annotated_types import Ge, Gt, MinLen

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Sampler, StepInfo
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import SamplerTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.contracts.energy import Energy


class MetropolisState(NamedTuple):
    """Positions of the chains, their energies, and the centre of the proposals if they are independent."""

    x: Tensor
    energy: Tensor
    center: Tensor | None


@component("metropolis")
class Metropolis(Sampler):
    """Metropolis-Hastings with Gaussian proposals, as a random walk or independent; uses no gradient.

        x* ~ q(x*|x) = N(m, scale^2 I),    m = x for a random walk, m = center for independent proposals
        a = exp((E(x) - E(x*)) / T) q(x|x*) / q(x*|x)
        x' = x* with probability min(1, a), else x

    The Hastings correction q(x|x*) / q(x*|x) is 1 for the random walk. A proposal whose energy is not finite is never
    accepted: one of energy +inf lies outside the support, any other one counts as a divergence. The best scale of a
    random walk in d dimensions is 2.4 / sqrt(d) standard deviations of the target; independent proposals must be wider
    than the target, or chains get stuck in its tails.

    Parameters:
        steps: number of proposals of a chain.
        scale: standard deviation of a proposal in every coordinate.
        center: mean of independent proposals, one number for all coordinates or one each (an image row by row); without
            it the chain is a random walk.
        temperature: T.

    Reference: Metropolis et al., J. Chem. Phys. 21, 1953; Hastings, Biometrika 57, 1970.

    Example: sampler: {use: metropolis, steps: 1000, scale: 1.0}
    """

    needs: ClassVar[frozenset[str]] = frozenset({"energy"})
    traces: ClassVar[frozenset[str]] = frozenset({"energy", "acceptance", "divergence"})

    steps: Annotated[int, Ge(1)] = 1_000
    scale: Annotated[float, Gt(0)] = 1.0
    center: float | Annotated[tuple[float, ...], MinLen(1)] | None = None
    temperature: Annotated[float, Gt(0)] = 1.0

    def traits(self) -> SamplerTraits:
        fixed = "" if self.center is None else "has a 'center'"
        return super().traits()._replace(temperature=self.temperature, fixed_scale=fixed)

    def refusal(self, question: Question) -> str | None:
        event = question.event
        if not isinstance(self.center, tuple) or len(self.center) == prod(event):
            return None
        return f"has a 'center' of {len(self.center)} coordinates, but a state has {prod(event)}"

    def init(self, energy: Energy, x: Tensor, rng: Generator) -> MetropolisState:
        if self.center is None:
            return MetropolisState(x, energy(x), None)
        center = x.new_tensor(self.center).expand(x.shape[1:].numel()).view(x.shape[1:])
        return MetropolisState(x, energy(x), center)

    def step(self, energy: Energy, state: MetropolisState, rng: Generator) -> tuple[MetropolisState, StepInfo]:
        x, height, center = state
        around = x if center is None else center
        proposal = torch.empty_like(x).normal_(0, self.scale, generator=rng).add_(around)
        proposed = energy(proposal)
        log_ratio = (height - proposed) / self.temperature
        if center is not None:
            log_ratio = log_ratio + self._log_q(x, center) - self._log_q(proposal, center)
        finite = proposed.isfinite() & ~log_ratio.isnan()
        acceptance = torch.where(finite, log_ratio, -torch.inf).exp().clamp(max=1)
        accepted = torch.empty_like(proposed).uniform_(generator=rng) < acceptance
        moved = torch.where(accepted.view(-1, *[1] * (x.dim() - 1)), proposal, x)
        # The energy is kept with the position: one evaluation per step.
        state = MetropolisState(moved, torch.where(accepted, proposed, height), center)
        # An infinite energy is that of a state outside the support, which every random walk proposes at its edge.
        diverged = ~finite & (proposed != torch.inf)
        return state, StepInfo(energy=height, acceptance=acceptance, divergence=diverged.to(height.dtype))

    def _log_q(self, x: Tensor, center: Tensor) -> Tensor:
        """The log density of an independent proposal, up to a constant."""
        return (x - center).flatten(1).square().sum(1) / (-2 * self.scale**2)
