"""Predictor-corrector sampling of diffusions."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from annotated_types import Ge, Gt

from ebmkit.components.samplers.reverse_sde import ReverseSDE, ReverseState, denoise_last_step
from ebmkit.components.samplers.reverse_time import Spacing
from ebmkit.components.schedules.vp import VP
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Sampler, Schedule, StepInfo
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.states import Conditioning
from ebmkit.contracts.traits import SamplerTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.contracts.energy import Energy


@component("predictor_corrector")
class PredictorCorrector(Sampler):
    """Predictor-corrector sampling of a diffusion: steps of `reverse_sde`, each followed by Langevin steps.

        predict    x' = a step of the reverse process from t to t'
        correct    x' = x + alpha s(x, t') + sqrt(2 alpha) xi,    alpha = 2 (snr noise(t'))^2

    The published corrector uses alpha = 2 (snr |xi| / |s|)^2, averaged over all chains. The norm of a score of noised
    data is about sqrt(d) / noise, so that alpha is nearly the same; here it depends neither on the other chains nor on
    the noise that is then added, which would bias the chain.

    Chains start from the noise of the last time, and `init` is not used.

    Parameters:
        schedule: the process in time, the same as the model's.
        steps: number of predictions from the last time to the earliest.
        corrections: number of Langevin steps after each prediction.
        snr: the ratio of signal to noise in a correction; larger ones move further.
        integrator: the method of a prediction (see `reverse_sde`).
        spacing: steps of equal size in the logarithm of noise / signal, or in `time`.
        denoise: end with the mean of the clean state given the noisy one.

    Reference: Song et al., "Score-based generative modeling through stochastic differential equations",
    arXiv:2011.13456, appendix G.

    Example: sampler: {use: predictor_corrector, schedule: ve, steps: 200, corrections: 1}
    """

    needs: ClassVar[frozenset[str]] = frozenset({"score"})
    conditioning: ClassVar[Conditioning] = "time"
    traces: ClassVar[frozenset[str]] = frozenset({"gradient_norm"})
    from_noise: ClassVar[bool] = True

    schedule: Schedule = VP()
    steps: Annotated[int, Ge(1)] = 100
    corrections: Annotated[int, Ge(1)] = 1
    snr: Annotated[float, Gt(0)] = 0.16
    integrator: Literal["exponential", "euler_maruyama"] = "exponential"
    spacing: Spacing = "log_snr"
    denoise: bool = True

    def traits(self) -> SamplerTraits:
        return super().traits()._replace(schedule=self.schedule, evaluations=1 + self.corrections)

    @property
    def _predictor(self) -> ReverseSDE:
        return ReverseSDE(steps=self.steps, integrator=self.integrator, spacing=self.spacing, denoise=False)

    def init(self, energy: Energy, x: Tensor, rng: Generator) -> ReverseState:
        return self._predictor.init(energy, x, rng)

    def step(self, energy: Energy, state: ReverseState, rng: Generator) -> tuple[ReverseState, StepInfo]:
        step_back = state.path[state.step]
        state, info = self._predictor.step(energy, state, rng)
        x, t, alpha = state.x, step_back.end, 2 * (self.snr * step_back.noise) ** 2
        for _ in range(self.corrections):
            score = energy.score(x, t)
            x = torch.empty_like(x).normal_(0, sqrt(2 * alpha), generator=rng).add_(score, alpha=alpha).add_(x)
        if self.denoise and step_back is state.path[-1]:
            return state._replace(x=denoise_last_step(energy, x, step_back), level=None), info
        return state._replace(x=x), info
