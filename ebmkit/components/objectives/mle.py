"""Maximum likelihood by sampling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, cast

from annotated_types import Ge

from ebmkit.components.inits.replay import Replay
from ebmkit.components.objectives.chains_of_training import ON_POINTS, chains_for
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Init, Loss, Objective, Sampler, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import ModelTraits, ObjectiveTraits

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.contracts.context import Context
    from ebmkit.contracts.modules.starts import Starts


@component("mle")
class MLE(Objective):
    """Maximum likelihood by sampling (contrastive divergence, PCD): the energy of data minus that of model samples.

        d/dtheta -log p(x) = dE(x)/dtheta - E_model[dE/dtheta]
        L = E_data[E] - E_model[E] + energy_l2 (E_data[E^2] + E_model[E^2])

    The chain starts define the variants: `data` is CD-k, `replay` with rejuvenation 0 is PCD, `noise` is short-run.
    The defaults are consistent, because chains are exact and live long. Chains that are biased, as those of `langevin`
    are, or restarted often leave their bias in the model.

    Parameters:
        sampler: draws from the model; one chain per data point. `gibbs` by default if the model draws its
            units exactly.
        init: starting points of those chains.
        energy_l2: factor of a penalty that keeps energies near zero. It flattens the model for good, and stabilises
            training with chains that do not converge; 0 is pure likelihood.

    Reference: Hinton, Neural Computation 14, 2002; Tieleman, ICML 2008; Du and Mordatch, arXiv:1903.08689.

    Example: objective: {use: mle, sampler: {use: mixed_mala, steps: 40}, init: {use: replay, size: 5000}}
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real", "binary", "spin", "categorical"})
    consistent: ClassVar[bool] = True

    sampler: Sampler = ON_POINTS
    init: Init = Replay()
    energy_l2: Annotated[float, Ge(0)] = 0.0

    def traits(self) -> ObjectiveTraits:
        return super().traits()._replace(sampler=self.sampler, evaluations=3 + self.sampler.steps)

    def suited(self, model: ModelTraits) -> dict[str, Sampler]:
        return chains_for(model)

    def extras(self, event: Event, data: Tensor) -> Starts:
        return self.init.build(event)

    def parameter_count(self, event: Event) -> int:
        return 0

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        starts = cast("Starts", context.extras)
        x = context.chain(self.sampler, model, starts.draw(batch, context.rng), starts=starts)
        at_data, at_model = model(torch.cat([batch, x])).chunk(2)
        energy_data, energy_model = at_data.mean(), at_model.mean()
        gap = energy_data - energy_model
        metrics = {"energy_data": energy_data, "energy_model": energy_model, "gap": gap}
        if starts.age is not None:
            metrics["buffer_age"] = starts.age
        loss = gap
        if self.energy_l2:
            loss = gap + self.energy_l2 * (at_data.square().mean() + at_model.square().mean())
        return Loss(loss, {name: value.detach() for name, value in metrics.items()})
