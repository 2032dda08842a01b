"""Adversarial contrastive estimation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, cast

from annotated_types import Gt, Lt

from ebmkit.components.noise.gaussian import GaussianNoise
from ebmkit.components.noise.generator import GeneratorNoise
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Loss, Noise, Objective, Space
from ebmkit.contracts.traits import ObjectiveTraits

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.components.objectives.nets.contrastive_contest import ContrastiveContest
    from ebmkit.contracts.context import Context
    from ebmkit.contracts.modules.density import Density


@component("adversarial_ce")
class AdversarialCE(Objective):
    """Adversarial contrastive estimation: NCE against fixed noise mixed with an adversarial generator.

        min_theta max_phi J,    J = E_data[softplus(-G(x))] + r E_n[softplus(G(x))]
        G(x) = -E(x) - log Z - log p_n(x) - log r,    p_n = base_share p_base + (1 - base_share) p_phi

    The thesis weights data by `1 - h`, where h is the log-probability of noise (its equation 3.3); correct is
    `log(1 - exp h)`, the softplus above. The generator is trained through its samples and through its density.

    Parameters:
        noise: p_base, which covers the data regardless of the generator.
        generator: p_phi; trainable noise.
        base_share: the fraction of noise that comes from the base.
        noise_ratio: r, noise samples per data point (at least one sample per batch).

    Reference: Bose, Ling and Cao, "Adversarial contrastive estimation", arXiv:1805.03642; Xu, thesis, Tsinghua 2022,
    section 3.1.

    Example: objective: {use: adversarial_ce, base_share: 0.3, generator: {use: generator, latents: 64}}
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})
    needs: ClassVar[frozenset[str]] = frozenset({"energy", "gradient"})
    adversary: ClassVar[bool] = True
    noise_needs: ClassVar[frozenset[str]] = frozenset({"density", "normalised"})

    noise: Noise = GaussianNoise()
    generator: Noise = GeneratorNoise()
    base_share: Annotated[float, Gt(0), Lt(1)] = 0.5
    noise_ratio: Annotated[float, Gt(0)] = 1.0

    def __post_init__(self) -> None:
        if "learnable" not in self.generator.traits().offers:
            raise ValueError(f"'generator' must be trainable, but noise '{self.generator.component_name}' is not")

    def traits(self) -> ObjectiveTraits:
        return super().traits()._replace(noise_ratio=self.noise_ratio)

    def extras(self, event: Event, data: Tensor) -> ContrastiveContest:
        from ebmkit.components.noise.nets.mixed_density import MixedDensity
        from ebmkit.components.objectives.nets.contrastive_contest import ContrastiveContest

        base, generator = (cast("Density", noise.build(event, data)) for noise in (self.noise, self.generator))
        return ContrastiveContest(MixedDensity(base, generator, self.base_share))

    def parameter_count(self, event: Event) -> int:
        return 1  # log Z

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        r, contest = self.noise_ratio, cast("ContrastiveContest", context.extras)
        log_u = contest.log_ratios(model, batch, max(1, round(r * len(batch))), context)
        value = log_u.logistic_loss(r)
        return Loss(value, {"log_z": contest.log_z.detach(), **log_u.metrics()}, rival=-value)
