"""Bugs planted in `parallel_tempering`, the proofs that look for them, and changes that are as right."""

import math

from tests.planting import Planted, proof

PROOFS = [
    proof("chains.test_heated_energy", "test_every_row_is_divided_by_its_own_temperature", (3,)),
    proof(
        "statistics.test_parallel_tempering",
        "test_gaussians_are_stationary_at_every_temperature",
        "metropolis",
        (2,),
    ),
    proof(
        "statistics.test_parallel_tempering",
        "test_gaussians_are_stationary_at_every_temperature",
        "mala",
        (2,),
    ),
    proof(
        "components.samplers.test_parallel_tempering",
        "test_a_replica_without_a_finite_energy_is_not_exchanged_but_counted",
        math.nan,
    ),
    proof(
        "components.samplers.test_parallel_tempering",
        "test_every_replica_has_the_energy_of_its_temperature",
        (2,),
    ),
    proof("statistics.test_parallel_tempering", "test_a_whole_step_around_gibbs", 2, 2, "fixed"),
    proof(
        "statistics.test_parallel_tempering",
        "test_exchanges_are_those_of_the_papers_and_in_detailed_balance",
        3,
        1,
        to_the_letter=True,
    ),
]

BUGS = [
    Planted(
        "exchanges with the wrong sign",
        "parallel_tempering",
        "components/samplers/parallel_tempering.py",
        "(height[:-1] - height[1:])",
        "(height[1:] - height[:-1])",
    ),
    Planted(
        "exchanges by the heated energies",
        "parallel_tempering",
        "components/samplers/parallel_tempering.py",
        "finite = height.isfinite()",
        "finite = height.isfinite()\nheight = height * beta",
    ),
    Planted(
        "temperatures of replicas that lie otherwise",
        "parallel_tempering",
        "components/samplers/parallel_tempering.py",
        "torch.cat([x.new_full((x.shape[1],), level) for level in self.temperatures])",
        "x.new_tensor(self.temperatures).repeat(x.shape[1])",
    ),
    Planted(
        "what replicas remember is of other states",
        "parallel_tempering",
        "components/samplers/parallel_tempering.py",
        "replicas = self.sampler.init(heated, swapped / unit, rng)",
        "replicas = replicas._replace(x=swapped / unit)",
    ),
    Planted(
        "the upper one keeps its state",
        "parallel_tempering",
        "components/samplers/parallel_tempering.py",
        "(pad(up, (0, 0, 0, 1)) - pad(up, (0, 0, 1, 0)))",
        "pad(up, (0, 0, 0, 1))",
    ),
    Planted(
        "the same pairs always",
        "parallel_tempering",
        "components/samplers/parallel_tempering.py",
        "tried = (rank[:-1] % 2 == 0) == even",
        "tried = ((rank[:-1] % 2 == 0) == even) & (rank[:-1] % 2 == 0)",
    ),
    Planted(
        "hot gradients at the cold temperature",
        "parallel_tempering",
        "chains/heated.py",
        "gradient / self.temperature.view(-1, *[1] * (gradient.dim() - 1))",
        "gradient",
    ),
    Planted(
        "temperatures along the wrong axis",
        "parallel_tempering",
        "chains/heated.py",
        "gradient / self.temperature.view(-1, *[1] * (gradient.dim() - 1))",
        "gradient / self.temperature",
    ),
    Planted(
        "gradients in other units",
        "parallel_tempering",
        "chains/rescaled.py",
        "return energy, gradient * self.unit",
        "return energy, gradient",
    ),
]

AS_RIGHT: list[Planted] = [
    Planted(
        "even and odd pairs swapped",
        "parallel_tempering",
        "components/samplers/parallel_tempering.py",
        "torch.empty_like(height[0]).uniform_(generator=rng) < 0.5",
        "torch.empty_like(height[0]).uniform_(generator=rng) >= 0.5",
    )
]
