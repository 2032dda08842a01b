"""Denoising score matching along a diffusion."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, cast

from ebmkit.components.objectives.noised_batch import denoising_losses, even_shares
from ebmkit.components.schedules.vp import VP
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Loss, Objective, Schedule, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.states import Conditioning
from ebmkit.contracts.traits import ObjectiveTraits
from ebmkit.maths.process import rates

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.components.models.nets.conditional import Conditional
    from ebmkit.contracts.context import Context


@component("sde_score_matching")
class SDEScoreMatching(Objective):
    """Score matching along a diffusion (SDE): denoising score matching at all times with one conditioned network.

        L = E_t lambda(t) 1/2 E |s(x_t, t) + xi / noise|^2,    x_t = signal x + noise xi,    t ~ U[earliest, T]

        noise         lambda = noise^2, with which all times have equal weight
        likelihood    lambda = g^2, with which L bounds the negative log-likelihood, up to a constant and units of time;
                      of higher variance, because low noise gets large weights

    Parameters:
        schedule: the process in time, the same as the model's.
        weight: lambda.

    Reference: Song et al., "Score-based generative modeling through stochastic differential equations",
    arXiv:2011.13456, equation 7; "Maximum likelihood training of score-based diffusion models", arXiv:2101.09258.

    Example: objective: {use: sde_score_matching, schedule: vp}
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})
    needs: ClassVar[frozenset[str]] = frozenset({"score"})
    conditioning: ClassVar[Conditioning] = "time"

    schedule: Schedule = VP()
    weight: Literal["noise", "likelihood"] = "noise"

    def traits(self) -> ObjectiveTraits:
        return super().traits()._replace(schedule=self.schedule)

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        network = cast("Conditional", model)
        schedule = network.schedule
        t = schedule.earliest + (schedule.horizon - schedule.earliest) * even_shares(batch, context.rng)
        xi = torch.empty_like(batch).normal_(generator=context.rng)
        losses, noise = denoising_losses(network, batch, t, xi, context.labels)
        if self.weight == "noise":
            return Loss(losses.mean(), {})
        diffusion = rates(schedule, t)[1]
        return Loss((diffusion / noise.square() * losses).mean(), {"unweighted": losses.mean().detach()})
