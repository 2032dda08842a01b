"""The probability flow ODE of a diffusion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from annotated_types import Ge, Gt

from ebmkit.components.samplers.reverse_sde import ReverseSDE, ReverseState, denoise_last_step
from ebmkit.components.samplers.reverse_time import TRIES, Spacing
from ebmkit.components.schedules.vp import VP
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Sampler, Schedule, StepInfo
from ebmkit.contracts.states import Conditioning
from ebmkit.contracts.traits import SamplerTraits
from ebmkit.maths.process import rates, rates_at

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.chains.ode import Field
    from ebmkit.components.models.nets.conditional import Level
    from ebmkit.contracts.energy import Energy


@component("probability_flow_ode")
class ProbabilityFlowODE(Sampler):
    """Probability flow ODE: deterministic sampling of a diffusion, with its distribution at every time.

        dx/dt = f x - 1/2 g^2 s(x, t),    from N(0, I) or N(0, sigma_max^2 I) at time T
        and at the end, with `denoise`,    x' = (x + noise^2 s) / signal

    The end of a chain is a function of its start. Chains start from the noise of the last time, and `init` is not used.

    Parameters:
        schedule: the process in time, the same as the model's.
        steps: number of steps from the last time to the earliest; with a tolerance, number of intervals of the solver.
        method: Runge-Kutta method of a step: order 2 with two scores per step, or order 4 with four.
        tolerance: divide each step into as many Dormand-Prince steps as keep the error of a chain, relative to 1 + |x|,
            below this; `method` is not used then, and the host synchronises once for each of them.
        spacing: steps of equal size in the logarithm of noise / signal, or in `time`.
        denoise: end with the mean of the clean state given the noisy one.

    Reference: Song et al., "Score-based generative modeling through stochastic differential equations",
    arXiv:2011.13456, section 4.3; Dormand and Prince, "A family of embedded Runge-Kutta formulae", 1980.

    Example: sampler: {use: probability_flow_ode, schedule: vp, steps: 50, method: heun}
    """

    needs: ClassVar[frozenset[str]] = frozenset({"score"})
    conditioning: ClassVar[Conditioning] = "time"
    traces: ClassVar[frozenset[str]] = frozenset({"gradient_norm"})
    from_noise: ClassVar[bool] = True

    schedule: Schedule = VP()
    steps: Annotated[int, Ge(1)] = 50
    method: Literal["heun", "rk4"] = "heun"
    tolerance: Annotated[float, Gt(0)] | None = None
    spacing: Spacing = "log_snr"
    denoise: bool = True

    def traits(self) -> SamplerTraits:
        stages, tries = (2 if self.method == "heun" else 4, 0) if self.tolerance is None else (7 * TRIES, TRIES)
        return super().traits()._replace(schedule=self.schedule, host_syncs=tries, evaluations=stages)

    def init(self, energy: Energy, x: Tensor, rng: Generator) -> ReverseState:
        return ReverseSDE(steps=self.steps, spacing=self.spacing).init(energy, x, rng)

    def step(self, energy: Energy, state: ReverseState, rng: Generator) -> tuple[ReverseState, StepInfo]:
        from ebmkit.chains.ode import HEUN, RK4, runge_kutta, solve_ode

        step_back, y = state.path[state.step], state.x.flatten(1)
        seen: list[Tensor] = []
        field = flow(energy, state.x, seen)
        if self.tolerance is None:
            y, _ = runge_kutta(
                field, HEUN if self.method == "heun" else RK4, step_back.start, y, step_back.end - step_back.start
            )
        else:
            y = solve_ode(field, y, step_back.start, step_back.end, self.tolerance, TRIES)
        x: Tensor = y.view_as(state.x)
        level: float | None = step_back.end
        if self.denoise and step_back is state.path[-1]:
            x, level = denoise_last_step(energy, x, step_back), None
        return state._replace(x=x, level=level, step=state.step + 1), StepInfo(gradient=seen[0])


def flow(energy: Energy, like: Tensor, seen: list[Tensor]) -> Field:
    """`f x - 1/2 g^2 s` on flattened states; minus the first score is stored in `seen`, as a gradient."""

    def field(t: Level, y: Tensor) -> Tensor:
        score = energy.score(y.view_as(like), t)
        if not seen:
            seen.append(-score)
        if not isinstance(t, float):
            drift, diffusion = rates(energy.schedule, t)
            return drift.unsqueeze(1) * y - diffusion.unsqueeze(1) / 2 * score.flatten(1)
        f, g2 = rates_at(energy.schedule, t)
        return score.flatten(1).mul(-g2 / 2).add_(y, alpha=f)

    return field
