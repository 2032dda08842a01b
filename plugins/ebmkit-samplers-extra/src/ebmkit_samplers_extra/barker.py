"""The Barker proposal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

from ebmkit.api import Ge, Gt, Lt, Sampler, SamplerTraits, StepInfo, component, torch
from ebmkit_samplers_extra.abilities import along

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.api import Energy


class BarkerState(NamedTuple):
    """Positions of the chains, the energy and its gradient there, and the step size."""

    x: Tensor
    energy: Tensor
    gradient: Tensor
    step_size: Tensor


@component("barker")
class Barker(Sampler):
    """Barker proposal: gradients decide the direction of every coordinate's step, but not its length.

        z ~ N(0, step_size^2 I),    b_i = 1 with probability 1 / (1 + exp(z_i dE_i(x) / T)), else -1
        x* = x + b z,    D = x* - x
        a = exp((E(x) - E(x*)) / T) prod_i (1 + exp(D_i dE_i(x) / T)) / (1 + exp(-D_i dE_i(x*) / T))
        x' = x* with probability min(1, a), else x

    As efficient as `mala` in many dimensions, but robust: a large gradient cannot throw a chain far, so that a step
    size that is too large costs acceptance and nothing else, and targets of different scales or light tails do no harm.
    A step takes one gradient. A proposal whose energy or gradient is not finite is never accepted.

    Parameters:
        steps: number of steps of a chain.
        step_size: standard deviation of a proposal in every coordinate. A warm-up tunes it.
        temperature: T.
        target_acceptance: mean acceptance that a warm-up tunes to; 0.4 is best in many dimensions.

    Reference: Livingstone and Zanella, "The Barker proposal: combining robustness and efficiency in gradient-based
    MCMC", J. R. Stat. Soc. B 84, 2022, arXiv:1908.11812.

    Example: sampler: {use: samplers_extra.barker, steps: 1000, step_size: 0.5}
    """

    steps: Annotated[int, Ge(1)] = 1_000
    step_size: Annotated[float, Gt(0)] = 0.5
    temperature: Annotated[float, Gt(0)] = 1.0
    target_acceptance: Annotated[float, Gt(0), Lt(1)] = 0.4

    def traits(self) -> SamplerTraits:
        return super().traits()._replace(temperature=self.temperature)

    def tunes(self) -> frozenset[str]:
        return frozenset({"step_size"})

    def init(self, energy: Energy, x: Tensor, rng: Generator) -> BarkerState:
        return BarkerState(x, *energy.value_and_grad(x), x.new_full((), self.step_size))

    def step(self, energy: Energy, state: BarkerState, rng: Generator) -> tuple[BarkerState, StepInfo]:
        x, height, gradient, step_size = state
        z = torch.empty_like(x).normal_(generator=rng) * step_size
        ahead = torch.empty_like(x).uniform_(generator=rng) < torch.sigmoid(-z * gradient / self.temperature)
        move = torch.where(ahead, z, -z)
        proposal = x + move
        proposed, slope = energy.value_and_grad(proposal)
        log_ratio = (height - proposed) / self.temperature + self._correction(move, gradient, slope)
        finite = proposed.isfinite() & log_ratio.isfinite()
        acceptance = torch.where(finite, log_ratio, -torch.inf).exp().clamp(max=1)
        accepted = torch.empty_like(height).uniform_(generator=rng) < acceptance
        rows = along(accepted, x)
        moved = BarkerState(
            torch.where(rows, proposal, x),
            torch.where(accepted, proposed, height),
            torch.where(rows, slope, gradient),
            step_size,
        )
        return moved, StepInfo(height, gradient, acceptance, (~finite).to(height.dtype))

    def _correction(self, move: Tensor, before: Tensor, after: Tensor) -> Tensor:
        """log q(x|x*) - log q(x*|x), `(B,)`; the lengths of both moves are equally probable."""
        softplus = torch.nn.functional.softplus
        log_odds = softplus(move * before / self.temperature) - softplus(-move * after / self.temperature)
        return log_odds.flatten(1).sum(1)
