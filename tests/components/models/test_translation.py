"""Models with a place: far from the origin, energies and gradients in float32 are those at the origin."""

import pytest
import torch

from ebmkit.chains.energy import frozen
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.gaussian_mixture import GaussianMixture
from ebmkit.components.models.noised_mixture import NoisedMixtureModel
from ebmkit.components.schedules.geometric import Geometric
from tests.components.oracles import generator

LEVELS = Geometric(sigma_max=4.0, sigma_min=0.1, count=4)


def models(offset):
    means = ((offset, offset), (offset + 3.0, offset - 1.0))
    covariance = ((1.0, 0.3), (0.3, 0.25))
    mixture = {"means": means, "covariances": (covariance,), "weights": (0.3, 0.7)}
    return {
        "gaussian": Gaussian(mean=means[0], covariance=covariance),
        "gaussian_mixture": GaussianMixture(**mixture),
        "noised_mixture": NoisedMixtureModel(**mixture, schedule=LEVELS),
    }


def measured(name, offset, x):
    """Energy and slope in the precision of the points, as float64."""
    module = models(offset)[name].build((2,)).to(x.dtype)
    if name == "noised_mixture":
        return module(x, 0.5).double(), -module.score(x, 0.5).double()
    with frozen(module) as energy:
        return tuple(value.double() for value in energy.value_and_grad(x))


@pytest.mark.parametrize("offset", [1e2, 1e4, -(2.0**15)], ids="{:g}".format)
@pytest.mark.parametrize("name", models(0.0))
def test_energies_and_slopes_move_with_the_model(name, offset):
    x = torch.randn(50, 2, generator=generator(0)).float() * 2 + offset
    there, here = measured(name, offset, x), measured(name, 0.0, x.double() - offset)
    for far, near in zip(there, here, strict=True):
        assert torch.allclose(far, near, rtol=1e-4, atol=1e-4)
