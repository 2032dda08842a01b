"""Bugs planted in `diffusion_recovery`, the proofs that look for them, and changes that are as right."""

from tests.components.objectives.proofs import IMAGE, recovery
from tests.planting import Planted

PROOFS = [
    recovery("chains_are_langevin_on_the_conditional_energy", (2,)),
    recovery("tilted_energy_and_its_gradient", IMAGE),
    recovery("gradient_is_that_of_the_recovery_likelihood", (2,)),
]

BUGS = [
    Planted(
        "no precision in the chain",
        "diffusion_recovery",
        "components/models/nets/tilted.py",
        "gradient + self.precision * away",
        "gradient + away",
    ),
    Planted(
        "precision without the square",
        "diffusion_recovery",
        "components/models/nets/tilted.py",
        "sigma**-2",
        "sigma**-1",
    ),
    Planted(
        "pulled to the clean point",
        "diffusion_recovery",
        "components/objectives/diffusion_recovery.py",
        "TiltedEnergy(model, noisy, self.sigma)",
        "TiltedEnergy(model, batch, self.sigma)",
    ),
    Planted(
        "chains of the model itself",
        "diffusion_recovery",
        "components/objectives/diffusion_recovery.py",
        "TiltedEnergy(model, noisy, self.sigma)",
        "model",
    ),
    Planted(
        "phases swapped",
        "diffusion_recovery",
        "components/objectives/diffusion_recovery.py",
        "gap = energy_data - energy_model",
        "gap = energy_model - energy_data",
    ),
]

AS_RIGHT: list[Planted] = [
    Planted(
        "the quadratic written out",
        "diffusion_recovery",
        "components/models/nets/tilted.py",
        "gradient + self.precision * away",
        "gradient + (x - self.noisy) * self.precision",
    )
]
