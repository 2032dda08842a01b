"""Reconstruction of held-out data through hidden units."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, ClassVar, cast

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric
from ebmkit.contracts.lazy import torch
from ebmkit.maths.enumeration import VALUES
from ebmkit.maths.two_valued import log_sum

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.contracts.abilities import Reconstructs
    from ebmkit.contracts.view import View

#: Points in a block.
ROWS = 4096


@component("reconstruction")
class Reconstruction(Metric):
    """Reconstruction error: distance of held-out data from their reconstruction through the means of hidden units.

        m = E[h | x],    layer by layer up to the highest and down again
        two values:  reconstruction_error = -mean over i and x of log p(x_i | m),    in nats per unit
        real values: reconstruction_error = mean over i and x of (x_i - E[x_i | m])^2

    The second result is for comparison: the mean of the training data in place of a reconstruction, or for units with
    two values their frequencies, with one point of each value added so that none is certain.

    It is a measure of what the hidden units keep of x, not of the density: a model with many hidden units can copy
    its input and still have most of its mass elsewhere. `log_likelihood` and `ais` measure the density. For real data
    the unit is that of the space in which the network works (`scale`).

    Results:
        reconstruction_error: error of held-out points, per coordinate; lower is better.
        reconstruction_error_mean: the same if the mean of the training data stands for every point.

    Parameters:
        every: interval in training steps; by default it is measured only at the end.

    Reference: Hinton, "A practical guide to training restricted Boltzmann machines", 2010, section 5.

    Example: evaluate: [reconstruction]
    """

    needs: ClassVar[frozenset[str]] = frozenset({"data", "reconstruct"})

    def results(self) -> tuple[str, ...]:
        return ("reconstruction_error", "reconstruction_error_mean")

    def measure(self, view: View) -> dict[str, float]:
        from ebmkit.components.metrics.nets.bases import fit_logits

        values = VALUES.get(view.spec.model.traits().space)
        view = view.scaled  # hidden units are those of the network
        test, train = view.data("test"), view.data("train")
        if test is None or train is None:
            raise ValueError("a reconstruction of data needs a spec with data")
        # On the CPU, because some devices lack float64.
        x, train = (points.to("cpu", torch.float64) for points in (test, train))
        model = cast("Reconstructs", copy.deepcopy(view.module).to("cpu", torch.float64))
        mean = train.mean(0) if values is None else fit_logits(train, values).view(view.event)

        with torch.no_grad():
            errors = torch.cat([_error(some, model.reconstruct(some), values) for some in torch.split(x, ROWS)])
        return {
            "reconstruction_error": float(errors.mean()),
            "reconstruction_error_mean": float(_error(x, mean.expand_as(x), values).mean()),
        }


def _error(x: Tensor, parameters: Tensor, values: tuple[float, float] | None) -> Tensor:
    """The error of every point `(B,)`, a mean over coordinates. The parameters are means of real coordinates, or log
    odds of units with two values, whose probabilities would be rounded to 0 and 1."""
    if values is None:
        return (x - parameters).square().flatten(1).mean(1)
    low, high = values
    share = (x - low) / (high - low)
    return (log_sum(parameters, (0.0, 1.0)) - share * parameters).flatten(1).mean(1)
