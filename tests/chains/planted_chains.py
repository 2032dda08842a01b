"""Bugs planted in chains and their draws, the proofs that look for them, and changes that are as right."""

from tests.planting import Planted, proof

PROOFS = [
    proof("components.models.test_conv", "test_baked_is_unbaked_to_the_last_bit"),
    proof("chains.test_draws", "test_which_states_are_kept", (2,)),
]

BUGS = [
    Planted(
        "a network in training mode",
        "chains",
        "chains/energy.py",
        "module.eval()",
        "pass",
    ),
    Planted(
        "a step too few",
        "chains",
        "chains/draws.py",
        "return self.discarded + self.draws * self.thin",
        "return self.discarded + self.draws * self.thin - 1",
    ),
    Planted(
        "burn-in kept",
        "chains",
        "chains/draws.py",
        "return self.warmup + self.burn_in",
        "return self.warmup",
    ),
]

AS_RIGHT: list[Planted] = []
