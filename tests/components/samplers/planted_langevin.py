"""Bugs planted in `langevin`, the proofs that look for them, and changes that are as right."""

from tests.components.samplers.proofs import biased
from tests.planting import Planted, proof

PROOFS = [
    biased("langevin"),
    biased("hot langevin"),
    proof("components.samplers.test_langevin", "test_stationary_variance_is_the_biased_one"),
    proof("components.samplers.test_langevin", "test_clamp_keeps_positions_inside"),
    proof("components.samplers.test_langevin", "test_a_clamp_does_not_bring_back_what_ran_away", (1,)),
    proof(
        "components.samplers.test_langevin",
        "test_without_noise_it_is_gradient_descent_with_a_clipped_norm",
        (1, 4, 4),
        to_the_letter=True,
    ),
]

BUGS = [
    Planted(
        "noise off by sqrt 2",
        "langevin",
        "components/samplers/langevin.py",
        "2 * self.step_size",
        "self.step_size",
    ),
    Planted(
        "uphill",
        "langevin",
        "components/samplers/langevin.py",
        "noise.sub(drift, alpha=self.step_size)",
        "noise.add(drift, alpha=self.step_size)",
    ),
    Planted(
        "temperature scales the noise by its square",
        "langevin",
        "components/samplers/langevin.py",
        "sqrt(2 * self.step_size * self.temperature)",
        "sqrt(2 * self.step_size) * self.temperature",
    ),
    Planted(
        "temperature scales the drift too",
        "langevin",
        "components/samplers/langevin.py",
        "noise.sub(drift, alpha=self.step_size)",
        "noise.sub(drift, alpha=self.step_size * self.temperature)",
    ),
    Planted(
        "gradient clipped row by row",
        "langevin",
        "components/samplers/langevin.py",
        "torch.linalg.vector_norm(gradient.flatten(1), dim=1).view(-1, *[1] * (x.dim() - 1))",
        "torch.linalg.vector_norm(gradient, dim=-1, keepdim=True)",
    ),
    Planted(
        "short gradients made long",
        "langevin",
        "components/samplers/langevin.py",
        "(self.clip_gradient / norm).clamp(max=1)",
        "(self.clip_gradient / norm)",
    ),
    Planted(
        "what ran away is clamped",
        "langevin",
        "components/samplers/langevin.py",
        "x.clamp(*self.clamp).add_(x - x)",
        "x.clamp(*self.clamp)",
    ),
]

AS_RIGHT: list[Planted] = [
    Planted(
        "a step written out",
        "langevin",
        "components/samplers/langevin.py",
        "noise.sub(drift, alpha=self.step_size).add_(x)",
        "x - self.step_size * drift - noise",
    )
]
