"""`grid_mrf`: the posterior of an image, and its most probable one."""

import math
from itertools import product

import pytest
import torch

from ebmkit.chains.chain import run_chain
from ebmkit.components.models.grid_mrf import GridMRF
from ebmkit.components.models.nets.pairwise import Pairwise
from ebmkit.components.samplers.exact_map import ExactMap
from ebmkit.components.samplers.icm import ICM
from ebmkit.components.samplers.simulated_annealing import SimulatedAnnealing
from tests.components.oracles import generator

both = pytest.mark.parametrize("values", ["spin", "binary"])


def random_rows(height, width, seed):
    bits = torch.randint(2, (height, width), generator=generator(seed)).tolist()
    return tuple("".join(map(str, row)) for row in bits)


def pixels(rows):
    return torch.tensor([[float(pixel) for pixel in row] for row in rows])


def every_image(height, width):
    return torch.tensor(list(product((0.0, 1.0), repeat=height * width))).view(-1, height, width)


def posterior(images, seen, noise, coupling):
    """Bayes' formula over all images: a prior that prefers equal neighbours, and pixels that are observed alone."""
    s = 2 * images - 1
    equal = (s[:, 1:] * s[:, :-1]).sum((1, 2)) + (s[:, :, 1:] * s[:, :, :-1]).sum((1, 2))
    wrong = (images != seen).sum((1, 2))
    count = seen.numel()
    return (coupling * equal + wrong * math.log(noise) + (count - wrong) * math.log(1 - noise)).softmax(0)


@both
@pytest.mark.parametrize(("height", "width"), [(3, 3), (1, 4), (2, 5)])
def test_the_model_is_the_posterior_of_all_images(height, width, values):
    seen = random_rows(height, width, 1)
    model = GridMRF(image=random_rows(height, width, 2), observed=seen, noise=0.2, coupling=0.7, values=values)
    images = every_image(height, width)
    states = images if values == "binary" else 2 * images - 1
    found = (-model.build((height, width))(states)).softmax(0)
    torch.testing.assert_close(found, posterior(images, pixels(seen), 0.2, 0.7), rtol=1e-10, atol=1e-14)


@both
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("coupling", [0.0, 0.3, 1.1])
def test_maximum_flow_finds_what_enumeration_finds(seed, coupling, values):
    seen = random_rows(3, 3, seed)
    module = GridMRF(image=seen, observed=seen, noise=0.15, coupling=coupling, values=values).build((3, 3))
    by_flow, by_enumeration = module.ground_state(), Pairwise.ground_state(module)
    torch.testing.assert_close(module(by_flow[None]), module(by_enumeration[None]), rtol=1e-12, atol=1e-12)


@both
def test_no_search_ends_below_the_exact_map(values):
    seen = random_rows(16, 20, 0)
    module = GridMRF(image=seen, observed=seen, noise=0.3, coupling=0.4, values=values).build((16, 20))
    exact = run_chain(ExactMap(), module, module.patterns.repeat(2, 1, 1), generator(0)).x
    assert torch.equal(exact[0], exact[1])
    lowest = module(exact)[0]
    start = module.patterns.repeat(20, 1, 1)
    for sampler in (ICM(), SimulatedAnnealing(steps=100, start=4.0, end=0.1)):
        assert bool((module(run_chain(sampler, module, start, generator(1)).x) >= lowest - 1e-9).all())


def test_an_image_without_coupling_is_the_observed_one():
    seen = random_rows(5, 6, 3)
    module = GridMRF(image=random_rows(5, 6, 4), observed=seen, coupling=0.0).build((5, 6))
    assert torch.equal(module.ground_state(), pixels(seen))
    assert torch.equal(module.patterns[0], pixels(seen))
    assert torch.equal(module.true_image, pixels(random_rows(5, 6, 4)))


def test_the_observed_image_has_the_noise_of_the_model():
    rows = ("0" * 100,) * 100
    torch.manual_seed(0)
    module = GridMRF(image=rows, noise=0.2, values="spin").build((100, 100))
    share = float((module.patterns[0] != module.true_image).double().mean())
    assert abs(share - 0.2) < 5.5 * math.sqrt(0.2 * 0.8 / 10_000)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"image": ("01", "2")}, "'image': row 1 is '2', but the characters 0 and 1 are expected"),
        ({"image": ("01", "0")}, "'image': row 1 has 1 pixels, not 2"),
        ({"image": ("",)}, "'image': row 0 is ''"),
        ({"image": ("01",), "observed": ("01", "01")}, "'observed' has 2 rows, but 'image' has 1"),
        ({"image": ("01",), "observed": ("0",)}, "'observed': row 0 has 1 pixels, not 2"),
    ],
)
def test_what_is_no_image_is_refused(parameters, says):
    with pytest.raises(ValueError, match=says):
        GridMRF(**parameters)
