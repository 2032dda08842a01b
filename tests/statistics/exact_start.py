"""The test of exact samplers: chains that begin as independent draws of their target still are, some steps later.

Kolmogorov-Smirnov tests compare statistics of the chains with those of fresh draws. Whatever a wrong step does to the
law of a coordinate, the energy, the radius, a product or a sum shows, whether or not the moments do.
"""

import math
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor, nn

from ebmkit.chains.chain import Chain, run_chain
from ebmkit.components.models.banana import Banana
from ebmkit.components.models.funnel import Funnel
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.gaussian_mixture import GaussianMixture
from tests.components.oracles import generator, random_covariance, rows

#: Chains, and fresh draws. A difference of 0.01 between two distribution functions does not escape them.
DRAWS = 200_000


# Targets ------------------------------------------------------------------------------------------------------------


def _gaussian(event, covariance):
    d = math.prod(event)
    return Gaussian(mean=tuple(torch.linspace(-0.5, 1.0, d).tolist()), covariance=covariance, shape=event)


#: Target, and the shape of its states.
TARGETS = {
    "line": (_gaussian((1,), 0.6), (1,)),
    "plane": (_gaussian((2,), ((2.0, 0.9), (0.9, 0.8))), (2,)),
    "ten": (_gaussian((10,), rows(random_covariance(10, 3))), (10,)),
    "image": (_gaussian((1, 3, 3), tuple(torch.linspace(0.3, 2.0, 9).tolist())), (1, 3, 3)),
    "mixture": (GaussianMixture(means=((-1.0,), (1.5,)), covariances=(0.3, 1.0), weights=(0.3, 0.7)), (1,)),
    "two modes": (
        GaussianMixture(
            means=((-1.0, 0.0), (1.0, 1.0)), covariances=(((0.5, 0.2), (0.2, 0.4)), 1.0), weights=(0.4, 0.6)
        ),
        (2,),
    ),
    "banana": (Banana(scale=1.5, curvature=0.4), (2,)),
    "funnel": (Funnel(dim=10), (10,)),
}


def dimension(target: str) -> int:
    return math.prod(TARGETS[target][1])


@lru_cache
def module_of(target: str):
    model, event = TARGETS[target]
    return model.build(event)


@lru_cache(maxsize=4)
def draws(target: str, seed: int) -> Tensor:
    """Independent draws; nobody may write to them."""
    return module_of(target).sample_exact(DRAWS, generator(seed))


class Hotter(nn.Module):
    """`T E`, whose `exp(-E/T)` is that of E: so temperatures are tested on every target that can be drawn from."""

    def __init__(self, module, temperature):
        super().__init__()
        self.module, self.temperature = module, temperature

    def forward(self, x):
        return self.temperature * self.module(x)

    def energy_and_grad(self, x):
        energy, gradient = self.module.energy_and_grad(x)
        return self.temperature * energy, self.temperature * gradient


# Statistics ---------------------------------------------------------------------------------------------------------


def statistics(x: Tensor, module) -> dict[str, Tensor]:
    """Numbers of each state, by name."""
    flat = x.flatten(1)
    d = flat.shape[1]
    direction = torch.randn(d, generator=generator(11))
    found = {"first": flat[:, 0], "energy": module(x), "radius": torch.linalg.vector_norm(flat, dim=1)}
    if d > 1:
        found |= {"last": flat[:, -1], "sum": flat.sum(1), "across": flat @ direction}
        found |= {"product": flat[:, 0] * flat[:, -1], "difference": flat[:, 0] - flat[:, d // 2]}
    return found


@lru_cache
def fresh(target: str) -> dict[str, np.ndarray]:
    """The statistics of fresh draws, sorted."""
    with torch.no_grad():
        return {name: np.sort(s.numpy()) for name, s in statistics(draws(target, 2), module_of(target)).items()}


def kolmogorov(scaled: float) -> float:
    """The probability that the supremum of a Brownian bridge is beyond `scaled` on either side."""
    if scaled < 0.3:
        return 1.0
    return min(1.0, 2 * sum((-1) ** (k - 1) * math.exp(-2 * (k * scaled) ** 2) for k in range(1, 101)))


def two_sample_p_value(a: np.ndarray, b: np.ndarray) -> float:
    """Kolmogorov-Smirnov for two sorted samples: the asymptotic probability of a larger distance if their laws are one.

    Between two of a's values its distribution function stands still, so that the distance is largest beside one.
    """
    n, m = len(a), len(b)
    below = np.searchsorted(b, a, side="right") / m
    rank = np.arange(n + 1) / n
    distance = max(np.max(rank[1:] - below), np.max(below - rank[:-1]))
    size = math.sqrt(n * m / (n + m))
    return kolmogorov((size + 0.12 + 0.11 / size) * float(distance))


def p_values(x: Tensor, target: str) -> dict[str, float]:
    """How likely states differ as much from fresh draws, by each statistic."""
    with torch.no_grad():
        found = statistics(x, module_of(target))
    return {name: two_sample_p_value(np.sort(s.numpy()), fresh(target)[name]) for name, s in found.items()}


def run_from_exact_draws(sampler, target: str) -> Chain:
    """Chains that begin at exact draws of `exp(-E/T)`."""
    module = Hotter(module_of(target), sampler.temperature)
    return run_chain(sampler, module, draws(target, 1), generator(3), traces=True)
