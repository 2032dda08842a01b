"""Out-of-distribution detection by the energy."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Data, Metric
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.contracts.view import View


@component("ood_auroc")
class OODAUROC(Metric):
    """Out-of-distribution detection: area under the ROC curve of the energy for held-out data against outliers.

        ood_auroc = P(E(x) < E(o)) + P(E(x) = E(o)) / 2,    x of the test data, o an outlier

    1 if every outlier has a higher energy than all data, 1/2 if the energy is uninformative, below if it prefers
    outliers. If outliers are given, `ood_auroc_shuffled` is the area for the test points with every coordinate shuffled
    among them, which have the same marginals but no dependence.

    Results:
        ood_auroc: probability that an outlier has a higher energy than a held-out point; 0.5 is chance.
        ood_auroc_shuffled: the same for held-out points whose coordinates are shuffled among them.

    Parameters:
        outliers: data of the same shape, whose test split is used; null uses the shuffled test points.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Hendrycks and Gimpel, arXiv:1610.02136; with the energy as the score, Grathwohl et al., arXiv:1912.03263,
    section 5.3.

    Example: evaluate: [{use: ood_auroc, outliers: {use: digits, labels: [8, 9]}}]
    """

    needs: ClassVar[frozenset[str]] = frozenset({"data", "energy"})

    outliers: Data | None = None

    def refusal(self, question: Question) -> str | None:
        event, model = question.event, question.model
        if self.outliers is None:
            return None
        name = self.outliers.component_name
        try:
            shape = self.outliers.event()
        except ValueError as error:
            return f"cannot read its outliers, data '{name}': {error}"
        if shape != event:
            return f"needs outliers of the shape of the data, but those of data '{name}' have shape {shape}"
        if self.outliers.traits().space != model.traits().space:
            return f"needs outliers like the data, but those of data '{name}' are {self.outliers.traits().space}"
        return None

    def results(self) -> tuple[str, ...]:
        return ("ood_auroc",) if self.outliers is None else ("ood_auroc", "ood_auroc_shuffled")

    def measure(self, view: View) -> dict[str, float]:
        test = view.data("test")
        if test is None:
            raise ValueError("out-of-distribution detection needs a spec with data")
        test = test.to(view.device)  # large data stay on the host
        energy = view.energy(test)
        order = torch.rand(test.flatten(1).shape, generator=view.rng, device=test.device).argsort(0)
        shuffled = _auroc(energy, view.energy(test.flatten(1).gather(0, order).view_as(test)))
        if self.outliers is None:
            return {"ood_auroc": shuffled}
        outliers = self.outliers.load("test", view.generator("outliers", torch.device("cpu"))).x
        return {"ood_auroc": _auroc(energy, view.energy(outliers)), "ood_auroc_shuffled": shuffled}


def _auroc(energy: Tensor, of_outliers: Tensor) -> float:
    """By ranks: the mean share of outliers above each point, with ties counted by half."""
    energy, of_outliers = energy.cpu().double().contiguous(), of_outliers.cpu().double().sort().values
    if bool(energy.isnan().any() | of_outliers.isnan().any()):
        return float("nan")  # otherwise nan would rank above all numbers
    below, not_above = (torch.searchsorted(of_outliers, energy, right=right) for right in (False, True))
    return 1 - float((below + not_above).double().mean()) / (2 * len(of_outliers))
