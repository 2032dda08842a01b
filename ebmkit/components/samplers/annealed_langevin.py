"""Annealed Langevin dynamics."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

from annotated_types import Ge, Gt

from ebmkit.components.schedules.geometric import Geometric
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Sampler, Schedule, StepInfo
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.states import Conditioning
from ebmkit.contracts.traits import SamplerTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.contracts.energy import Energy


class AnnealedLangevinState(NamedTuple):
    """Positions of the chains, their noise level, the number of steps done, and all levels."""

    x: Tensor
    level: float | None
    step: int
    levels: tuple[float, ...]


@component("annealed_langevin")
class AnnealedLangevin(Sampler):
    """Annealed Langevin dynamics on noised data, along noise levels from large to small.

        x' = x + alpha_i s(x, sigma_i) + sqrt(2 alpha_i) xi,    alpha_i = step_size sigma_i^2 / sigma_L^2
        between levels, with `predict`,    x' = x + (sigma_i^2 - sigma_{i+1}^2) s(x, sigma_i)
                                                + (sigma_i^2 - sigma_{i+1}^2)^{1/2} xi
        and at the end, with `denoise`,    x' = x + sigma_L^2 s(x, sigma_L)

    Large noise connects modes that are far apart; small noise then resolves each of them. Chains start from noise of
    sigma_1 around the mean of the data, and `init` is not used. For `x + alpha_i / 2 s + sqrt(alpha_i) z` with
    alpha_i = eps sigma_i^2 / sigma_L^2 (Amini, Zhang, algorithm 1 of Song and Ermon) take step_size = eps / 2. The code
    that Song and Ermon published does not have these halves: its 2e-5 is our step_size, sigma_L^2 / 5.

    Parameters:
        schedule: the noise levels, the same as the model's.
        steps_per_level: number of steps at each level. With few steps samples are too wide, because chains move little
            once the noise is below the scale of the data; `predict` corrects this.
        step_size: the step at the last level; null means sigma_L^2 / 10, half of that in the published code (2e-5 at
            sigma_L = 0.01).
        predict: go from a level to the next by a step of the reverse diffusion, which also moves chains where the noise
            is smaller than the data; it is part of the default sampler of a network of scores.
        denoise: end with the mean of the clean state given the noisy one.

    Reference: Song and Ermon, "Generative modeling by estimating gradients of the data distribution", arXiv:1907.05600,
    algorithm 1; Song et al., "Score-based generative modeling through stochastic differential equations",
    arXiv:2011.13456, algorithm 2 (`predict`); Jolicoeur-Martineau et al., "Adversarial score matching and improved
    sampling for image generation", arXiv:2009.05475 (the last step).

    Example: sampler: {use: annealed_langevin, schedule: {use: geometric, sigma_max: 5.0}, steps_per_level: 100}
    """

    needs: ClassVar[frozenset[str]] = frozenset({"score"})
    conditioning: ClassVar[Conditioning] = "sigma"
    traces: ClassVar[frozenset[str]] = frozenset({"gradient_norm"})
    from_noise: ClassVar[bool] = True

    schedule: Schedule = Geometric()
    steps_per_level: Annotated[int, Ge(1)] = 100
    step_size: Annotated[float, Gt(0)] | None = None
    predict: bool = False
    denoise: bool = True

    def traits(self) -> SamplerTraits:
        return super().traits()._replace(schedule=self.schedule)

    @property
    def steps(self) -> int:  # type: ignore[override]  # a parameter of most samplers
        return self.schedule.count * self._per_level - self.predict + self.denoise

    @property
    def _per_level(self) -> int:
        """Steps at a level and from it to the next. There is none after the last one."""
        return self.steps_per_level + self.predict

    def init(self, energy: Energy, x: Tensor, rng: Generator) -> AnnealedLangevinState:
        levels = tuple(energy.schedule.levels().tolist())
        return AnnealedLangevinState(energy.noise(x, rng), levels[0], 0, levels)

    def step(
        self, energy: Energy, state: AnnealedLangevinState, rng: Generator
    ) -> tuple[AnnealedLangevinState, StepInfo]:
        x, step, levels = state.x, state.step, state.levels
        at, made = divmod(step, self._per_level)
        sigma = levels[min(at, len(levels) - 1)]
        score = energy.score(x, sigma)
        if step == len(levels) * self._per_level - self.predict:
            return state._replace(x=x.add(score, alpha=sigma**2), level=None, step=step + 1), StepInfo(gradient=-score)
        if made == self.steps_per_level:
            level = levels[at + 1]
            drift = sigma**2 - level**2
            spread = sqrt(drift)
        else:
            last, level = levels[-1] ** 2, sigma
            drift = (last / 10 if self.step_size is None else self.step_size) * sigma**2 / last
            spread = sqrt(2 * drift)
        xi = torch.empty_like(x).normal_(0, spread, generator=rng)
        x = xi.add_(score, alpha=drift).add_(x)
        return state._replace(x=x, level=level, step=step + 1), StepInfo(gradient=-score)
