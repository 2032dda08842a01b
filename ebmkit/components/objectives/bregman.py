"""Bregman ratio matching."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, cast

from annotated_types import Gt

from ebmkit.components.bregman.logistic import Logistic
from ebmkit.components.noise.gaussian import GaussianNoise
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Bregman, Event, Loss, Noise, Objective
from ebmkit.contracts.traits import ObjectiveTraits

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.components.objectives.nets.contrast import Contrast
    from ebmkit.contracts.context import Context
    from ebmkit.contracts.modules.density import Density


@component("bregman")
class BregmanRatioMatching(Objective):
    """Bregman ratio matching: density-ratio estimation of data to noise under any Bregman divergence.

        L = E_noise[S0(u(x))] - E_data[S1(u(x))],    log u(x) = -E(x) - log Z - log p_noise(x)
        S0(u) = u psi'(u) - psi(u),    S1(u) = psi'(u)

    Parameters:
        generator: the convex psi; `logistic` with the same `noise_ratio` gives `nce`.
        noise: the distribution that data are contrasted with; it must cover them.
        noise_ratio: noise samples per data point (at least one sample per batch).
        learn_log_z: learn log Z as a parameter; otherwise the model must normalise itself.

    Reference: Gutmann and Hirayama, arXiv:1202.3727; Xu, thesis, Tsinghua 2022, section 4.2.

    Example: objective: {use: bregman, generator: logistic, noise_ratio: 1.0}
    """

    consistent: ClassVar[bool] = True

    generator: Bregman = Logistic()
    noise: Noise = GaussianNoise()
    noise_ratio: Annotated[float, Gt(0)] = 1.0
    learn_log_z: bool = True

    def traits(self) -> ObjectiveTraits:
        return super().traits()._replace(evaluations=1.5 * (1 + self.noise_ratio), noise_ratio=self.noise_ratio)

    def extras(self, event: Event, data: Tensor) -> Contrast:
        from ebmkit.components.objectives.nets.contrast import Contrast

        return Contrast(cast("Density", self.noise.build(event, data)), self.learn_log_z)

    def parameter_count(self, event: Event) -> int:
        return int(self.learn_log_z)

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        contrast = cast("Contrast", context.extras)
        count = max(1, round(self.noise_ratio * len(batch)))
        log_u = contrast.log_ratios(model, batch, count, context)
        value = self.generator.s0(log_u.noise).mean() - self.generator.s1(log_u.data).mean()
        return Loss(value, {"log_z": contrast.log_z.detach(), **log_u.metrics()})
