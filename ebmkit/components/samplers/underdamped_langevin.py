"""Underdamped Langevin dynamics."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

from annotated_types import Ge, Gt, Lt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Sampler, StepInfo
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import SamplerTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.contracts.energy import Energy


class UnderdampedState(NamedTuple):
    """Positions of the chains, and their last displacement."""

    x: Tensor
    v: Tensor


@component("underdamped_langevin")
class UnderdampedLangevin(Sampler):
    """Underdamped Langevin dynamics: gradient steps with momentum and noise, biased by the step size.

        v' = momentum v - step_size dE/dx + noise_std xi,    xi ~ N(0, I)
        x' = x + v',    noise_std = sqrt(2 (1 - momentum) step_size T)

    With noise_std 0 it is SGD with momentum, whose buffer is -v / step_size; with momentum 0 it is `langevin`. For
        dx = p dt,    dp = -dE/dx dt - gamma p dt + sqrt(2 gamma T) dW
    and a time step eps it is the integrator of Brünger, Brooks and Karplus, at
        momentum = (1 - gamma eps / 2) / (1 + gamma eps / 2),    step_size = eps^2 / (1 + gamma eps / 2).
    Nothing is rejected: the stationary distribution tends to `exp(-E/T)` for small steps, and otherwise is biased. The
    variance s^2 of a Gaussian becomes s^2 / (1 - b) at T = 1, b = step_size / (2 (1 + momentum) s^2). The bias is as
    low as half that of `langevin`, and small steps move 1 / (1 - momentum) times as far.

    Parameters:
        steps: number of steps of a chain.
        step_size: factor of the gradient.
        momentum: fraction of a step that is kept in the next one.
        temperature: T, which scales the noise only.
        noise_std: standard deviation of the noise, in place of the one that follows from the other parameters.

    Reference: Brünger, Brooks and Karplus, Chem. Phys. Lett. 105, 1984; Chen, Fox and Guestrin, ICML 2014.

    Example: sampler: {use: underdamped_langevin, steps: 100, step_size: 0.01, momentum: 0.9}
    """

    traces: ClassVar[frozenset[str]] = frozenset({"energy", "gradient_norm"})

    steps: Annotated[int, Ge(1)] = 100
    step_size: Annotated[float, Gt(0)] = 0.01
    momentum: Annotated[float, Ge(0), Lt(1)] = 0.9
    temperature: Annotated[float, Gt(0)] = 1.0
    noise_std: Annotated[float, Ge(0)] | None = None

    def __post_init__(self) -> None:
        if self.noise_std is not None and self.temperature != 1:
            raise ValueError("'noise_std' and 'temperature' both set the strength of the noise: give one of them")

    def traits(self) -> SamplerTraits:
        fixed = "" if self.noise_std is None else "has a 'noise_std'"
        return super().traits()._replace(temperature=self.temperature, fixed_scale=fixed)

    def init(self, energy: Energy, x: Tensor, rng: Generator) -> UnderdampedState:
        # The stationary velocity on a flat energy: chains that start at rest would first have to heat up.
        return UnderdampedState(x, self.noise(x, rng) / sqrt(1 - self.momentum**2))

    def step(self, energy: Energy, state: UnderdampedState, rng: Generator) -> tuple[UnderdampedState, StepInfo]:
        return self.move(energy, state, self.noise(state.x, rng))

    def noise(self, x: Tensor, rng: Generator) -> Tensor:
        """All random numbers of a step; drawn in advance, so that blocks of steps can be compiled."""
        follows = sqrt(2 * (1 - self.momentum) * self.step_size * self.temperature)
        return torch.empty_like(x).normal_(0, follows if self.noise_std is None else self.noise_std, generator=rng)

    def move(self, energy: Energy, state: UnderdampedState, noise: Tensor) -> tuple[UnderdampedState, StepInfo]:
        """The rest of a step."""
        x, v = state
        value, gradient = energy.value_and_grad(x)
        v = (self.momentum * v).sub_(gradient, alpha=self.step_size).add_(noise)
        return UnderdampedState(x + v, v), StepInfo(value, gradient)
