"""Bugs planted in `gibbs_with_gradients`, the proofs that look for them, and changes that are as right."""

import math

from tests.components.samplers.proofs import table
from tests.planting import Planted, proof

PROOFS = [
    table("image", "gradients", 1.5),
    table("torus", "gradients", 1.0),
    proof("statistics.test_discrete_samplers", "test_what_is_cached_is_that_of_where_the_chain_stands"),
    proof("components.samplers.test_gibbs", "test_energy_and_gradient_go_along_with_the_position", (2,)),
    proof(
        "statistics.test_discrete_samplers",
        "test_flips_to_where_there_is_no_energy_are_refused_and_counted",
        (0.0, 1.0),
        math.nan,
    ),
    proof(
        "statistics.test_discrete_samplers",
        "test_gradients_propose_and_energies_decide",
        "crooked spins",
        2.3,
        to_the_letter=True,
    ),
]

BUGS = [
    Planted(
        "reverse proposal forgotten",
        "gibbs_with_gradients",
        "components/samplers/gibbs_with_gradients.py",
        "(height - proposed) / self.temperature + back - forth",
        "(height - proposed) / self.temperature",
    ),
    Planted(
        "Hastings term with the wrong sign",
        "gibbs_with_gradients",
        "components/samplers/gibbs_with_gradients.py",
        "(height - proposed) / self.temperature + back - forth",
        "(height - proposed) / self.temperature - back + forth",
    ),
    Planted(
        "temperature of the proposal, not of the choice",
        "gibbs_with_gradients",
        "components/samplers/gibbs_with_gradients.py",
        "(height - proposed) / self.temperature",
        "height - proposed",
    ),
    Planted(
        "gradient left behind",
        "gibbs_with_gradients",
        "components/samplers/gibbs_with_gradients.py",
        "torch.where(wider, slope, gradient)",
        "gradient",
    ),
    Planted(
        "flips the unit that promises least",
        "gibbs_with_gradients",
        "components/samplers/gibbs_with_gradients.py",
        "2 * x - self.both",
        "self.both - 2 * x",
    ),
    Planted(
        "not a number is accepted",
        "gibbs_with_gradients",
        "components/samplers/gibbs_with_gradients.py",
        "torch.where(finite, log_ratio, -torch.inf)",
        "log_ratio.nan_to_num()",
    ),
]

AS_RIGHT: list[Planted] = [
    Planted(
        "greedier proposals",
        "gibbs_with_gradients",
        "components/samplers/gibbs_with_gradients.py",
        "(gain / 2).flatten(1)",
        "(gain / 1.3).flatten(1)",
    )
]
