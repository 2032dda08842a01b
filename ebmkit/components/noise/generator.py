"""Noise by a noisy neural sampler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, Gt, MinLen

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Noise

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.components.noise.nets.generator import GeneratorDensity


@component("generator")
class GeneratorNoise(Noise):
    """A network that maps latents to points, and Gaussian noise on them: it learns where an objective asks for it.

        p(x) = int N(x; mu(z), diag(sigma^2)) N(z; 0, I) dz

    The integral has no closed form. M latents are drawn at each training step, and the mixture on them,

        p(x) = 1/M sum_m N(x; mu(z_m), diag(sigma^2)),

    is both evaluated and sampled. Given the latents that is exact. What is learnt is a mixture of M, not the integral:
    where M is small it is less varied and wider. mu and sigma, in units of the data's spread, are learnt; without an
    objective that moves them they stay as they were initialised.

    Parameters:
        latents: M, how many are drawn at each step.
        latent: numbers in a latent.
        hidden: widths of the network mu.
        sigma: what sigma begins with, in units of the data's standard deviation.

    Reference: Bose, Ling and Cao, "Adversarial contrastive estimation", arXiv:1805.03642; Xu, thesis, Tsinghua 2022,
    section 3.1, where the integral is left to "biased estimators".

    Example: noise: {use: generator, latents: 64, hidden: [32]}
    """

    offers: ClassVar[frozenset[str]] = frozenset({"density", "normalised", "learnable"})

    latents: Annotated[int, Ge(1)] = 256
    latent: Annotated[int, Ge(1)] = 8
    hidden: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] = (64, 64)
    sigma: Annotated[float, Gt(0)] = 0.5

    def build(self, event: Event, data: Tensor) -> GeneratorDensity:
        from ebmkit.components.noise.nets.generator import GeneratorDensity

        points = data.flatten(1).double()
        centre, scale = points.mean(0), points.std(0)
        if not bool((scale > 0).all()):
            raise ValueError("the data do not vary in every coordinate, so that some have no unit to generate in")
        return GeneratorDensity(
            centre,
            scale,
            event,
            latents=self.latents,
            latent=self.latent,
            hidden=self.hidden,
            sigma=self.sigma,
        )
