"""A mixture of Langevin and independent proposals."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Annotated, NamedTuple

from annotated_types import Ge, Gt, Lt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Sampler, StepInfo
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import SamplerTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.contracts.energy import Energy


class MixedState(NamedTuple):
    """Positions of the chains, the energy and its gradient there."""

    x: Tensor
    energy: Tensor
    gradient: Tensor


@component("mixed_mala")
class MixedMALA(Sampler):
    """Metropolis-adjusted Langevin algorithm (MALA) with random step sizes, mixed with independent proposals.

        x* = x - h dE(x) + sqrt(2 h T) xi,    log h ~ U[log of step_sizes],    with probability 1 - jump
        x* = s xi,                            log s ~ U[log of scales],        with probability jump
        x' = x* with probability min(1, exp((E(x) - E(x*)) / T) q(x|x*) / q(x*|x)), else x

    Every chain draws its h, s and kind of proposal at every step without regard to its state, so each step leaves
    exp(-E/T) invariant. Nothing has to be tuned, and no chain gets stuck: some steps are small enough to leave a steep
    slope, on which `mala` rejects every step of a size that suits the rest. Independent proposals cross barriers in few
    dimensions; in many they are never accepted and cost their share of the steps. A step takes one gradient.

    Parameters:
        steps: number of steps of a chain.
        step_sizes: bounds of h, the factor of the gradient.
        jump: probability of an independent proposal.
        scales: bounds of s, the standard deviation of independent proposals, which are centred at zero. The defaults
            suit data with mean 0 and standard deviation 1.
        temperature: T.

    Reference: Roberts and Tweedie, Bernoulli 2, 1996; mixtures of kernels: Tierney, Annals of Statistics 22, 1994.

    Example: sampler: {use: mixed_mala, steps: 100, step_sizes: [1e-4, 0.3]}
    """

    steps: Annotated[int, Ge(1)] = 100
    step_sizes: tuple[Annotated[float, Gt(0)], Annotated[float, Gt(0)]] = (1e-4, 0.3)
    jump: Annotated[float, Ge(0), Lt(1)] = 0.1
    scales: tuple[Annotated[float, Gt(0)], Annotated[float, Gt(0)]] = (1.0, 2.0)
    temperature: Annotated[float, Gt(0)] = 1.0

    def __post_init__(self) -> None:
        for name, (low, high) in {"step_sizes": self.step_sizes, "scales": self.scales}.items():
            if low > high:
                raise ValueError(f"'{name}' has the lower bound {low:g}, above the upper bound {high:g}")

    def traits(self) -> SamplerTraits:
        fixed = "has independent proposals of fixed 'scales'" if self.jump else ""
        return super().traits()._replace(temperature=self.temperature, fixed_scale=fixed, step_sizes_vary=True)

    def init(self, energy: Energy, x: Tensor, rng: Generator) -> MixedState:
        return MixedState(x, *energy.value_and_grad(x))

    def step(self, energy: Energy, state: MixedState, rng: Generator) -> tuple[MixedState, StepInfo]:
        x, height, gradient = state
        single = x.new_empty(len(x), *[1] * (x.dim() - 1))  # one number a chain
        eta = (2 * _between(self.step_sizes, single, rng)).sqrt()
        scale = _between(self.scales, single, rng)
        jumps = single.clone().uniform_(generator=rng) < self.jump
        xi = torch.empty_like(x).normal_(generator=rng)
        # A Langevin proposal is one leapfrog step, whose ratio q(x|x*) / q(x*|x) is that of its momenta (see `mala`).
        p = self.temperature**0.5 * xi
        halfway = p.addcmul(eta, gradient, value=-0.5)
        proposal = torch.where(jumps, scale * xi, x.addcmul(eta, halfway))
        proposed, slope = energy.value_and_grad(proposal)
        end = halfway.addcmul(eta, slope, value=-0.5)
        local = (p.square() - end.square()) / (2 * self.temperature)
        independent = (proposal.square() - x.square()) / (2 * scale.square())
        log_q = torch.where(jumps, independent, local).flatten(1).sum(1)
        log_ratio = (height - proposed) / self.temperature + log_q
        finite = proposed.isfinite() & ~log_ratio.isnan()
        acceptance = torch.where(finite, log_ratio, -torch.inf).clamp(max=0).exp()
        accepted = torch.empty_like(acceptance).uniform_(generator=rng) < acceptance
        mask = accepted.view_as(single)
        moved = MixedState(
            torch.where(mask, proposal, x),
            torch.where(accepted, proposed, height),
            torch.where(mask, slope, gradient),
        )
        return moved, StepInfo(height, gradient, acceptance, (~finite).to(height.dtype))


def _between(bounds: tuple[float, float], like: Tensor, rng: Generator) -> Tensor:
    """Numbers between two bounds, uniform in their logarithm."""
    low, high = map(log, bounds)
    return torch.empty_like(like).uniform_(generator=rng).mul_(high - low).add_(low).exp_()
