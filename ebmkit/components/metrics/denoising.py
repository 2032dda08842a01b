"""How well a model's score denoises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Gt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question
from ebmkit.maths.process import level_and_signal

if TYPE_CHECKING:
    from ebmkit.contracts.view import View


@component("denoising")
class Denoising(Metric):
    """How close Tweedie's formula, with the model's score, brings noisy held-out data to the clean ones.

        y = x + sigma xi,    D(y) = y + sigma^2 s(y),    s = -dE/dx
        denoising_error = E |D(y) - x|^2 / d,    noise_error = E |y - x|^2 / d
        denoising_psnr  = 10 log10(range^2 / denoising_error)

    The range is from the least to the largest coordinate of the held-out data. Where s is the score of the noisy data,
    as `denoising_score_matching` with the same sigma learns it, D(y) is the mean of x given y, which no other estimate
    beats. A model that is conditioned on noise is asked at the level or time at which noise / signal is sigma, which
    has to be one of those that it was trained for, or lie between them; on a process in time

        D(y) = y + sigma^2 signal s(signal y, t)

    A model that takes labels is told those of the points.

    Parameters:
        sigma: standard deviation of the noise that is added.
        every: measure after each so many training steps, not only at the end.

    Reference: Efron, "Tweedie's formula and selection bias", JASA 106, 2011.

    Example: evaluate: [{use: denoising, sigma: 0.3}]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})
    needs: ClassVar[frozenset[str]] = frozenset({"data"})

    sigma: Annotated[float, Gt(0)] = 0.1

    def refusal(self, question: Question) -> str | None:
        return (
            None
            if question.model.traits().offers & {"gradient", "score"}
            else "needs a model with a gradient or a score"
        )

    def results(self) -> tuple[str, ...]:
        return ("denoising_error", "noise_error", "denoising_psnr")

    def measure(self, view: View) -> dict[str, float]:
        x = view.data("test")
        if x is None:
            raise ValueError("there is nothing to denoise in a spec without data")
        x = x.to(view.device)
        noisy = x.add(torch.empty_like(x).normal_(generator=view.rng), alpha=self.sigma)
        labels = view.labels("test") if view.schedule and view.spec.model.traits().labelled else None
        level, signal = level_and_signal(view.schedule, self.sigma)
        denoised = noisy + self.sigma**2 * (signal * view.score(signal * noisy, level, labels))
        error, noise = ((y - x).square().mean(dtype=torch.float64) for y in (denoised, noisy))
        psnr = 10 * torch.log10((x.max() - x.min()).square() / error)
        return {"denoising_error": float(error), "noise_error": float(noise), "denoising_psnr": float(psnr)}
