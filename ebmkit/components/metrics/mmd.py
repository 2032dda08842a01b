"""The maximum mean discrepancy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, Gt, MinLen

from ebmkit.components.metrics.enough import too_few
from ebmkit.components.metrics.matched import matched
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import MetricTraits
from ebmkit.contracts.unmeasurable import Unmeasurable
from ebmkit.maths.centred import centred, squared_distances

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.contracts.view import View

#: Distances computed at once; 4 million of them are 32 MB.
BLOCK = 1 << 22


@component("mmd")
class MMD(Metric):
    """Maximum mean discrepancy (squared) between samples and held-out data with Gaussian kernels.

        MMD^2 = E k(x, x') - 2 E k(x, y) + E k(y, y'),    k(x, y) = mean_b exp(-|x - y|^2 / (2 (b m)^2))

    where m is the median distance between data points, or the mean distance if more than half of them are equal. The
    estimate is unbiased (no point is paired with itself), so it fluctuates around zero for a perfect model and is often
    negative. `mmd_floor` is that of as many training points.

    Results:
        mmd: squared distance of samples from held-out data; fluctuates around 0 for a perfect model.
        mmd_floor: the same for training points in place of samples, which a good model reaches.

    Parameters:
        samples: model samples, and as many data points; limited by the smaller split.
        bandwidths: the factors b; several resolve coarse and fine structure at once.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Gretton et al., "A kernel two-sample test", JMLR 13, 2012, lemma 6.

    Example: evaluate: [{use: mmd, samples: 4000}]
    """

    needs: ClassVar[frozenset[str]] = frozenset({"samples", "data"})

    samples: Annotated[int, Ge(2)] = 4_000
    bandwidths: Annotated[tuple[Annotated[float, Gt(0)], ...], MinLen(1)] = (0.25, 0.5, 1.0)

    def traits(self) -> MetricTraits:
        return super().traits()._replace(samples=self.samples)

    def refusal(self, question: Question) -> str | None:
        return too_few(question, train=2, test=2)

    def results(self) -> tuple[str, ...]:
        return ("mmd", "mmd_floor")

    def measure(self, view: View) -> dict[str, float]:
        points = matched(view, self.samples)
        test, x, train = centred(points.test, points.samples, points.train)
        distances = torch.pdist(test[:1000])
        scale = distances.median() if bool(distances.median() > 0) else distances.mean()
        if not bool(scale > 0):
            raise Unmeasurable("all data points are equal, so that there is no distance to compare with")
        x, test, train = (points / scale for points in (x, test, train))  # also prevents overflow of the squares
        inside = self._kernel_sum(test, test)
        return {"mmd": self._distance(x, test, inside), "mmd_floor": self._distance(train, test, inside)}

    def _distance(self, x: Tensor, y: Tensor, inside: float) -> float:
        """The estimate, given the sum of k over all pairs of y."""
        n = len(x)
        # k = 1 on the diagonal: subtracted, since a point is not paired with itself.
        within = (self._kernel_sum(x, x) - n + inside - n) / (n * (n - 1))
        return within - 2 * self._kernel_sum(x, y) / (n * n)

    def _kernel_sum(self, x: Tensor, y: Tensor) -> float:
        """The sum of k over all pairs of points in units of the median distance, in blocks of rows."""
        total = torch.zeros((), device=x.device, dtype=torch.float64)
        for rows in torch.split(x, max(1, BLOCK // len(y))):
            exponent = squared_distances(rows, y).div_(-2)
            for b in self.bandwidths:
                total += (exponent / b**2).exp_().sum()
        return float(total) / len(self.bandwidths)
