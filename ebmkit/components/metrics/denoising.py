"""Denoising with the model's score."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Gt

from ebmkit.components.metrics.enough import too_few
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question
from ebmkit.maths.process import level_and_signal

if TYPE_CHECKING:
    from ebmkit.contracts.view import View


@component("denoising")
class Denoising(Metric):
    """Denoising error: distance of clean held-out data from Tweedie's estimate with the model's score.

        y = x + sigma xi,    D(y) = y + sigma^2 s(y),    s = -dE/dx
        denoising_error = E |D(y) - x|^2 / d,    noise_error = E |y - x|^2 / d
        denoising_psnr  = 10 log10(range^2 / denoising_error)

    The range is from the smallest to the largest coordinate of the held-out data. If s is the score of the noisy data,
    as learned by `denoising_score_matching` with the same sigma, D(y) is the mean of x given y, which is the optimal
    estimate. A noise-conditional model is evaluated at the level or time at which noise / signal is sigma, which must
    be one of those that it was trained for, or lie between them; for a process in time

        D(y) = y + sigma^2 signal s(signal y, t)

    A model that takes labels is given those of the points.

    Results:
        denoising_error: mean squared error per coordinate after denoising.
        noise_error: the same before denoising.
        denoising_psnr: peak signal-to-noise ratio after denoising, in decibels.

    Parameters:
        sigma: standard deviation of the added noise.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Efron, "Tweedie's formula and selection bias", JASA 106, 2011.

    Example: evaluate: [{use: denoising, sigma: 0.3}]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})
    needs: ClassVar[frozenset[str]] = frozenset({"data"})

    sigma: Annotated[float, Gt(0)] = 0.1

    def refusal(self, question: Question) -> str | None:
        if not question.model.traits().offers & {"gradient", "score"}:
            return "needs a model with a gradient or a score"
        if prod(question.event) == 1 and (reason := too_few(question, test=2)):
            return f"{reason}, so that they have no range to compare errors with"
        return None

    def results(self) -> tuple[str, ...]:
        return ("denoising_error", "noise_error", "denoising_psnr")

    def measure(self, view: View) -> dict[str, float]:
        view = view.scaled  # sigma is a noise level of the space in which the network works
        x = view.data("test")
        if x is None:
            raise ValueError("denoising needs a spec with data")
        x = x.to(view.device)
        noisy = x.add(torch.empty_like(x).normal_(generator=view.rng), alpha=self.sigma)
        labels = view.labels("test") if view.schedule and view.spec.model.traits().labelled else None
        level, signal = level_and_signal(view.schedule, self.sigma)
        denoised = noisy + self.sigma**2 * (signal * view.score(signal * noisy, level, labels))
        error, noise = ((y - x).square().mean(dtype=torch.float64) for y in (denoised, noisy))
        psnr = 10 * torch.log10((x.max() - x.min()).square() / error)
        return {"denoising_error": float(error), "noise_error": float(noise), "denoising_psnr": float(psnr)}
