"""Unadjusted Langevin dynamics."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

from annotated_types import Ge, Gt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Sampler, StepInfo
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import SamplerTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.contracts.energy import Energy


class LangevinState(NamedTuple):
    """Positions of the chains."""

    x: Tensor


@component("langevin")
class Langevin(Sampler):
    """Unadjusted Langevin dynamics: gradient steps on the energy with Gaussian noise, biased by the step size.

        x' = x - step_size dE/dx + noise_std xi,    xi ~ N(0, I),    noise_std = sqrt(2 step_size T)

    For `x - tau/2 dE/dx + sqrt(tau) xi` (Xu's thesis) take step_size = tau / 2, for `x - eps^2/2 dE/dx + eps xi`
    (Amini, Beigy) eps^2 / 2, for `x - eps dE/dx + sqrt(2 eps) xi` (Zhang) eps. Short-run chains for images set
    `noise_std` separately, as in step_size 0.5, noise_std 0.005 (tau = 1 of Xu's thesis): a low temperature.

    Parameters:
        steps: number of steps of a chain.
        step_size: factor of the gradient.
        temperature: T, which scales the noise only.
        noise_std: standard deviation of the noise, in place of the one that follows from step size and temperature.
        clip_gradient: largest norm of a chain's gradient; a longer one is shortened. Biases the chain where it acts.
        clamp: bounds of the positions, such as [-1, 1] for images.

    Reference: Roberts and Tweedie, Bernoulli 2, 1996; Welling and Teh, ICML 2011.

    Example: sampler: {use: langevin, steps: 100, step_size: 0.01}
    """

    traces: ClassVar[frozenset[str]] = frozenset({"energy", "gradient_norm"})

    steps: Annotated[int, Ge(1)] = 100
    step_size: Annotated[float, Gt(0)] = 0.01
    temperature: Annotated[float, Gt(0)] = 1.0
    noise_std: Annotated[float, Ge(0)] | None = None
    clip_gradient: Annotated[float, Gt(0)] | None = None
    clamp: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.noise_std is not None and self.temperature != 1:
            raise ValueError("'noise_std' and 'temperature' both set the strength of the noise: give one of them")
        if self.clamp is not None and self.clamp[0] >= self.clamp[1]:
            raise ValueError(f"'clamp' has the lower bound {self.clamp[0]}, not below the upper bound {self.clamp[1]}")

    def traits(self) -> SamplerTraits:
        fixed = next((f"has a '{name}'" for name in ("noise_std", "clamp") if getattr(self, name) is not None), "")
        return super().traits()._replace(temperature=self.temperature, fixed_scale=fixed)

    def init(self, energy: Energy, x: Tensor, rng: Generator) -> LangevinState:
        return LangevinState(x)

    def step(self, energy: Energy, state: LangevinState, rng: Generator) -> tuple[LangevinState, StepInfo]:
        return self.move(energy, state, self.noise(state.x, rng))

    def noise(self, x: Tensor, rng: Generator) -> Tensor:
        """All random numbers of a step; drawn in advance, so that blocks of steps can be compiled."""
        noise_std = sqrt(2 * self.step_size * self.temperature) if self.noise_std is None else self.noise_std
        return torch.empty_like(x).normal_(0, noise_std, generator=rng)

    def move(self, energy: Energy, state: LangevinState, noise: Tensor) -> tuple[LangevinState, StepInfo]:
        """The rest of a step."""
        x = state.x
        value, gradient = energy.value_and_grad(x)
        drift = gradient
        if self.clip_gradient is not None:
            norm = torch.linalg.vector_norm(gradient.flatten(1), dim=1).view(-1, *[1] * (x.dim() - 1))
            drift = gradient * (self.clip_gradient / norm).clamp(max=1)
        x = noise.sub(drift, alpha=self.step_size).add_(x)  # not `add`: see `Splits` in chains/compiled.py
        if self.clamp is not None:
            x = x.clamp(*self.clamp).add_(x - x)  # inf - inf is nan: a diverged chain stays diverged
        return LangevinState(x), StepInfo(value, gradient)
