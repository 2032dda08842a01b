"""Noise from a generator network."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, Gt, MinLen

from ebmkit.components.noise.fitted import fit_refusal
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Noise
from ebmkit.contracts.question import Question
from ebmkit.maths.parameter_counts import dense

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.components.noise.nets.generator import GeneratorDensity


@component("generator")
class GeneratorNoise(Noise):
    """Generator network with Gaussian output noise, trained by objectives that train their noise.

        p(x) = int N(x; mu(z), diag(sigma^2)) N(z; 0, I) dz

    The integral has no closed form. M latents are drawn at each training step, and their mixture

        p(x) = 1/M sum_m N(x; mu(z_m), diag(sigma^2))

    is both evaluated and sampled, exactly given the latents. The result is a mixture of M components, not the integral:
    for small M it is less varied and wider. mu and sigma, in units of the data's standard deviation, are trained if the
    objective trains its noise, and otherwise keep their initial values.

    Parameters:
        latents: M, number of latents per step.
        latent: dimension of a latent.
        hidden: widths of the network mu.
        sigma: initial value of sigma, in units of the data's standard deviation.

    Reference: Bose, Ling and Cao, "Adversarial contrastive estimation", arXiv:1805.03642; Xu, thesis, Tsinghua 2022,
    section 3.1, where the integral is left to "biased estimators".

    Example: noise: {use: generator, latents: 64, hidden: [32]}
    """

    offers: ClassVar[frozenset[str]] = frozenset({"density", "normalised", "learnable"})

    latents: Annotated[int, Ge(1)] = 256
    latent: Annotated[int, Ge(1)] = 8
    hidden: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] = (64, 64)
    sigma: Annotated[float, Gt(0)] = 0.5

    def parameter_count(self, event: Event) -> int:
        d = prod(event)
        return dense([self.latent, *self.hidden, d]) + d

    def refusal(self, question: Question) -> str | None:
        return fit_refusal(question, 2, "use other noise, or more varied points")

    def build(self, event: Event, data: Tensor) -> GeneratorDensity:
        from ebmkit.components.noise.nets.generator import GeneratorDensity

        points = data.flatten(1).double()
        centre, scale = points.mean(0), points.std(0)
        if not bool((scale > 0).all()):
            raise ValueError("the data do not vary in every coordinate, so some have no scale")
        return GeneratorDensity(
            centre,
            scale,
            event,
            latents=self.latents,
            latent=self.latent,
            hidden=self.hidden,
            sigma=self.sigma,
        )
