"""Maximum likelihood with a variational sampler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, cast

from annotated_types import Ge

from ebmkit.components.noise.generator import GeneratorNoise
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Loss, Noise, Objective, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import ObjectiveTraits

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.contracts.context import Context
    from ebmkit.contracts.modules.contest import Contest
    from ebmkit.contracts.modules.density import Density


@component("adversarial")
class Adversarial(Objective):
    """Adversarial maximum likelihood: a trained density q replaces chains and bounds the normaliser.

        log Z >= E_q[-E] + H(q),    equal when q is the model
        theta minimises  E_data[E] - E_q[E] + energy_l2 (E_data[E^2] + E_q[E^2])
        q minimises      E_q[E] - H(q) = E_q[E(x) + log q(x)]

    The lecture that this follows derives its bound by applying Jensen's inequality to Z instead of log Z in its fourth
    line; the bound above is the correct one. It is logged as `log_z_bound`; with noise `generator` it is that of the
    current mixture, which is never quite tight.

    Parameters:
        noise: q; trainable noise.
        noise_ratio: samples of q per data point.
        energy_l2: factor of a penalty that keeps energies near zero; 0 is pure likelihood.

    Reference: Dai et al., "Exponential family estimation via adversarial dynamics embedding", arXiv:1904.12083;
    Grathwohl et al., "No MCMC for me", arXiv:2010.04230.

    Example: objective: {use: adversarial, noise: {use: generator, latents: 64}}
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})
    needs: ClassVar[frozenset[str]] = frozenset({"energy", "gradient"})
    adversary: ClassVar[bool] = True
    noise_needs: ClassVar[frozenset[str]] = frozenset({"density", "normalised", "learnable"})

    noise: Noise = GeneratorNoise()
    noise_ratio: Annotated[int, Ge(1)] = 1
    energy_l2: Annotated[float, Ge(0)] = 0.1

    def traits(self) -> ObjectiveTraits:
        return super().traits()._replace(noise_ratio=self.noise_ratio)

    def extras(self, event: Event, data: Tensor) -> Contest:
        from ebmkit.contracts.modules.contest import Contest

        return Contest(self.noise.build(event, data))

    def parameter_count(self, event: Event) -> int:
        return 0

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        q = cast("Density", cast("Contest", context.extras).rival)
        count = self.noise_ratio * len(batch)
        x = q.draw(model, batch, count, context)
        at_data, at_q = model(torch.cat([batch, x])).split([len(batch), count])
        gap = at_data.mean() - at_q.mean()
        penalty = at_data.square().mean() + at_q.square().mean()
        rival = (at_q + q.log_prob(x)).mean()
        metrics = {
            "energy_data": at_data.detach().mean(),
            "energy_model": at_q.detach().mean(),
            "gap": gap.detach(),
            "log_z_bound": -rival.detach(),
        }
        return Loss(gap + self.energy_l2 * penalty, metrics, rival=rival)
