"""Bugs planted in `exponential_family`, the proofs that look for them, and changes that are as right."""

from tests.components.objectives.proofs import family, patched
from tests.planting import Planted

PROOFS = [
    family("statistics_have_the_derivatives_of_autograd", (2,), lambda module: module.FULL),
    family("score_matching_by_autograd_has_its_minimum_there", 2, lambda module: module.FULL),
    family("one_step_of_gradient_descent_gets_there"),
    patched("the_closed_form_is_that_of_all_blocks_of_data", 60),
]

BUGS = [
    Planted(
        "Laplacian of a power",
        "exponential_family",
        "components/models/nets/exponential_family.py",
        "a * (a - 1) * one.pow((a - 2).clamp(min=0))",
        "a * one.pow((a - 2).clamp(min=0))",
    ),
    Planted(
        "gradient along one of two factors",
        "exponential_family",
        "components/models/nets/exponential_family.py",
        "along_one.unsqueeze(2) * units[self.first] + along_other.unsqueeze(2) * units[self.second]",
        "along_one.unsqueeze(2) * units[self.first]",
    ),
    Planted(
        "normal equations with the wrong sign",
        "exponential_family",
        "components/models/nets/exponential_family.py",
        "torch.linalg.solve(a, -b)",
        "torch.linalg.solve(a, b)",
    ),
    Planted(
        "the last block of the data",
        "exponential_family",
        "components/models/nets/exponential_family.py",
        "a += torch.einsum('nki,nli->kl', slopes, slopes)",
        "a = torch.einsum('nki,nli->kl', slopes, slopes)",
    ),
    Planted(
        "curvature summed over the data",
        "exponential_family",
        "components/models/nets/exponential_family.py",
        "(a / len(self._data))",
        "a",
    ),
    Planted(
        "no 1/2 in the distance",
        "exponential_family",
        "components/objectives/closed_form_score_matching.py",
        "off.square().sum() / 2",
        "off.square().sum()",
    ),
]

AS_RIGHT: list[Planted] = [
    Planted(
        "normal equations with signs moved",
        "exponential_family",
        "components/models/nets/exponential_family.py",
        "torch.linalg.solve(a, -b).to(dtype)",
        "-torch.linalg.solve(a, b).to(dtype)",
    )
]
