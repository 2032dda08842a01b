"""The error of the score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, Gt, Lt

from ebmkit.components.metrics.known_model import build_target, check_target, other_score, other_shape
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric, Model, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question
from ebmkit.maths.process import least_noise, signal_and_noise

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.contracts.view import View


@component("score_error")
class ScoreError(Metric):
    """Score error: relative squared error against the score of a known model, at data and where data are rare.

        score_error = E|s(x) - s_target(x)|^2 / E|s_target(x)|^2

    over held-out data, and as `score_error_rare` over points uniform in the bounding box of the held-out data where the
    target density is below its `quantile` over the data. Zero is perfect; a score that is zero everywhere has an error
    of one. For a noise-conditional model, s is the score at the lowest noise; the target has none, so that even a
    perfect model has an error, unlike in `fisher_divergence`.

    Results:
        score_error: squared error of the score on held-out data, relative to the squared true score.
        score_error_rare: the same at points where data are rare.

    Parameters:
        target: the distribution of the data: a model with a gradient whose parameters fix the shape of a state.
        quantile: the share of the data with a density that counts as rare.
        points: number of uniform points in the box, of which the rare ones are used, or the rarest if none is rare.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Song and Ermon, "Generative modeling by estimating gradients of the data distribution", arXiv:1907.05600.

    Example: evaluate: [{use: score_error, target: {use: gaussian_mixture, means: [[-5, -5], [5, 5]], weights: [1, 4]}}]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})
    needs: ClassVar[frozenset[str]] = frozenset({"data"})

    target: Model
    quantile: Annotated[float, Gt(0), Lt(1)] = 0.01
    points: Annotated[int, Ge(1)] = 10_000

    def __post_init__(self) -> None:
        check_target(self.target, "energy", "gradient")

    def refusal(self, question: Question) -> str | None:
        return other_score(question) or other_shape(self.target, question.event)

    def results(self) -> tuple[str, ...]:
        return ("score_error", "score_error_rare")

    def measure(self, view: View) -> dict[str, float]:
        from ebmkit.chains.energy import frozen

        test = view.data("test")
        if test is None:
            raise ValueError("the error of a score needs a spec with data")
        test = test.to(view.device, view.dtype)
        low, high = test.amin(0), test.amax(0)
        u = torch.empty(self.points, *view.event, device=test.device, dtype=test.dtype).uniform_(generator=view.rng)
        box = low + (high - low) * u
        with frozen(build_target(self.target, test)) as target:
            energies, at_data = target.value_and_grad(test)
            in_box, at_box = target.value_and_grad(box)
        # Sorted on the host, because `torch.quantile` has a limit on the number of points.
        limit = float(energies.cpu().sort().values[int((1 - self.quantile) * (len(energies) - 1))])
        rare = in_box > limit
        rare |= ~rare.any() & (in_box == in_box.max())  # at least one point, so that there is a mean
        return {
            "score_error": _relative(_score(view, test), -at_data),
            "score_error_rare": _relative(_score(view, box)[rare], -at_box[rare]),
        }


def _score(view: View, x: Tensor) -> Tensor:
    """The score of the data, or at the lowest noise of the model."""
    if view.schedule is None:
        return view.score(x)
    signal, _ = signal_and_noise(view.schedule, least_noise(view.schedule))
    return signal * view.score(signal * x)


def _relative(score: Tensor, target: Tensor) -> float:
    """`E|s - s_target|^2 / E|s_target|^2`."""
    off, length = ((x.flatten(1).cpu().double()).square().sum(1).mean() for x in (score - target, target))
    return float(off / length)
