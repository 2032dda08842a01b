"""Bugs planted in `mala`, the proofs that look for them, and changes that are as right."""

from tests.components.samplers.proofs import stationary, walls
from tests.planting import Planted, proof

PROOFS = [
    stationary("mala", "plane"),
    stationary("mala", "banana"),
    stationary("hot mala, masses", "image"),
    stationary("cold mala, matrix", "ten"),
    walls(lambda module: module.MALA(steps=4, step_size=0.1)),
    proof("components.samplers.test_mala", "test_energy_and_gradient_are_carried_along", (2,)),
    proof(
        "components.samplers.test_mala",
        "test_one_step_is_the_formula",
        (2,),
        lambda module: module.MASSES["matrix"],
        0.4,
        to_the_letter=True,
    ),
]

BUGS = [
    Planted(
        "no kick at the beginning",
        "mala",
        "components/samplers/leapfrog.py",
        "phase.p.addcmul(step_size, gradient, value=-0.5)",
        "phase.p.clone()",
    ),
    Planted(
        "kicks uphill",
        "mala",
        "components/samplers/leapfrog.py",
        "phase.p.addcmul(step_size, gradient, value=-0.5)",
        "phase.p.addcmul(step_size, gradient, value=0.5)",
    ),
    Planted(
        "acceptance upside down",
        "mala",
        "components/samplers/leapfrog.py",
        "(before - after).div_(temperature)",
        "(after - before).div_(temperature)",
    ),
    Planted(
        "no kinetic energy in the choice",
        "mala",
        "components/samplers/leapfrog.py",
        "start.hamiltonian(state.mass), end.hamiltonian(state.mass)",
        "start.energy, end.energy",
    ),
    Planted(
        "always accepted",
        "mala",
        "components/samplers/leapfrog.py",
        "torch.empty_like(acceptance).uniform_(generator=rng) < acceptance",
        "torch.empty_like(acceptance).uniform_(generator=rng) < 2",
    ),
    Planted(
        "gradient of a refused proposal is kept",
        "mala",
        "components/samplers/leapfrog.py",
        "end.gradient.where(mask, start.gradient)",
        "end.gradient",
    ),
    Planted(
        "kinetic energy without its half",
        "mala",
        "chains/mass.py",
        "self.velocity(p).mul_(p).flatten(1).sum(1).div_(2)",
        "self.velocity(p).mul_(p).flatten(1).sum(1)",
    ),
    Planted(
        "root of a mass matrix transposed",
        "mala",
        "chains/mass.py",
        "xi.flatten(1) @ self.root.T",
        "xi.flatten(1) @ self.root",
    ),
]

AS_RIGHT: list[Planted] = [
    Planted(
        "steps of another size",
        "mala",
        "components/samplers/mala.py",
        "(2 * state.step_size).sqrt()",
        "(1.5 * state.step_size).sqrt()",
    ),
    Planted(
        "Barker's choice",
        "mala",
        "components/samplers/leapfrog.py",
        "log_ratio.clamp_(max=0).exp_()",
        "log_ratio.sigmoid()",
    ),
]
