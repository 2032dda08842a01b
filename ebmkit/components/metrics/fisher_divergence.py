"""The Fisher divergence from a known model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from annotated_types import Ge

from ebmkit.components.metrics.known_model import build_target, check_target, other_score, other_shape
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric, Model, Schedule, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question
from ebmkit.maths.process import signal_and_noise, some_levels

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.contracts.view import View

#: Number of levels evaluated if the spec gives none.
LEVELS = 5


@component("fisher_divergence")
class FisherDivergence(Metric):
    """Fisher divergence from a known model: expected squared error of the model's score on held-out data.

        fisher_divergence = 1/2 E_q |s(x) - d log q(x)/dx|^2
        fisher_relative   = E_q |s(x) - d log q(x)/dx|^2 / E_q |d log q(x)/dx|^2

    over held-out data, which must be drawn from the target q. A relative error of zero is perfect; a score that is zero
    everywhere has a relative error of one.

    A noise-conditional model has a score for each level, and q is then the target under that noise: its score is known
    exactly, as -1/signal dE/dx of the target convolved with N(0, sigma^2 I) at x / signal, sigma = noise / signal. New
    noise is added to the held-out data. `fisher_divergence` is the one at the lowest noise, `fisher_relative` the
    largest of several levels, evenly over the schedule (over its list of levels, or over its times). At low noise it is
    large for most networks, because their errors are divided by sigma.

    Results:
        fisher_divergence: half the expected squared error of the score on held-out data, at the lowest noise.
        fisher_relative: squared error relative to that of a zero score; the largest of several noise levels.
        fisher_relative_k: the same at the k-th of these levels.

    Parameters:
        target: the distribution of the data: a model with known noised marginals whose parameters fix the shape of a
            state.
        levels: number of levels at which a conditioned model is evaluated. All are then reported, from
            `fisher_relative_1` at the highest noise to the lowest. null evaluates five and reports the largest.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Hyvarinen, "Estimation of non-normalized statistical models by score matching", JMLR 6, 2005; Song et
    al., arXiv:2011.13456, section 3.3 (one at each level).

    Example: evaluate: [{use: fisher_divergence, target: {use: gaussian_mixture, means: [[-2, 0], [2, 0]]}}]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})
    needs: ClassVar[frozenset[str]] = frozenset({"data"})

    target: Model
    levels: Annotated[int, Ge(1)] | None = None

    def __post_init__(self) -> None:
        check_target(self.target, "energy", "gradient", "noised")

    def refusal(self, question: Question) -> str | None:
        event, model = question.event, question.model
        if self.levels is not None and model.schedule is None:
            return "has 'levels', but the model is not conditioned on noise"
        sigmas = model.schedule if model.schedule and model.schedule.conditioning == "sigma" else None
        if sigmas and (self.levels or 1) > sigmas.count:
            return f"evaluates {self.levels} levels, but the model has {sigmas.count}"
        return other_score(question) or other_shape(self.target, event)

    def results(self) -> tuple[str, ...]:
        each = [f"fisher_relative_{k + 1}" for k in range(self.levels or 0)]
        return ("fisher_divergence", "fisher_relative", *each)

    def measure(self, view: View) -> dict[str, float]:
        test = view.data("test")
        if test is None:
            raise ValueError("a Fisher divergence needs a spec with data")
        x = test.to(view.device, view.dtype)
        target: Any = build_target(self.target, x)
        if view.schedule is None:
            found = [_compare(view.score(x), _score(target, x))]
        else:
            found = [self._at(view, target, x, level) for level in self._levels(view.schedule)]
        relative = [off / length for off, length in found]
        each = relative if self.levels is not None else []
        return {
            "fisher_divergence": found[-1][0] / 2,
            "fisher_relative": max(relative),
            **{f"fisher_relative_{k + 1}": value for k, value in enumerate(each)},
        }

    def _levels(self, schedule: Schedule) -> list[float]:
        """From the highest noise to the lowest; a single one is the lowest."""
        if schedule.conditioning == "sigma":
            return some_levels(schedule, self.levels or min(LEVELS, schedule.count))
        count = self.levels or LEVELS
        shares = [k / (count - 1) for k in range(count)] if count > 1 else [1.0]
        return [(1 - share) * schedule.horizon + share * schedule.earliest for share in shares]

    def _at(self, view: View, target: Any, x: Tensor, level: float) -> tuple[float, float]:
        assert view.schedule is not None
        signal, noise = signal_and_noise(view.schedule, level)
        noised = torch.empty_like(x).normal_(0, noise, generator=view.rng).add_(x, alpha=signal)
        exact = _score(target.noised(noise / signal), noised / signal) / signal
        return _compare(view.score(noised, level), exact)


def _score(module: Any, x: Tensor) -> Tensor:
    from ebmkit.chains.energy import frozen

    with frozen(module) as energy:
        return -energy.value_and_grad(x)[1]


def _compare(score: Tensor, exact: Tensor) -> tuple[float, float]:
    """`E|s - s_q|^2` and `E|s_q|^2`."""
    off, length = (x.flatten(1).cpu().double().square().sum(1).mean() for x in (score - exact, exact))
    return float(off), float(length)
