"""Self-adapting Bregman ratio matching."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, cast

from annotated_types import Ge

from ebmkit.components.bregman.logistic import Logistic
from ebmkit.components.inits.replay import Replay
from ebmkit.components.noise.snapshot import Snapshot
from ebmkit.components.objectives.chains_of_training import ON_POINTS, chains_for
from ebmkit.components.objectives.curvature import curvature_refusal
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Bregman, Event, Init, Loss, Objective, Sampler
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import ModelTraits, ObjectiveTraits

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.components.noise.nets.snapshot import SnapshotDensity
    from ebmkit.components.objectives.nets.contrast import Contrast
    from ebmkit.contracts.context import Context


@component("adaptive_bregman")
class AdaptiveBregman(Objective):
    """Self-adapting Bregman ratio matching: the noise is a frozen copy of the model, renewed every K steps.

        L = E_m[S0(u)] - E_data[S1(u)],    log u(x) = E_m(x) - E(x)

    This is `bregman` with noise `snapshot` and without log Z. With K = 1 the ratio is 1 at every step, and the gradient
    is that of maximum likelihood times psi''(1), for every generator. The energy is determined up to a constant.

    Parameters:
        generator: the convex function psi that defines S0 and S1; `logistic` gives `adaptive_nce`.
        interval: K, number of training steps between two copies of the model.
        sampler: draws from the copy; one chain per data point. `gibbs` by default if the model draws its
            units exactly.
        init: starting points of those chains.
        energy_l2: factor of a penalty that keeps energies near zero, E_data[E^2] + E_m[E^2]; 0 is pure ratio matching.
        control_variate: add a control variate (Stein's), a term of mean zero under the copy that lowers the variance of
            the gradient, most if the copy is close to a Gaussian. It costs about four passes over the noise samples,
            needs an energy with second derivatives, and changes the mean if chains have not converged.

    Reference: Xu, "Self-adapting noise-contrastive estimation for energy-based models", thesis, Tsinghua 2022,
    sections 4.3 and 4.4.

    Example: objective: {use: adaptive_bregman, generator: logistic, interval: 5}
    """

    consistent: ClassVar[bool] = True

    generator: Bregman = Logistic()
    interval: Annotated[int, Ge(1)] = 5
    sampler: Sampler = ON_POINTS
    init: Init = Replay()
    energy_l2: Annotated[float, Ge(0)] = 0.0
    control_variate: bool = False

    def traits(self) -> ObjectiveTraits:
        return super().traits()._replace(sampler=self.sampler, evaluations=3 + self.sampler.steps)

    def refusal(self, question: Question) -> str | None:
        model = question.model
        if not self.control_variate:
            return None
        if model.traits().space != "real" or "gradient" not in model.traits().offers:
            return "has a control variate, which needs real states and an energy that is differentiable in them"
        reason = curvature_refusal(question)
        return f"has a control variate, which {reason}" if reason else None

    def suited(self, model: ModelTraits) -> dict[str, Sampler]:
        return chains_for(model)

    def extras(self, event: Event, data: Tensor) -> Contrast:
        from ebmkit.components.objectives.nets.contrast import Contrast

        noise = Snapshot(interval=self.interval, sampler=self.sampler, init=self.init)
        return Contrast(noise.build(event, data), learn_log_z=False, control=self.control_variate)

    def parameter_count(self, event: Event) -> int:
        return 0

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        contrast = cast("Contrast", context.extras)
        log_u = contrast.log_ratios(model, batch, len(batch), context)
        value = self.generator.s0(log_u.noise).mean() - self.generator.s1(log_u.data).mean()
        penalty = 2 * log_u.energy.square().mean()  # the sum of two means over equally many points
        energy_data, energy_noise = log_u.energy.detach().chunk(2)
        metrics = {
            **log_u.metrics(),
            "energy_data": energy_data.mean(),
            "energy_model": energy_noise.mean(),
        }
        copy = cast("SnapshotDensity", contrast.noise)
        if copy.age is not None:
            metrics["buffer_age"] = copy.age
        if contrast.control is not None:
            metrics["control_variate"] = contrast.control.beta
            at_noise = (log_u.noise, log_u.samples)
            value = value + contrast.control(self.generator.s0, *at_noise, model, copy.model, context.step, context.rng)
        return Loss(value + self.energy_l2 * penalty, metrics)
