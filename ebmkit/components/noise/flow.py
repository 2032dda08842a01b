"""Normalising flow noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, MinLen

from ebmkit.components.noise.fitted import fit_refusal
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Noise
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.components.noise.nets.flow import FlowDensity


@component("flow")
class FlowNoise(Noise):
    """Normalising flow: a neural spline flow, fitted to the training data by maximum likelihood.

        x = centre + scale * f(z),    z ~ N(0, I),    log p(x) = log N(z; 0, I) - log |det dx/dz|

    Objectives that train their noise train it further. It needs the package zuko: pip install 'ebmkit-core[flows]'.

    Parameters:
        transforms: number of transformations of f; in each, one half of the coordinates transforms the other.
        bins: number of pieces of a spline.
        hidden: widths of the networks that parametrise the splines.
        steps: steps of the fit, before training; 0 keeps the initial flow, which is close to N(centre, scale^2).

    Reference: Durkan, Bekasov, Murray and Papamakarios, "Neural spline flows", arXiv:1906.04032.

    Example: noise: {use: flow, transforms: 1, bins: 4, steps: 20}
    """

    offers: ClassVar[frozenset[str]] = frozenset({"density", "normalised", "learnable"})

    needs_packages: ClassVar[Mapping[str, str]] = {"zuko": "ebmkit-core[flows]"}

    transforms: Annotated[int, Ge(1)] = 2
    bins: Annotated[int, Ge(2)] = 8
    hidden: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] = (64, 64)
    steps: Annotated[int, Ge(0)] = 300

    def refusal(self, question: Question) -> str | None:
        return fit_refusal(question, 2, "use other noise, or more varied points")

    def build(self, event: Event, data: Tensor) -> FlowDensity:
        from ebmkit.components.noise.nets.flow import FlowDensity

        points = data.flatten(1).double()
        centre, scale = points.mean(0), points.std(0)
        if not bool((scale > 0).all()):
            raise ValueError("the data do not vary in every coordinate, so no flow can be fitted")
        made = FlowDensity(centre, scale, event, transforms=self.transforms, bins=self.bins, hidden=self.hidden)
        rng = torch.Generator().manual_seed(int(torch.randint(2**62, ())))
        made.fit(data, self.steps, rng)
        return made
