"""Bugs planted in `mixed_mala`, the proofs that look for them, and changes that are as right."""

from tests.components.samplers.proofs import stationary, walls
from tests.planting import Planted, proof

PROOFS = [
    stationary("mixed", "plane"),
    stationary("hot mixed", "two modes"),
    stationary("mixed", "image"),
    walls(lambda module: module.MixedMALA(steps=4, step_sizes=(0.02, 0.2), scales=(0.6, 1.0))),
    proof("components.samplers.test_mixed_mala", "test_energy_and_gradient_are_carried_along", (2,)),
    proof("components.samplers.test_mixed_mala", "test_one_step_is_the_formula", (2,), 0.4, to_the_letter=True),
]


def _planted(title: str, old: str, new: str) -> Planted:
    return Planted(title, "mixed_mala", "components/samplers/mixed_mala.py", old, new)


BUGS = [
    _planted("acceptance upside down", "(height - proposed) / self.temperature", "(proposed - height)"),
    _planted("no ratio of proposals", "torch.where(jumps, independent, local)", "torch.zeros_like(local)"),
    _planted("jumps without their ratio", "torch.where(jumps, independent, local)", "torch.where(jumps, 0.0, local)"),
    _planted("momenta of another temperature", "self.temperature**0.5 * xi", "1.0 * xi"),
    _planted("kicks uphill", "p.addcmul(eta, gradient, value=-0.5)", "p.addcmul(eta, gradient, value=0.5)"),
    _planted("gradient of a refused proposal is kept", "torch.where(mask, slope, gradient)", "slope"),
    _planted("energy of a refused proposal is kept", "torch.where(accepted, proposed, height)", "proposed"),
    _planted(
        "not a number is accepted", "torch.where(finite, log_ratio, -torch.inf)", "torch.where(finite, log_ratio, 0.0)"
    ),
    _planted(
        "kind of proposal by state", "single.clone().uniform_(generator=rng) < self.jump", "height.view_as(single) > 1"
    ),
]

AS_RIGHT: list[Planted] = [
    _planted(
        "antithetic noise",
        "torch.empty_like(x).normal_(generator=rng)",
        "torch.empty_like(x).normal_(generator=rng).neg_()",
    ),
    _planted(
        "more jumps",
        "single.clone().uniform_(generator=rng) < self.jump",
        "single.clone().uniform_(generator=rng) < 2 * self.jump",
    ),
]
