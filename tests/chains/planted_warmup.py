"""Bugs planted in the warm-up, the proofs that look for them, and changes that are as right."""

from tests.components.samplers.proofs import warm
from tests.planting import Planted, proof

PROOFS = [
    warm("test_draws_behind_a_warm_up_are_exact", lambda module: module.SAMPLERS["mala"]),
    proof("statistics.test_nuts", "test_chains_from_elsewhere_find_the_moments", ("gaussian", (10,), {})),
    warm("test_the_target_acceptance_is_reached", lambda module: module.SAMPLERS["hmc"], 1e-3, 0.9),
    warm(
        "test_the_metric_finds_the_variances_of_a_badly_scaled_gaussian",
        lambda module: module.SAMPLERS["hmc"],
        (10,),
    ),
    *(warm("test_short_warm_ups_end_well", steps) for steps in (20, 40, 60)),
    warm("test_a_bent_target_and_few_chains"),
    proof("chains.test_warmup", "test_draws_come_from_a_chain_that_no_longer_changes"),
    warm("test_nothing_changes_behind_a_warm_up", lambda module: module.SAMPLERS["hmc"]),
    warm("test_dual_averaging_is_the_recursion_of_its_paper", to_the_letter=True),
]

BUGS = [
    Planted(
        "tuned on in the draws",
        "warm-up",
        "chains/draws.py",
        "self._keep(info)",
        "self._keep(info)\n"
        "if self._warmup:\n"
        "    target = self.sampler.target_acceptance or 0\n"
        "    more = ((info.acceptance.mean() - target) / 2).exp()\n"
        "    self.state = self.state._replace(step_size=self.state.step_size * more)",
    ),
    Planted(
        "dual averaging with the wrong sign",
        "warm-up",
        "chains/warmup.py",
        "(target - acceptance - self.error)",
        "(acceptance - target - self.error)",
    ),
    Planted(
        "variances taken for masses",
        "warm-up",
        "chains/warmup.py",
        "torch.where(variance == 0, state.mass.inverse, variance)",
        "torch.where(variance == 0, state.mass.inverse, 1 / variance)",
    ),
    Planted(
        "the last step size tried, not the mean",
        "warm-up",
        "chains/warmup.py",
        "state if step < self.steps else state._replace(step_size=self.average.log_mean.exp())",
        "state",
    ),
]

AS_RIGHT: list[Planted] = [
    Planted(
        "a smaller first guess",
        "warm-up",
        "chains/warmup.py",
        "(10 * step_size).log()",
        "(5 * step_size).log()",
    )
]
