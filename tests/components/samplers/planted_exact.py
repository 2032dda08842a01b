"""Bugs planted in `exact`, the proofs that look for them, and changes that are as right."""

from tests.planting import Planted, proof

PROOFS = [proof("statistics.test_discrete_samplers", "test_exact_draws_have_the_law_of_the_table", "three spins")]

BUGS = [
    Planted(
        "one draw for all chains",
        "exact",
        "components/samplers/exact.py",
        "energy.ask(SampleExact).sample_exact(len(state.x), rng)",
        "energy.ask(SampleExact).sample_exact(1, rng).repeat(len(state.x), *[1] * (state.x.dim() - 1))",
    )
]

AS_RIGHT: list[Planted] = []
