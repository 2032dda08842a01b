"""Inpainting of half-known states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from annotated_types import Ge

from ebmkit.components.metrics.neighbours import BLOCK, neighbours
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Metric, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.contracts.view import View

#: The known half of a state.
Half = Literal["left", "right", "top", "bottom"]


@component("inpainting")
class Inpainting(Metric):
    """Inpainting error: mean squared error of the missing half of held-out points, drawn given the other half.

        inpainting_error = E |y - x|^2 / m,    y = mean over `draws` of the m missing coordinates, given the known ones

    After every step the known half is set again, with as much noise as the rest. A draw of the correct distribution is
    not the best estimate: its error is twice that of the conditional mean, and with k draws 1 + 1/k times. Two
    estimates without a model are reported for comparison: `inpainting_error_mean`, the mean of the training data, and
    `inpainting_error_nearest`, the other half of the training point whose known half is nearest.

    The noise of the known half is independent of the missing half, which therefore depends too weakly on it, even if
    the score is exact. For two coordinates with a correlation of 0.8, a drawn one follows the known one with a slope of
    0.5 under `reverse_sde`, however small its steps. Langevin steps correct this: under `annealed_langevin` with 500
    per level the slope is 0.79.

    Results:
        inpainting_error: mean squared error per missing coordinate of the drawn half.
        inpainting_error_mean: the same if the mean of the training data is filled in.
        inpainting_error_nearest: the same with the other half of the nearest training point.

    Parameters:
        keep: the known half of an image, without the column or row in the middle; of flat states `left` is the first
            half of the coordinates, `right` the second.
        points: number of held-out points; all of them if there are fewer.
        draws: number of draws for each point. A model that takes labels is given those of the points.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Song et al., "Score-based generative modeling through stochastic differential equations",
    arXiv:2011.13456, appendix I.2; Lugmayr et al., "RePaint: inpainting using denoising diffusion probabilistic
    models", arXiv:2201.09865 (the limitation).

    Example: evaluate: [{use: inpainting, keep: top, points: 200, draws: 5}]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})
    needs: ClassVar[frozenset[str]] = frozenset({"samples", "data", "score"})

    keep: Half = "left"
    points: Annotated[int, Ge(1)] = 200
    draws: Annotated[int, Ge(1)] = 1

    def refusal(self, question: Question) -> str | None:
        event = question.event
        if len(event) == 1 and self.keep in ("top", "bottom"):
            return f"keeps the {self.keep} half, but a flat state has only 'left' and 'right'"
        if event[self._axis] < 2:
            return f"keeps the {self.keep} half, but a state has a single coordinate along that axis"
        return None

    def results(self) -> tuple[str, ...]:
        return ("inpainting_error", "inpainting_error_mean", "inpainting_error_nearest")

    def measure(self, view: View) -> dict[str, float]:
        test, train = view.data("test"), view.data("train")
        if test is None or train is None:
            raise ValueError("inpainting needs a spec with data")
        order = torch.randperm(len(test), generator=view.rng, device=view.device)[: self.points]
        labels = view.labels("test") if view.spec.model.traits().labelled else None
        if labels is not None:
            labels = labels[order.to(labels.device)]
        x = test[order.to(test.device)].to(view.device)
        mask = self.mask(view.event).to(x.device)
        drawn = [view.inpainted(x, mask, view.rng, labels).cpu().double() for _ in range(self.draws)]
        nearest = neighbours(x, train, mask).nearest
        guesses = {
            "inpainting_error": torch.stack(drawn).mean(0),
            "inpainting_error_mean": _mean(train).to(x.device),
            "inpainting_error_nearest": train[nearest.to(train.device)].to(x.device),
        }
        return {
            name: float((guess.cpu() - x.cpu())[:, ~mask.cpu()].double().square().mean())
            for name, guess in guesses.items()
        }

    def mask(self, event: Event) -> Tensor:
        """A mask of the shape of a state, on the CPU, true where it is known."""
        size = event[self._axis]
        at = torch.arange(size, device="cpu")
        known = at < size // 2 if self.keep in ("left", "top") else at >= size - size // 2
        shape = [size if axis == len(event) + self._axis else 1 for axis in range(len(event))]
        return known.view(shape).expand(event)

    @property
    def _axis(self) -> int:
        return -1 if self.keep in ("left", "right") else -2


def _mean(x: Tensor) -> Tensor:
    """The mean of each coordinate, block by block: data may be in a file larger than memory."""
    blocks = torch.split(x, max(1, BLOCK // max(1, x[0].numel())))
    return torch.stack([block.cpu().double().sum(0) for block in blocks]).sum(0) / len(x)
