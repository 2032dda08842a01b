"""Diffusion recovery likelihood."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, Gt

from ebmkit.components.samplers.langevin import Langevin
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Loss, Objective, Sampler, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import ObjectiveTraits

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.contracts.context import Context


@component("diffusion_recovery")
class DiffusionRecovery(Objective):
    """Recovery likelihood: maximum likelihood of a clean point given a noisy copy of it, at one noise level.

        x~ = x + sigma xi,    E(y | x~) = E(y) + |y - x~|^2 / (2 sigma^2),    y ~ p(y | x~)
        L = E_data[E(x)] - E[E(y)] + energy_l2 (E_data[E^2] + E[E^2])

    The quadratic term is the same in both phases, so it cancels in the gradient but not in the chains. p(y | x~) is
    narrow and its chains start at x~, so short chains suffice where those of the model itself would not mix. The
    optimal E is that of the data for every sigma: a small sigma approaches score matching, which is blind to the
    relative weights of distant modes, a large one approaches maximum likelihood.

    Parameters:
        sigma: standard deviation of the noise: as wide as the gaps that chains have to cross, but no wider than the
            distance they cover, which is about sqrt(2 steps step_size).
        sampler: draws from p(y | x~); its steps must be short compared with sigma and the details of the data. It does
            not draw model samples: a spec that needs some must have its own `sampler:`.
        energy_l2: factor of a penalty that keeps energies near zero; 0 is pure likelihood.

    Reference: Gao et al., "Learning energy-based models by diffusion recovery likelihood", arXiv:2012.08125; for one
    level, Bengio et al., "Generalized denoising auto-encoders as generative models", arXiv:1305.6663.

    Example: objective: {use: diffusion_recovery, sigma: 0.5, sampler: {use: langevin, steps: 20, step_size: 0.01}}
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})
    needs: ClassVar[frozenset[str]] = frozenset({"energy", "gradient"})

    sigma: Annotated[float, Gt(0)] = 0.2
    sampler: Sampler = Langevin(steps=20, step_size=0.003)
    energy_l2: Annotated[float, Ge(0)] = 0.0

    def __post_init__(self) -> None:
        if lacking := sorted(self.sampler.traits().needs - self.needs):
            raise ValueError(
                f"sampler '{self.sampler.component_name}' needs '{', '.join(lacking)}', "
                "which p(y | x~) does not offer: use one such as 'langevin'"
            )

    def traits(self) -> ObjectiveTraits:
        return super().traits()._replace(evaluations=3 + self.sampler.steps)

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        from ebmkit.components.models.nets.tilted import TiltedEnergy

        noisy = torch.empty_like(batch).normal_(generator=context.rng).mul_(self.sigma).add_(batch)
        y = context.chain(self.sampler, TiltedEnergy(model, noisy, self.sigma), noisy)
        at_data, at_model = model(torch.cat([batch, y])).chunk(2)
        energy_data, energy_model = at_data.mean(), at_model.mean()
        gap = energy_data - energy_model
        penalty = at_data.square().mean() + at_model.square().mean()
        metrics = {"energy_data": energy_data, "energy_model": energy_model, "gap": gap}
        return Loss(gap + self.energy_l2 * penalty, {name: value.detach() for name, value in metrics.items()})
