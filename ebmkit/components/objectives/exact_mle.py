"""Maximum likelihood with a computed normaliser."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar, cast

from annotated_types import Ge

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Loss, Objective, Space
from ebmkit.contracts.question import Question
from ebmkit.maths.enumeration import ENUMERABLE, most_units

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.components.objectives.nets.normaliser import Box
    from ebmkit.contracts.context import Context

#: Default number of grid points per side, by dimension: on a line they are cheap.
POINTS = {1: 1025, 2: 129}


@component("exact_mle")
class ExactMLE(Objective):
    """Exact maximum likelihood: the negative log-likelihood with log Z computed instead of sampled.

        L = E_data[E(x)] + log Z,    dL/dtheta = E_data[dE/dtheta] - E_model[dE/dtheta]

    log Z is a sum over all states, at most 65,536 of them, or given by the model, or an integral over one or two real
    coordinates by the trapezoidal rule, in a box around the data. Mass of the model outside the box is invisible to the
    loss: the quadratic base of the networks keeps it inside, and `mass_at_edge`, the share in the outermost sixteenth
    of the box on each side, shows if it does not.

    Parameters:
        points: grid points per side; by default 1025 on a line and 129 in the plane. Their distance must be less than
            the width of the narrowest peak.
        margin: how far the box extends beyond the data on each side, as a multiple of their range.

    Reference: Fisher, "On the mathematical foundations of theoretical statistics", 1922; Trefethen and Weideman, "The
    exponentially convergent trapezoidal rule", SIAM Review 56, 2014.

    Example: objective: {use: exact_mle, points: 97, margin: 0.3}
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real", "binary", "spin", "categorical"})
    consistent: ClassVar[bool] = True

    points: Annotated[int, Ge(3)] | None = None
    margin: Annotated[float, Ge(0)] = 0.5

    def refusal(self, question: Question) -> str | None:
        traits, d = question.model.traits(), prod(question.event)
        values = traits.unit_values
        most = most_units(ENUMERABLE, values) if values else ENUMERABLE
        if values and d <= most:
            return None
        if "log_z" in traits.offers or (traits.space == "real" and d <= 2):
            return None
        units = f"discrete units of {len(values)} values" if len(values) > 2 else "discrete units"
        return (
            f"needs a model with 'log_z', at most {most} {units}, or at most 2 real coordinates, "
            f"but a state has {d} {traits.space} ones"
        )

    def extras(self, event: Event, data: Tensor) -> Box | None:
        from ebmkit.components.objectives.nets.normaliser import Box

        d = prod(event)
        return Box(data, self.points or POINTS[d], self.margin) if d in POINTS and data.is_floating_point() else None

    def parameter_count(self, event: Event) -> int:
        return 0

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        from ebmkit.components.objectives.nets.normaliser import normaliser

        energy_data = model(batch).mean()
        log_z, at_edge = normaliser(model, batch, cast("Box | None", context.extras))
        metrics = {"energy_data": energy_data.detach(), "log_z": log_z.detach()}
        if at_edge is not None:
            metrics["mass_at_edge"] = at_edge
        return Loss(energy_data + log_z, metrics)
