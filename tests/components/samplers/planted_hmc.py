"""Bugs planted in `hmc`, the proofs that look for them, and changes that are as right."""

from tests.components.samplers.proofs import second_order, stationary, walls
from tests.planting import Planted, proof

PROOFS = [
    stationary("hmc", "plane"),
    stationary("hmc", "banana"),
    stationary("hot hmc, masses", "image"),
    stationary("hmc, matrix", "ten"),
    stationary("cold hmc, matrix", "two modes"),
    walls(lambda module: module.HMC(steps=4, step_size=0.2, leapfrog_steps=3)),
    proof("components.samplers.test_hmc", "test_one_gradient_a_leapfrog_step", (2,), 0.3),
    second_order("one mass"),
    second_order("masses"),
    proof("components.samplers.test_hmc", "test_one_step_is_the_algorithm", (10,), True, to_the_letter=True),
]

BUGS = [
    Planted(
        "half a kick too many",
        "hmc",
        "components/samplers/leapfrog.py",
        "-1 if left else -0.5",
        "-1",
    ),
    Planted(
        "half a kick too few",
        "hmc",
        "components/samplers/leapfrog.py",
        "-1 if left else -0.5",
        "-0.5",
    ),
    Planted(
        "drift without masses",
        "hmc",
        "components/samplers/leapfrog.py",
        "x.addcmul(step_size, mass.velocity(p))",
        "x.addcmul(step_size, p)",
    ),
    Planted(
        "temperature of the throw, not of the choice",
        "hmc",
        "components/samplers/leapfrog.py",
        "(before - after).div_(temperature)",
        "(before - after)",
    ),
    Planted(
        "energy of a refused proposal is kept",
        "hmc",
        "components/samplers/leapfrog.py",
        "end.energy.where(accepted, start.energy)",
        "end.energy",
    ),
    Planted(
        "not a number is accepted",
        "hmc",
        "components/samplers/leapfrog.py",
        "log_ratio.clamp_(max=0).exp_().masked_fill_(diverged, 0)",
        "log_ratio.clamp_(max=0).exp_().nan_to_num_(1.0)",
    ),
    Planted(
        "temperature of the choice, not of the throw",
        "hmc",
        "components/samplers/hmc.py",
        "state.mass.momentum(state.x, rng, self.temperature)",
        "state.mass.momentum(state.x, rng)",
    ),
    Planted(
        "momentum not drawn anew",
        "hmc",
        "components/samplers/hmc.py",
        "state.mass.momentum(state.x, rng, self.temperature)",
        "state.mass.momentum(state.x, torch.Generator().manual_seed(0), self.temperature)",
    ),
    Planted(
        "length depends on where a chain stands",
        "hmc",
        "components/samplers/hmc.py",
        "torch.empty_like(state.energy).uniform_(1 - self.jitter, 1 + self.jitter, generator=rng)",
        "1 + self.jitter * state.energy.sin()",
    ),
    Planted(
        "jitter behind the trajectory",
        "hmc",
        "components/samplers/hmc.py",
        "end = leapfrog(energy, start, eps, state.mass, self.leapfrog_steps)",
        "end = leapfrog(energy, start, state.step_size, state.mass, self.leapfrog_steps)\n"
        "end = end._replace(x=start.x + (end.x - start.x) * eps / state.step_size)",
    ),
    Planted(
        "no choice at the end",
        "hmc",
        "components/samplers/hmc.py",
        "choose(state, start, end, self.temperature, rng)",
        "choose(state, start, end, 1e9, rng)",
    ),
    Planted(
        "kinetic energy over the last axis only",
        "hmc",
        "chains/mass.py",
        "self.velocity(p).mul_(p).flatten(1).sum(1)",
        "self.velocity(p).mul_(p).view(len(p), -1, p.shape[-1])[:, 0].sum(1)",
    ),
    Planted(
        "masses thrown upside down",
        "hmc",
        "chains/mass.py",
        "cls(inverse, inverse.rsqrt())",
        "cls(inverse, inverse.sqrt())",
    ),
    Planted(
        "mass matrix not inverted",
        "hmc",
        "chains/mass.py",
        "torch.cholesky_inverse(factor)",
        "mass",
    ),
]

AS_RIGHT: list[Planted] = [
    Planted(
        "steps of another size",
        "hmc",
        "components/samplers/hmc.py",
        "eps = state.step_size",
        "eps = 0.8 * state.step_size",
    ),
    Planted(
        "one of two lengths",
        "hmc",
        "components/samplers/hmc.py",
        "torch.empty_like(state.energy).uniform_(1 - self.jitter, 1 + self.jitter, generator=rng)",
        "torch.empty_like(state.energy).bernoulli_(0.5, generator=rng).mul_(2 * self.jitter).add_(1 - self.jitter)",
    ),
    Planted(
        "thrown the other way",
        "hmc",
        "components/samplers/hmc.py",
        "state.mass.momentum(state.x, rng, self.temperature)",
        "-state.mass.momentum(state.x, rng, self.temperature)",
    ),
    Planted(
        "kicks too weak between drifts, forwards and backwards alike",
        "hmc",
        "components/samplers/leapfrog.py",
        "-1 if left else -0.5",
        "-0.5",
    ),
    Planted(
        "kinetic energy of whitened momenta",
        "hmc",
        "chains/mass.py",
        "self.velocity(p).mul_(p).flatten(1).sum(1).div_(2)",
        "(p.flatten(1) * self.velocity(p).flatten(1)).sum(1) * 0.5",
    ),
]
