"""Bugs planted in `gibbs`, the proofs that look for them, and changes that are as right."""

from tests.components.samplers.proofs import table
from tests.planting import Planted, proof

PROOFS = [
    table("image", "fixed", 1.5),
    table("lattice", "block", 1.5),
    table("lattice", "random", 1.5),
    proof("statistics.test_discrete_samplers", "test_chains_come_from_everywhere_to_everywhere", "fixed"),
    proof(
        "statistics.test_discrete_samplers",
        "test_a_random_sweep_is_reversible",
        "three spins",
        0.6,
        to_the_letter=True,
    ),
    proof(
        "statistics.test_discrete_samplers",
        "test_a_fixed_sweep_is_the_product_of_its_draws",
        "three spins",
        1.7,
        to_the_letter=True,
    ),
]

BUGS = [
    Planted(
        "neighbours of the sweep before",
        "gibbs",
        "components/samplers/gibbs.py",
        "model.draw_units(units, sites, self.temperature, rng)",
        "model.draw_units(state.x.flatten(1), sites, self.temperature, rng)",
    ),
    Planted(
        "all units at once",
        "gibbs",
        "components/samplers/gibbs.py",
        "return model.blocks()",
        "return [torch.arange(count, device=device)]",
    ),
    Planted(
        "upside down",
        "gibbs",
        "maths/two_valued.py",
        "low + (high - low) * is_high",
        "high - (high - low) * is_high",
    ),
    Planted(
        "temperature forgotten",
        "gibbs",
        "components/samplers/gibbs.py",
        "model.draw_units(units, sites, self.temperature, rng)",
        "model.draw_units(units, sites, 1.0, rng)",
    ),
    Planted(
        "the last unit never drawn",
        "gibbs",
        "components/samplers/gibbs.py",
        "torch.split(torch.arange(count, device=device), 1)",
        "torch.split(torch.arange(count - 1, device=device), 1)",
    ),
]

AS_RIGHT: list[Planted] = [
    Planted(
        "units in reverse order",
        "gibbs",
        "components/samplers/gibbs.py",
        "torch.arange(count, device=device)",
        "torch.arange(count, device=device).flip(0)",
    )
]
