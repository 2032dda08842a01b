"""Noise by a normalising flow."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, MinLen

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Noise
from ebmkit.contracts.lazy import torch
from ebmkit.errors.running import EnvironmentLacks

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.components.noise.nets.flow import FlowDensity


@component("flow")
class FlowNoise(Noise):
    """A neural spline flow, fitted to the training data by maximum likelihood; where an objective asks, it goes on.

        x = centre + scale * f(z),    z ~ N(0, I),    log p(x) = log N(z; 0, I) - log |det dx/dz|

    It needs the package zuko: pip install 'ebmkit-core[flows]'.

    Parameters:
        transforms: how many transformations f consists of; in each, one half of the coordinates transforms the other.
        bins: pieces of a spline.
        hidden: widths of the networks that place the pieces.
        steps: of the fit, before training begins; 0 leaves a flow as it was initialised, near to N(centre, scale^2).

    Reference: Durkan, Bekasov, Murray and Papamakarios, "Neural spline flows", arXiv:1906.04032.

    Example: noise: {use: flow, transforms: 1, bins: 4, steps: 20}
    """

    offers: ClassVar[frozenset[str]] = frozenset({"density", "normalised", "learnable"})

    transforms: Annotated[int, Ge(1)] = 2
    bins: Annotated[int, Ge(2)] = 8
    hidden: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] = (64, 64)
    steps: Annotated[int, Ge(0)] = 300

    def build(self, event: Event, data: Tensor) -> FlowDensity:
        if find_spec("zuko") is None:
            raise EnvironmentLacks(
                "noise 'flow' needs the package 'zuko', which is not installed",
                help="pip install 'ebmkit-core[flows]'",
            )
        from ebmkit.components.noise.nets.flow import FlowDensity

        points = data.flatten(1).double()
        centre, scale = points.mean(0), points.std(0)
        if not bool((scale > 0).all()):
            raise ValueError("the data do not vary in every coordinate, so no flow fits them")
        made = FlowDensity(centre, scale, event, transforms=self.transforms, bins=self.bins, hidden=self.hidden)
        rng = torch.Generator().manual_seed(int(torch.randint(2**62, ())))
        made.fit(data, self.steps, rng)
        return made
