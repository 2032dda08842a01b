"""Bugs planted in `metropolis`, the proofs that look for them, and changes that are as right."""

from tests.components.samplers.proofs import stationary, walls
from tests.planting import Planted, proof

PROOFS = [
    stationary("walk", "plane"),
    stationary("independent", "line"),
    stationary("hot walk", "two modes"),
    stationary("independent", "image"),
    walls(lambda module: module.Metropolis(steps=4, scale=0.5)),
    proof("statistics.test_discrete_samplers", "test_a_walk_on_a_few_numbers"),
    proof("components.samplers.test_metropolis", "test_the_energy_of_a_state_is_carried_along", (2,), None),
]

BUGS = [
    Planted(
        "acceptance upside down",
        "metropolis",
        "components/samplers/metropolis.py",
        "(height - proposed) / self.temperature",
        "(proposed - height) / self.temperature",
    ),
    Planted(
        "no Hastings term",
        "metropolis",
        "components/samplers/metropolis.py",
        "log_ratio = log_ratio + self._log_q(x, center) - self._log_q(proposal, center)",
        "pass",
    ),
    Planted(
        "Hastings term with the wrong sign",
        "metropolis",
        "components/samplers/metropolis.py",
        "log_ratio + self._log_q(x, center) - self._log_q(proposal, center)",
        "log_ratio - self._log_q(x, center) + self._log_q(proposal, center)",
    ),
    Planted(
        "Hastings term of the first row of an image",
        "metropolis",
        "components/samplers/metropolis.py",
        "(x - center).flatten(1).square()",
        "(x - center).view(len(x), -1, x.shape[-1])[:, 0].square()",
    ),
    Planted(
        "temperature forgotten",
        "metropolis",
        "components/samplers/metropolis.py",
        "(height - proposed) / self.temperature",
        "height - proposed",
    ),
    Planted(
        "not a number becomes zero and is accepted",
        "metropolis",
        "components/samplers/metropolis.py",
        "proposed = energy(proposal)",
        "proposed = energy(proposal).nan_to_num()",
    ),
    Planted(
        "not a number is accepted",
        "metropolis",
        "components/samplers/metropolis.py",
        "torch.where(finite, log_ratio, -torch.inf)",
        "torch.where(finite, log_ratio, 0.0)",
    ),
    Planted(
        "energy of a refused proposal is kept",
        "metropolis",
        "components/samplers/metropolis.py",
        "torch.where(accepted, proposed, height)",
        "proposed",
    ),
    Planted(
        "one coin for all chains",
        "metropolis",
        "components/samplers/metropolis.py",
        "torch.empty_like(proposed).uniform_(generator=rng)",
        "torch.empty_like(proposed[:1]).uniform_(generator=rng)",
    ),
]

AS_RIGHT: list[Planted] = [
    Planted(
        "antithetic proposals",
        "metropolis",
        "components/samplers/metropolis.py",
        "torch.empty_like(x).normal_(0, self.scale, generator=rng)",
        "torch.empty_like(x).normal_(0, self.scale, generator=rng).neg_()",
    ),
    Planted(
        "noise handed to the chains in another order",
        "metropolis",
        "components/samplers/metropolis.py",
        "torch.empty_like(x).normal_(0, self.scale, generator=rng)",
        "torch.empty_like(x).normal_(0, self.scale, generator=rng).flip(0)",
    ),
    Planted(
        "coins compared by their logarithms",
        "metropolis",
        "components/samplers/metropolis.py",
        "torch.empty_like(proposed).uniform_(generator=rng) < acceptance",
        "torch.empty_like(proposed).uniform_(generator=rng).log() < acceptance.log()",
    ),
]
