"""Bugs planted in `denoising_score_matching`, the proofs that look for them, and changes that are as right."""

from tests.components.objectives.proofs import objectives
from tests.planting import Planted

PROOFS = [
    objectives("dsm_value_at_the_optimum", (1,)),
    objectives("dsm_value_at_the_optimum", (10,)),
    objectives("dsm_gradient_is_that_of_explicit_score_matching_on_the_noised_data", (2,)),
]

BUGS = [
    Planted(
        "target with the wrong sign",
        "denoising_score_matching",
        "components/objectives/denoising_score_matching.py",
        "gradient - xi / self.sigma",
        "gradient + xi / self.sigma",
    ),
    Planted(
        "target over sigma squared",
        "denoising_score_matching",
        "components/objectives/denoising_score_matching.py",
        "xi / self.sigma",
        "xi / self.sigma ** 2",
    ),
    Planted(
        "mean over coordinates",
        "denoising_score_matching",
        "components/objectives/denoising_score_matching.py",
        "off.square().sum(1).mean() / 2",
        "off.square().mean() / 2",
    ),
    Planted(
        "noise of variance sigma",
        "denoising_score_matching",
        "components/objectives/denoising_score_matching.py",
        "batch.add(xi, alpha=self.sigma)",
        "batch.add(xi, alpha=self.sigma ** 0.5)",
    ),
    Planted(
        "one noise for the whole batch",
        "denoising_score_matching",
        "components/objectives/denoising_score_matching.py",
        "torch.empty_like(batch).normal_(generator=context.rng)",
        "torch.empty_like(batch[:1]).normal_(generator=context.rng).expand_as(batch)",
    ),
]

AS_RIGHT: list[Planted] = [
    Planted(
        "noise of the other sign",
        "denoising_score_matching",
        "components/objectives/denoising_score_matching.py",
        "torch.empty_like(batch).normal_(generator=context.rng)",
        "torch.empty_like(batch).normal_(generator=context.rng).neg_()",
    )
]
