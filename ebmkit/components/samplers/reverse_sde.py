"""The reverse-time SDE of a diffusion."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple

from annotated_types import Ge

from ebmkit.components.samplers.reverse_time import ReverseStep, Spacing, reverse_steps
from ebmkit.components.schedules.vp import VP
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Sampler, Schedule, StepInfo
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.states import Conditioning
from ebmkit.contracts.traits import SamplerTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.contracts.energy import Energy


class ReverseState(NamedTuple):
    """Positions of the chains, their time, the number of steps done, and all steps."""

    x: Tensor
    level: float | None
    step: int
    path: tuple[ReverseStep, ...]


@component("reverse_sde")
class ReverseSDE(Sampler):
    """Reverse-time SDE: sampling a diffusion from noise to data.

        forwards          dx = f x dt + g dB
        backwards         dx = (g^2 s(x, t) - f x) dt + g dB,    from N(0, I) or N(0, sigma_max^2 I)

        euler_maruyama    x' = x + h (g^2 s - f x) + sqrt(h) g xi
        exponential       the linear part and the noise solved exactly, with s constant over the step; on the
                          Ornstein-Uhlenbeck process    x' = e^h x + 2 (e^h - 1) s + sqrt(e^2h - 1) xi
        and at the end, with `denoise`,    x' = (x + noise^2 s) / signal

    Chains start from the noise of the last time, and `init` is not used.

    Parameters:
        schedule: the process in time, the same as the model's.
        steps: number of steps from the last time to the earliest.
        integrator: the method of a step. Both have an error of order h.
        spacing: steps of equal size in the logarithm of noise / signal, or in `time`, as in the theory.
        denoise: end with the mean of the clean state given the noisy one.

    Reference: Song et al., "Score-based generative modeling through stochastic differential equations",
    arXiv:2011.13456; Chen et al., "Sampling is as easy as learning the score", arXiv:2209.11215 (the exponential
    integrator).

    Example: sampler: {use: reverse_sde, schedule: vp, steps: 500}
    """

    needs: ClassVar[frozenset[str]] = frozenset({"score"})
    conditioning: ClassVar[Conditioning] = "time"
    traces: ClassVar[frozenset[str]] = frozenset({"gradient_norm"})
    from_noise: ClassVar[bool] = True

    schedule: Schedule = VP()
    steps: Annotated[int, Ge(1)] = 200
    integrator: Literal["exponential", "euler_maruyama"] = "exponential"
    spacing: Spacing = "log_snr"
    denoise: bool = True

    def traits(self) -> SamplerTraits:
        return super().traits()._replace(schedule=self.schedule)

    def init(self, energy: Energy, x: Tensor, rng: Generator) -> ReverseState:
        schedule = energy.schedule
        return ReverseState(
            energy.noise(x, rng), schedule.horizon, 0, reverse_steps(schedule, self.steps, self.spacing)
        )

    def move(self, step_back: ReverseStep) -> tuple[float, float, float]:
        """The three factors of a step, `stretch x + kick s + spread xi`."""
        if self.integrator == "exponential":
            return step_back.stretch, step_back.kick, step_back.spread
        h = step_back.start - step_back.end
        return 1 - h * step_back.drift, h * step_back.diffusion, sqrt(h * step_back.diffusion)

    def step(self, energy: Energy, state: ReverseState, rng: Generator) -> tuple[ReverseState, StepInfo]:
        x, step_back = state.x, state.path[state.step]
        score = energy.score(x, step_back.start)
        stretch, kick, spread = self.move(step_back)
        xi = torch.empty_like(x).normal_(0, spread, generator=rng)
        x = xi.add_(score, alpha=kick).add_(x, alpha=stretch)
        level: float | None = step_back.end
        if self.denoise and step_back is state.path[-1]:
            x, level = denoise_last_step(energy, x, step_back), None
        return state._replace(x=x, level=level, step=state.step + 1), StepInfo(gradient=-score)


def denoise_last_step(energy: Energy, x: Tensor, last: ReverseStep) -> Tensor:
    """Tweedie's formula after the last step: the mean of the clean state."""
    score = energy.score(x, last.end)
    return x.add(score, alpha=last.noise**2).div_(last.signal)
