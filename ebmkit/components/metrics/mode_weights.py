"""Weights of modes among samples."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar, cast

from annotated_types import Ge, Gt, MinLen

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import MetricTraits
from ebmkit.maths.precision import precise

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.contracts.abilities import Modes
    from ebmkit.contracts.view import View


@component("mode_weights")
class ModeWeights(Metric):
    """Mode weights: the share of samples nearest to each of several points, for well-separated modes.

        mode_weight_k = P(|x - m_k| <= |x - m_j| for all j),    mode_error = max_k |mode_weight_k - weight_k|

    Without `modes` the points and weights are those that the model offers, and only `mode_error` is reported. If modes
    overlap, the shares of a perfect sampler differ from the weights by the overlap.

    Results:
        mode_weight_k: share of the samples that are nearest to mode k.
        mode_outside: share of the samples that are far from every mode.
        mode_error: largest difference between a share and the exact weight.

    Parameters:
        modes: one list of coordinates per mode (an image row by row).
        weights: the expected shares, in any unit (they are divided by their sum).
        radius: samples further than this from every mode belong to none, and their share is `mode_outside`.
        samples: model samples.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Song and Ermon, "Generative modeling by estimating gradients of the data distribution",
    arXiv:1907.05600, section 3.2.2 (Langevin dynamics does not recover the weights of distant modes).

    Example: evaluate: [{use: mode_weights, modes: [[-5.0, -5.0], [5.0, 5.0]], weights: [1.0, 4.0]}]
    """

    needs: ClassVar[frozenset[str]] = frozenset({"samples"})

    modes: Annotated[tuple[Annotated[tuple[float, ...], MinLen(1)], ...], MinLen(1)] | None = None
    weights: Annotated[tuple[Annotated[float, Gt(0)], ...], MinLen(1)] | None = None
    radius: Annotated[float, Gt(0)] | None = None
    samples: Annotated[int, Ge(1)] = 10_000

    def __post_init__(self) -> None:
        modes = self.modes or ()
        for k, mode in enumerate(modes):
            if len(mode) != len(modes[0]):
                raise ValueError(f"modes[{k}] has {len(mode)} coordinates, but modes[0] has {len(modes[0])}")
        if self.weights is not None and len(self.weights) != len(modes):
            raise ValueError(f"{len(self.weights)} weights for {len(modes)} modes: give one per mode")

    def traits(self) -> MetricTraits:
        return super().traits()._replace(samples=self.samples)

    def refusal(self, question: Question) -> str | None:
        event, offers = question.event, question.model.traits().offers
        if self.modes is None:
            return None if "modes" in offers else "needs 'modes', because the model does not offer its own"
        if len(self.modes[0]) != prod(event):
            return f"has modes of {len(self.modes[0])} coordinates, but a state has {prod(event)}"
        return None

    def results(self) -> tuple[str, ...]:
        shares = [f"mode_weight_{k}" for k in range(len(self.modes or ()))]
        outside = ["mode_outside"] if self.radius is not None else []
        error = ["mode_error"] if self.modes is None or self.weights is not None else []
        return (*shares, *outside, *error)

    def measure(self, view: View) -> dict[str, float]:
        x = precise(view.samples(self.samples).flatten(1))
        modes, weights = self._wanted(view, x)
        # By differences: the matrix product that cdist uses by default loses digits between points far from zero.
        distance, nearest = torch.cdist(x, modes, compute_mode="donot_use_mm_for_euclid_dist").min(1)
        outside = distance > (torch.inf if self.radius is None else self.radius)
        mine = (nearest.unsqueeze(1) == torch.arange(len(modes), device=x.device)) & ~outside.unsqueeze(1)
        shares = mine.cpu().double().mean(0)
        found = {f"mode_weight_{k}": float(share) for k, share in enumerate(shares) if self.modes is not None}
        if self.radius is not None:
            found["mode_outside"] = float(outside.cpu().double().mean())
        if weights is not None:
            found["mode_error"] = float((shares - weights / weights.sum()).abs().max())
        return found

    def _wanted(self, view: View, x: Tensor) -> tuple[Tensor, Tensor | None]:
        """The modes `(K, d)`, with the device and dtype of x, and on the host their expected weights."""
        if self.modes is None:
            modes, weights = cast("Modes", view.module).modes()
            return modes.to(x), weights.cpu().double()
        given = None if self.weights is None else torch.tensor(self.weights, device="cpu", dtype=torch.float64)
        return x.new_tensor(self.modes), given
