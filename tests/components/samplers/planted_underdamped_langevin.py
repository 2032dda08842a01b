"""Bugs planted in `underdamped_langevin`, the proofs that look for them, and changes that are as right."""

from tests.components.samplers.proofs import biased, underdamped
from tests.planting import Planted

PROOFS = [
    underdamped("test_chains_from_elsewhere_reach_the_biased_variance", (2,), {}, 1.0),
    underdamped("test_chains_begin_with_the_speed_that_free_ones_keep", (2,), {}),
    biased("underdamped"),
    biased("hot underdamped"),
    underdamped("test_without_noise_it_is_sgd_with_momentum", (2,), 0.9, to_the_letter=True),
]

BUGS = [
    Planted(
        "noise off by sqrt 2",
        "underdamped_langevin",
        "components/samplers/underdamped_langevin.py",
        "sqrt(2 * (1 - self.momentum) * self.step_size * self.temperature)",
        "sqrt((1 - self.momentum) * self.step_size * self.temperature)",
    ),
    Planted(
        "noise of the full friction",
        "underdamped_langevin",
        "components/samplers/underdamped_langevin.py",
        "sqrt(2 * (1 - self.momentum) * self.step_size * self.temperature)",
        "sqrt(2 * self.step_size * self.temperature)",
    ),
    Planted(
        "momentum not kept",
        "underdamped_langevin",
        "components/samplers/underdamped_langevin.py",
        "UnderdampedState(x + v, v)",
        "UnderdampedState(x + v, state.v)",
    ),
    Planted(
        "chains begin at rest",
        "underdamped_langevin",
        "components/samplers/underdamped_langevin.py",
        "self.noise(x, rng) / sqrt(1 - self.momentum**2)",
        "torch.zeros_like(x)",
    ),
]

AS_RIGHT: list[Planted] = [
    Planted(
        "noise of the other sign",
        "underdamped_langevin",
        "components/samplers/underdamped_langevin.py",
        "(self.momentum * v).sub_(gradient, alpha=self.step_size).add_",
        "(self.momentum * v).sub_(gradient, alpha=self.step_size).sub_",
    )
]
