"""What these samplers ask of a model in addition to its energy."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from ebmkit.api import ability

if TYPE_CHECKING:
    from torch import Generator, Tensor


def along(numbers: Tensor, x: Tensor) -> Tensor:
    """Numbers of chains `(B,)`, to broadcast against states `(B, *event)`."""
    return numbers.view(-1, *[1] * (x.dim() - 1))


class HeatedGaussianPrior(NamedTuple):
    """The prior and the misfit of `exp(-E/T)`, where the covariance of the prior is multiplied by T."""

    cold: GaussianPrior
    temperature: Tensor  # (B,)

    def prior_center(self, like: Tensor) -> Tensor:
        """The same at every temperature."""
        return self.cold.prior_center(like)

    def prior_noise(self, like: Tensor, rng: Generator) -> Tensor:
        """Wider by the root of the temperature."""
        return self.cold.prior_noise(like, rng) * along(self.temperature.sqrt(), like)

    def misfit(self, x: Tensor) -> Tensor:
        """Flatter by the temperature."""
        return self.cold.misfit(x) / self.temperature


@ability("gaussian_prior", heated=HeatedGaussianPrior)
class GaussianPrior(Protocol):
    """An energy that is the sum of a Gaussian's and a misfit: `E(x) = (x - m)' C^-1 (x - m) / 2 + misfit(x)`."""

    def prior_center(self, like: Tensor) -> Tensor:
        """m, in a shape that broadcasts against states `(B, *event)`."""

    def prior_noise(self, like: Tensor, rng: Generator) -> Tensor:
        """Draws of N(0, C), as many as states in `like`."""

    def misfit(self, x: Tensor) -> Tensor:
        """The rest of the energy `(B,)`, minus the log-likelihood of data, up to a constant."""


class HeatedSubsampled(NamedTuple):
    """The gradient of `E / T`."""

    cold: Subsampled
    temperature: Tensor  # (B,)

    def gradient_estimate(self, x: Tensor, terms: int, rng: Generator) -> Tensor:
        """That of E, divided by the temperature."""
        return self.cold.gradient_estimate(x, terms, rng) / along(self.temperature, x)


@ability("subsampled", heated=HeatedSubsampled)
class Subsampled(Protocol):
    """An energy with one term for each observation, whose gradient can be estimated from a few of them."""

    def gradient_estimate(self, x: Tensor, terms: int, rng: Generator) -> Tensor:
        """dE/dx from this many random terms for each state, without bias, `(B, *event)`."""
