"""The discretisation error of a reverse diffusion."""

from __future__ import annotations

import copy
import dataclasses
from math import ceil, inf, log, pi, prod, sqrt
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from ebmkit.components.metrics.ode_log_likelihood import score_and_divergence
from ebmkit.components.models.noised_mixture import NoisedMixtureModel
from ebmkit.components.samplers.reverse_sde import ReverseSDE
from ebmkit.components.samplers.reverse_time import reverse_steps
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question
from ebmkit.contracts.unmeasurable import Unmeasurable

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.components.models.nets.noised_mixture import NoisedMixture
    from ebmkit.contracts.view import View

#: Standard deviations by which a grid extends beyond the outermost mean: less than 1e-18 is outside.
REACH = 9.0
#: The same, beyond which the density underflows in float64.
UNDERFLOW = 39.0
#: Grid points per standard deviation to sum a Gaussian with an error of 1e-13.
DENSE = 1.25
#: The same for comparing densities, whose absolute difference has kinks.
FINE = 50.0
#: Mass below which a point does not widen the next grid.
NEGLIGIBLE = 1e-18
#: Largest accepted loss of mass.
LOST = 1e-8
#: Numbers in memory at once, and at most.
BLOCK, MOST = 1 << 21, 1 << 31


class Law(NamedTuple):
    """A density on an evenly spaced grid, both `(M,)`."""

    x: Tensor
    p: Tensor

    @property
    def spacing(self) -> float:
        return float(self.x[1] - self.x[0])


class Step(NamedTuple):
    """A step of a chain: `x' = stretch x + kick s(x, start) + spread xi`."""

    start: float
    stretch: float
    kick: float
    spread: float


@component("sampling_error")
class SamplingError(Metric):
    """Sampling error of `reverse_sde`: exact distance of its chains from their target, in one dimension.

        sampling_tv = 1/2 integral |p - q|,    sampling_kl = KL(q || p)

    q is the distribution of the data under the noise of the earliest time, and p that of the chains there, before
    `denoise`. No chain is run: with the exact score of `noised_mixture` a step is a Gaussian around stretch x + kick
    s(x), and the density of the states is propagated from grid to grid in float64. A loss of mass above 1e-8 is an
    error.

    The error has two sources: chains start from a Gaussian although the data have not quite become one, and steps have
    finite length. Each is measured separately, `sampling_tv_start` = TV(q_T, prior) and `sampling_tv_step` = TV with
    chains that start from q_T, and `sampling_tv` is at most their sum. In theory, for the Ornstein-Uhlenbeck process
    and steps of length h,

        TV <~ sqrt(KL(data || N(0, I))) e^-T + (L sqrt(d h) + L m_2 h) sqrt(T)

    `sampling_slope_horizon` is the slope of log TV(q_T, prior) against T, at T, 1.5 T and 2 T: -1 for this process
    (`vp` with both betas 2), -2 for data with zero mean, and zero if the horizon is a matter of units, as in `ve` and
    `cosine`. `sampling_slope_step` is the slope of log `sampling_tv_step` against log h, with one, two and four times
    the number of steps of the sampler: at least 1/2, and about 1 if steps are short enough. To measure the other
    integrator, run the spec with it.

    Results:
        sampling_tv: total variation between the chains and their target.
        sampling_kl: the same as a Kullback-Leibler divergence.
        sampling_tv_start: part of it that comes from the finite horizon.
        sampling_tv_step: part of it that comes from the finite steps.
        sampling_slope_step: slope of the logarithm of sampling_tv_step against that of the step size.
        sampling_slope_horizon: slope of the logarithm of sampling_tv_start against the horizon.

    Parameters:
        every: interval in training steps; by default it is measured only at the end.

    Reference: Chen et al., "Sampling is as easy as learning the score", arXiv:2209.11215, theorem 2.

    Example: evaluate: [sampling_error]
    """

    def refusal(self, question: Question) -> str | None:
        event, model, sampler = question.event, question.model, question.sampler
        if not isinstance(sampler, ReverseSDE):
            found = "there is no 'sampler:'" if sampler is None else f"the spec uses sampler '{sampler.component_name}'"
            return f"computes the chains of sampler 'reverse_sde', but {found}"
        if not isinstance(model, NoisedMixtureModel):
            return "needs the exact score of model 'noised_mixture'"
        if prod(event) > 1:
            return f"propagates a density of one coordinate, but a state has {prod(event)}"
        if "horizon" not in {field.name for field in dataclasses.fields(type(model.schedule))}:  # type: ignore[arg-type]
            return "varies the horizon, but that of the schedule is not a parameter"
        return None

    def results(self) -> tuple[str, ...]:
        sizes = ("sampling_tv", "sampling_kl", "sampling_tv_start", "sampling_tv_step")
        return (*sizes, "sampling_slope_step", "sampling_slope_horizon")

    def measure(self, view: View) -> dict[str, float]:
        sampler = view.spec.chain_sampler
        assert isinstance(sampler, ReverseSDE)  # refused otherwise
        # On the CPU, because some devices lack float64.
        module = cast("NoisedMixture", copy.deepcopy(view.module).to("cpu", torch.float64))
        with torch.no_grad():  # the weights, built in float32, sum to one only up to 1e-8
            module.log_weights -= module.log_weights.logsumexp(0)
        counts, horizons = [sampler.steps * k for k in (1, 2, 4)], [module.schedule.horizon * k for k in (1, 1.5, 2)]
        whole = final_law(module, sampler, sampler.steps, "prior")
        exact = Law(whole.x, density(module, whole.x, module.schedule.earliest))
        by_steps = [_step_error(module, sampler, steps) for steps in counts]
        by_horizons = [_start_error(module, horizon) for horizon in horizons]
        return {
            "sampling_tv": total_variation(whole, exact),
            "sampling_kl": _finite_kl(exact, whole),
            "sampling_tv_start": by_horizons[0],
            "sampling_tv_step": by_steps[0],
            "sampling_slope_step": -slope([log(steps) for steps in counts], by_steps),
            "sampling_slope_horizon": slope(horizons, by_horizons),
        }


def _finite_kl(exact: Law, sampled: Law) -> float:
    """The divergence, if the sampled law has mass wherever the exact one has."""
    found = kl_divergence(exact, sampled)
    if found == inf:
        raise Unmeasurable(
            "samples never reach a part of the distribution, so that their KL divergence is infinite: use more steps, "
            "or a longer horizon of the schedule"
        )
    return found


def _step_error(module: NoisedMixture, sampler: ReverseSDE, steps: int) -> float:
    """The total variation caused by the steps if the start is exact."""
    law = final_law(module, sampler, steps, "exact")
    return total_variation(law, Law(law.x, density(module, law.x, module.schedule.earliest)))


def _start_error(module: NoisedMixture, horizon: float) -> float:
    """The total variation between the distribution at a horizon and the Gaussian that chains start from."""
    later = copy.copy(module)
    later.schedule = dataclasses.replace(module.schedule, horizon=horizon)  # type: ignore[type-var]
    x = _grid(*_union(span(later, horizon), _prior_span(later)), min(_scale(later, horizon), _std(later)) / FINE)
    return total_variation(Law(x, density(later, x, horizon)), Law(x, _normal(x, _std(later))))


def steps_of(module: NoisedMixture, sampler: ReverseSDE, count: int) -> list[Step]:
    """The steps of a chain of this many steps, as made by the sampler."""
    return [
        Step(step_back.start, *sampler.move(step_back))
        for step_back in reverse_steps(module.schedule, count, sampler.spacing)
    ]


def final_law(module: NoisedMixture, sampler: ReverseSDE, count: int, begin: Literal["prior", "exact"]) -> Law:
    """The distribution of chains after the last step, on a grid that also covers the distribution of the data."""
    steps, schedule = steps_of(module, sampler, count), module.schedule
    first, last = schedule.horizon, schedule.earliest
    around = _prior_span(module) if begin == "prior" else span(module, first)
    scale = _std(module) if begin == "prior" else _scale(module, first)
    x = _grid(*around, _resolved(module, steps[0], around, scale / 4))
    law = Law(x, _normal(x, _std(module)) if begin == "prior" else density(module, x, first))
    for k, step in enumerate(steps):
        to, _ = _moved(module, step, law.x)
        mass = law.p * law.spacing
        reached = to[mass > NEGLIGIBLE]
        around = float(reached.min()) - REACH * step.spread, float(reached.max()) + REACH * step.spread
        if step is steps[-1]:
            x = _grid(*_union(around, span(module, last)), min(step.spread / DENSE, _scale(module, last) / FINE))
            reach = UNDERFLOW  # logarithms are compared, so the grid extends to where densities underflow
        else:
            x = _grid(*around, _resolved(module, steps[k + 1], around, step.spread / DENSE))
            reach = REACH
        law = Law(x, _spread_out(to, mass, step.spread, x, reach))
    lost = abs(1 - float(law.p.sum()) * law.spacing)
    if not lost <= LOST:
        raise Unmeasurable(f"a share of {lost:.2g} of the mass was lost in {count} steps")
    return law


def _moved(module: NoisedMixture, step: Step, x: Tensor) -> tuple[Tensor, Tensor]:
    """The end point of a step without its noise, and its derivative."""
    t = x.new_full((), step.start)
    score, divergence = score_and_divergence(module, x.view(-1, *module.event), t, None, None)
    return step.stretch * x + step.kick * score.view(-1), step.stretch + step.kick * divergence


def _resolved(module: NoisedMixture, step: Step, around: tuple[float, float], at_most: float) -> float:
    """A grid spacing that resolves the kernel of a step as a function of its starting point."""
    probe = _grid(*around, _scale(module, step.start) / 10)
    stretch = float(_moved(module, step, probe)[1].abs().max())
    return min(at_most, step.spread / (DENSE * max(1.0, stretch)))


def _spread_out(to: Tensor, mass: Tensor, spread: float, x: Tensor, reach: float) -> Tensor:
    """The density of `to + spread xi` on a grid, from masses; each extends `reach` standard deviations."""
    low, h = float(x[0]), float(x[1] - x[0])
    width = 2 * min(ceil(reach * spread / h), len(x)) + 1
    if len(to) * width > MOST:
        raise Unmeasurable(f"a step with noise {spread:.2g} on {len(to)} grid points needs too much memory")
    offsets = torch.arange(width, device="cpu") - width // 2
    p = torch.zeros_like(x)
    for some in torch.split(torch.arange(len(to), device="cpu"), max(1, BLOCK // width)):
        middle = ((to[some] - low) / h).round().long()
        at = middle.unsqueeze(1) + offsets
        inside = (at >= 0) & (at < len(x))
        at = at.clamp(0, len(x) - 1)
        weight = mass[some].unsqueeze(1) * _normal(x[at] - to[some].unsqueeze(1), spread)
        p.index_add_(0, at.flatten(), torch.where(inside, weight, 0.0).flatten())
    return p


def total_variation(one: Law, other: Law) -> float:
    """Half the integral of the absolute difference of two densities on the same grid."""
    return float((one.p - other.p).abs().sum()) * one.spacing / 2


def kl_divergence(of: Law, to: Law) -> float:
    """`KL(of || to)` on the same grid."""
    terms = torch.where(of.p > 0, of.p * (of.p.log() - to.p.log()), 0.0)
    return float(terms.sum()) * of.spacing


def slope(x: list[float], values: list[float]) -> float:
    """The slope of the logarithms of values against x, by least squares."""
    if not min(values) > 0:
        raise Unmeasurable("the error is zero, so that its slope cannot be measured")
    y, middle = [log(value) for value in values], sum(x) / len(x)
    return sum((a - middle) * b for a, b in zip(x, y, strict=True)) / sum((a - middle) ** 2 for a in x)


def density(module: NoisedMixture, x: Tensor, t: float) -> Tensor:
    """The density of the data at a time."""
    with torch.no_grad():
        p: Tensor = (-module(x.view(-1, *module.event), x.new_full((), t))).exp() / sqrt(2 * pi)
    return p


def span(module: NoisedMixture, t: float) -> tuple[float, float]:
    """The interval that contains it."""
    means, stds = _components(module, t)
    return float((means - REACH * stds).min()), float((means + REACH * stds).max())


def _scale(module: NoisedMixture, t: float) -> float:
    return float(_components(module, t)[1].min())


def _components(module: NoisedMixture, t: float) -> tuple[Tensor, Tensor]:
    """Means and standard deviations at a time."""
    signal, noise = module.schedule.at(module.means.new_full((), t))
    return signal * module.means.view(-1), (signal.square() * module.variances.view(-1) + noise.square()).sqrt()


def _std(module: NoisedMixture) -> float:
    return module.schedule.prior_std()


def _prior_span(module: NoisedMixture) -> tuple[float, float]:
    return -REACH * _std(module), REACH * _std(module)


def _union(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return min(one[0], other[0]), max(one[1], other[1])


def _grid(low: float, high: float, spacing: float) -> Tensor:
    return torch.linspace(low, high, ceil((high - low) / spacing) + 1, device="cpu", dtype=torch.float64)


def _normal(x: Tensor, std: float) -> Tensor:
    return (-(x / std).square() / 2).exp() / (std * sqrt(2 * pi))
