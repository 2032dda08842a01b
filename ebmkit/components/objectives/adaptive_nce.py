"""Self-adapting noise-contrastive estimation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge

from ebmkit.components.bregman.logistic import Logistic
from ebmkit.components.inits.replay import Replay
from ebmkit.components.objectives.adaptive_bregman import AdaptiveBregman
from ebmkit.components.objectives.chains_of_training import ON_POINTS, chains_for
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Init, Loss, Objective, Sampler
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import ModelTraits, ObjectiveTraits

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.components.objectives.nets.contrast import Contrast
    from ebmkit.contracts.context import Context


@component("adaptive_nce")
class AdaptiveNCE(Objective):
    """Self-adapting NCE: logistic regression of data against samples of a copy of the model, renewed every K steps.

        L = E_data[softplus(-G(x))] + E_m[softplus(G(x))],    G(x) = E_m(x) - E(x)

    This is `adaptive_bregman` with the generator `logistic`. With K = 1 the gradient is one half of that of maximum
    likelihood. Unlike with `nce`, the energy is determined only up to a constant: the model is not normalised.

    Parameters:
        interval: K, number of training steps between two copies of the model.
        sampler: draws from the copy; one chain per data point. `gibbs` by default if the model draws its
            units exactly. For images the thesis uses tau = 1, a step_size of 0.5, and a separate noise scale,
            `{use: langevin, steps: 100, step_size: 0.5, noise_std: 0.005}`.
        init: starting points of those chains.
        energy_l2: factor of a penalty that keeps energies near zero, E_data[E^2] + E_m[E^2]; 0 is pure contrast.
        control_variate: add a control variate (Stein's), a term of mean zero under the copy that lowers the variance of
            the gradient; see `adaptive_bregman`.

    Reference: Xu, "Self-adapting noise-contrastive estimation for energy-based models", thesis, Tsinghua 2022,
    algorithm 3.1, where `t + 1 % K` should read `(t + 1) % K`.

    Example: objective: {use: adaptive_nce, interval: 5}
    """

    consistent: ClassVar[bool] = True

    interval: Annotated[int, Ge(1)] = 5
    sampler: Sampler = ON_POINTS
    init: Init = Replay()
    energy_l2: Annotated[float, Ge(0)] = 0.0
    control_variate: bool = False

    def traits(self) -> ObjectiveTraits:
        return super().traits()._replace(sampler=self.sampler, evaluations=3 + self.sampler.steps)

    def refusal(self, question: Question) -> str | None:
        return self._general().refusal(question)

    def suited(self, model: ModelTraits) -> dict[str, Sampler]:
        return chains_for(model)

    def extras(self, event: Event, data: Tensor) -> Contrast:
        return self._general().extras(event, data)

    def parameter_count(self, event: Event) -> int:
        return 0

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        return self._general().loss(model, batch, context)

    def _general(self) -> AdaptiveBregman:
        return AdaptiveBregman(
            generator=Logistic(),
            interval=self.interval,
            sampler=self.sampler,
            init=self.init,
            energy_l2=self.energy_l2,
            control_variate=self.control_variate,
        )
