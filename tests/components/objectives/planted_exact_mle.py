"""Bugs planted in `exact_mle`, the proofs that look for them, and changes that are as right."""

from tests.components.objectives.proofs import exact_mle
from tests.planting import Planted

PROOFS = [
    exact_mle("gradient_is_data_phase_minus_model_phase_by_enumeration", (2,), "spin"),
    exact_mle("gradient_is_data_phase_minus_model_phase_by_quadrature", 1),
    exact_mle("gradient_is_data_phase_minus_model_phase_by_quadrature", 2),
    exact_mle("a_mixture_that_does_not_know_log_z_is_integrated"),
    exact_mle("mass_at_the_edge_is_seen"),
    exact_mle("half_a_cell_belongs_to_the_ends_of_the_grid", 2, 10),
]

BUGS = [
    Planted(
        "log Z with the wrong sign",
        "exact_mle",
        "components/objectives/exact_mle.py",
        "energy_data + log_z",
        "energy_data - log_z",
    ),
    Planted(
        "log Z without a gradient",
        "exact_mle",
        "components/objectives/exact_mle.py",
        "energy_data + log_z",
        "energy_data + log_z.detach()",
    ),
    Planted(
        "no cell in the quadrature",
        "exact_mle",
        "components/objectives/nets/normaliser.py",
        "log_z + grid.log_cell",
        "log_z",
    ),
    Planted(
        "the cell of one side",
        "exact_mle",
        "maths/quadrature.py",
        "(self.width / (len(self.unit) - 1)).log().sum()",
        "(self.width / (len(self.unit) - 1)).log()[0]",
    ),
    Planted(
        "as many cells as points",
        "exact_mle",
        "maths/quadrature.py",
        "len(self.unit) - 1",
        "len(self.unit)",
    ),
    Planted(
        "ends of the grid with full weight",
        "exact_mle",
        "maths/quadrature.py",
        "(1 - at_end.to(log_p.dtype) / 2).log()",
        "(1 - at_end.to(log_p.dtype) / 2).log() * 0",
    ),
    Planted(
        "states enumerated upside down",
        "exact_mle",
        "maths/enumeration.py",
        "-energy(states(block, event, values, like.dtype))",
        "energy(states(block, event, values, like.dtype))",
    ),
    Planted(
        "a box with a margin on one side",
        "exact_mle",
        "components/objectives/nets/normaliser.py",
        "high + margin * span",
        "high",
    ),
    Planted(
        "a normaliser of components that are not normalised",
        "exact_mle",
        "components/objectives/nets/normaliser.py",
        "hasattr(model, 'log_z') and getattr(model, 'normalised', True)",
        "hasattr(model, 'log_z')",
    ),
]

AS_RIGHT: list[Planted] = [
    Planted(
        "weights shifted before they are summed",
        "exact_mle",
        "components/objectives/nets/normaliser.py",
        "log_z = log_sum(log_p)",
        "log_z = log_sum(log_p - 5) + 5",
    )
]
