"""Noise-contrastive estimation."""

from __future__ import annotations

from math import log1p
from typing import TYPE_CHECKING, Annotated, ClassVar, cast

from annotated_types import Gt

from ebmkit.components.noise.gaussian import GaussianNoise
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Loss, Noise, Objective
from ebmkit.contracts.traits import ObjectiveTraits

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.components.objectives.nets.contrast import Contrast
    from ebmkit.contracts.context import Context
    from ebmkit.contracts.modules.density import Density


@component("nce")
class NCE(Objective):
    """Noise-contrastive estimation: logistic regression of data against noise, which also estimates the normaliser.

        L = E_data[softplus(-G(x))] + r E_noise[softplus(G(x))],    G(x) = -E(x) - log Z - log p_noise(x) - log r

    Parameters:
        noise: the distribution that data are contrasted with; it must cover them.
        noise_ratio: r, noise samples per data point (at least one sample per batch).
        learn_log_z: learn log Z as a parameter; otherwise the model must normalise itself.

    Reference: Gutmann and Hyvarinen, "Noise-contrastive estimation of unnormalized statistical models", JMLR 13, 2012.

    Example: objective: {use: nce, noise_ratio: 4.0}
    """

    consistent: ClassVar[bool] = True

    noise: Noise = GaussianNoise()
    noise_ratio: Annotated[float, Gt(0)] = 4.0
    learn_log_z: bool = True

    def traits(self) -> ObjectiveTraits:
        r = self.noise_ratio
        blind = log1p(r) + r * log1p(1 / r)
        return super().traits()._replace(evaluations=1.5 * (1 + r), noise_ratio=r, blind_loss=blind)

    def extras(self, event: Event, data: Tensor) -> Contrast:
        from ebmkit.components.objectives.nets.contrast import Contrast

        return Contrast(cast("Density", self.noise.build(event, data)), self.learn_log_z)

    def parameter_count(self, event: Event) -> int:
        return int(self.learn_log_z)

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        r, contrast = self.noise_ratio, cast("Contrast", context.extras)
        log_u = contrast.log_ratios(model, batch, max(1, round(r * len(batch))), context)
        value = log_u.logistic_loss(r)
        return Loss(value, {"log_z": contrast.log_z.detach(), **log_u.metrics()})
