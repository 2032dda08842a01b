"""Stochastic-gradient Hamiltonian Monte Carlo."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

from ebmkit.api import Ge, Gt, Le, Sampler, SamplerTraits, StepInfo, component, torch
from ebmkit_samplers_extra.abilities import Subsampled

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.api import Energy


class SGHMCState(NamedTuple):
    """Positions of the chains, and their displacements per step."""

    x: Tensor
    v: Tensor


@component("sghmc")
class SGHMC(Sampler):
    """Stochastic-gradient Hamiltonian Monte Carlo: momentum with friction, and noise that makes up for both.

        q  = x + v/2
        v' = (1 - friction) v - step_size g(q) + s xi,    xi ~ N(0, I)
        x' = q + v'/2
        s^2 = 2 friction step_size T - step_size^2 gradient_variance

    g is dE/dx, or with `terms` an estimate from that many random terms of the energy, whose noise is counted as part of
    the noise that friction requires. q and v are theta and v of the reference, step_size and friction its eta and
    alpha. A chain reports the middle between two positions, for two reasons. It does not correlate with the velocity,
    so that chains that start at states of the target, with v ~ N(0, 2 step_size T / (2 - friction)), have no transient.
    And for a Gaussian of variance s^2 it has the variance s^2 T at every stable step size, while that of q is
    s^2 T / (1 - step_size / (2 (2 - friction) s^2)). For other energies the bias is of first order in the step size.
    Nothing is rejected. Steps are unstable if step_size times the largest curvature is above 2 (2 - friction).

    Parameters:
        steps: number of steps of a chain.
        step_size: factor of the gradient, the square of a time step.
        friction: fraction of the velocity that is lost in a step; at 1 nothing remains but gradient and noise.
        temperature: T, which scales the noise only.
        terms: number of terms of an estimated gradient, if the model is `subsampled`; without it gradients are exact.
        gradient_variance: variance of a coordinate of estimated gradients, by which less noise is added.

    Reference: Chen, Fox and Guestrin, "Stochastic gradient Hamiltonian Monte Carlo", ICML 2014, arXiv:1402.4102; the
    middle of two positions as in Leimkuhler and Matthews, Appl. Math. Res. Express 2013.

    Example: sampler: {use: samplers_extra.sghmc, steps: 200, step_size: 0.01, friction: 0.1}
    """

    traces: ClassVar[frozenset[str]] = frozenset({"gradient_norm"})

    steps: Annotated[int, Ge(1)] = 100
    step_size: Annotated[float, Gt(0)] = 0.01
    friction: Annotated[float, Gt(0), Le(1)] = 0.1
    temperature: Annotated[float, Gt(0)] = 1.0
    terms: Annotated[int, Ge(1)] | None = None
    gradient_variance: Annotated[float, Ge(0)] = 0.0

    def __post_init__(self) -> None:
        if self.gradient_variance and self.terms is None:
            raise ValueError("'gradient_variance' is that of estimated gradients: it needs 'terms'")
        if self._variance < 0:
            most = 2 * self.friction * self.temperature / self.gradient_variance
            raise ValueError(
                f"gradients of variance {self.gradient_variance:g} have more noise than friction takes: "
                f"'step_size' must be at most {most:.3g}, or 'friction' or 'terms' larger"
            )

    def traits(self) -> SamplerTraits:
        own = super().traits()
        needs = own.needs if self.terms is None else own.needs | {"subsampled"}
        fixed = "has a 'gradient_variance'" if self.gradient_variance else ""
        return own._replace(needs=needs, temperature=self.temperature, fixed_scale=fixed)

    @property
    def _variance(self) -> float:
        """The variance of the noise that is added in a step."""
        eta = self.step_size
        return 2 * self.friction * eta * self.temperature - eta**2 * self.gradient_variance

    def init(self, energy: Energy, x: Tensor, rng: Generator) -> SGHMCState:
        # The stationary velocity for small steps: chains that start at rest would first have to heat up.
        std = sqrt(2 * self.step_size * self.temperature / (2 - self.friction))
        return SGHMCState(x, torch.empty_like(x).normal_(0, std, generator=rng))

    def step(self, energy: Energy, state: SGHMCState, rng: Generator) -> tuple[SGHMCState, StepInfo]:
        q = state.x + state.v / 2
        gradient = self._gradient(energy, q, rng)
        noise = torch.empty_like(q).normal_(0, sqrt(self._variance), generator=rng)
        v = (1 - self.friction) * state.v - self.step_size * gradient + noise
        return SGHMCState(q + v / 2, v), StepInfo(gradient=gradient)

    def _gradient(self, energy: Energy, x: Tensor, rng: Generator) -> Tensor:
        if self.terms is None:
            return energy.value_and_grad(x)[1]
        energy.evaluations += 1
        return energy.ask(Subsampled).gradient_estimate(x, self.terms, rng)
