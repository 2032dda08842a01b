"""Far from the origin and in other units, a noise fitted to the data has the same density around them."""

import math

import pytest
import torch

from ebmkit.components.noise.conditional_gaussian import ConditionalGaussianNoise
from ebmkit.components.noise.flow import FlowNoise
from ebmkit.components.noise.gaussian import GaussianNoise
from ebmkit.components.noise.gaussian_mixture import GaussianMixtureNoise
from ebmkit.components.noise.generator import GeneratorNoise
from ebmkit.components.noise.parzen import ParzenNoise
from ebmkit.components.noise.uniform import UniformNoise
from ebmkit.registry.builtin import COMPONENTS
from tests.components.oracles import generator

NOISES = {
    "conditional_gaussian": ConditionalGaussianNoise(),
    "flow": FlowNoise(transforms=1, bins=4, steps=5),
    "gaussian": GaussianNoise(),
    "gaussian_mixture": GaussianMixtureNoise(components=3),
    "generator": GeneratorNoise(),
    "parzen": ParzenNoise(points=100),
    "uniform": UniformNoise(),
}


@pytest.fixture
def single(_precise):
    """The precision of a run, in which digits are lost."""
    torch.set_default_dtype(torch.float32)
    yield
    torch.set_default_dtype(torch.float64)


def log_prob(name, data, at):
    """The log density of a noise fitted to `data`, at other points."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        made = NOISES[name].build((2,), data)
    with torch.no_grad():
        return (made.log_prob(at, data[: len(at)]) if name == "conditional_gaussian" else made.log_prob(at)).double()


@pytest.mark.parametrize("offset", [0.0, 1e2, 1e4, 3e4, -1e6], ids="{:g}".format)
@pytest.mark.parametrize("name", sorted(NOISES))
def test_an_offset_changes_no_density(name, offset, single):
    """The same rounded points, at their place and moved back, which is exact; the fitted mean is rounded again."""
    data = torch.randn(200, 2, generator=generator(0)) + offset
    at = data[:50] + 0.25
    there, here = log_prob(name, data, at), log_prob(name, data - offset, at - offset)
    rounding = abs(offset) * 2.0**-24
    tolerance = 2e-4 + (0.0 if name in ("parzen", "conditional_gaussian") else 20 * rounding)
    assert float((there - here).abs().max()) < tolerance


@pytest.mark.parametrize("scale", [2.0**-20, 2.0**-10, 2.0**10, 2.0**20], ids="{:g}".format)
@pytest.mark.parametrize("name", sorted(NOISES))
def test_units_shift_the_log_density(name, scale, single):
    data = torch.randn(200, 2, generator=generator(0)) + 5.0
    at = data[:50] + 0.25
    there, here = log_prob(name, data * scale, at * scale), log_prob(name, data, at)
    assert torch.allclose(there, here - 2 * math.log(scale), atol=2e-4)


def test_no_noise_is_forgotten():
    assert {*NOISES, "snapshot"} == set(COMPONENTS["noise"][1].split())  # a snapshot has the energy of the model


@pytest.mark.parametrize("offset", [1e4, -3e4], ids="{:g}".format)
@pytest.mark.parametrize("name", sorted(set(NOISES) - {"conditional_gaussian"}))
def test_samples_move_with_the_data(name, offset, single):
    """From the same random numbers, up to the rounding of states so far from the origin."""
    data = torch.randn(200, 2, generator=generator(0)) + offset
    drawn = []
    for points in (data, data - offset):
        with torch.random.fork_rng():
            torch.manual_seed(0)
            drawn.append(NOISES[name].build((2,), points).sample(500, generator(1)).detach().double())
    rounding = abs(offset) * 2.0**-24
    assert torch.allclose(drawn[0] - offset, drawn[1], atol=1e-4 + 8 * rounding)
