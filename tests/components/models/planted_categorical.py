"""Bugs planted in categorical units, the proofs that look for them, and changes that are as right."""

from tests.planting import Planted, proof

MODELS, SAMPLERS, OBJECTIVES, METRICS = (
    "components.models.test_categorical",
    "statistics.test_categorical_samplers",
    "components.objectives.test_categorical_objectives",
    "components.metrics.test_categorical_metrics",
)

PROOFS = [
    *(
        proof(MODELS, "test_energies_and_gradients_are_those_of_pairs", kind, event, 3)
        for kind in ("lattice", "torus", "graph", "machine")
        for event in ((2,), (1, 4, 4))
    ),
    proof(MODELS, "test_log_z_and_conditionals_are_those_of_enumeration", "torus", (3,), 3),
    proof(MODELS, "test_log_z_and_conditionals_are_those_of_enumeration", "lattice", (1, 2, 2), 3),
    proof(MODELS, "test_log_z_and_conditionals_are_those_of_enumeration", "machine", (2,), 5),
    proof(MODELS, "test_log_z_and_conditionals_are_those_of_enumeration", "graph", (3,), 3),
    proof(MODELS, "test_the_gradient_of_the_likelihood_is_data_minus_model", (3,), 3),
    proof(MODELS, "test_numbers_and_states_are_each_others_inverse"),
    proof(MODELS, "test_a_state_that_is_not_a_number_has_no_energy_and_a_draw_from_nothing_is_none"),
    proof(MODELS, "test_what_they_offer_follows_from_the_number_of_states"),
    proof(MODELS, "test_units_without_couplings_are_not_connected"),
    proof(MODELS, "test_they_obey_the_laws", lambda module: module.CategoricalBoltzmann(shape=(2,))),
    proof(SAMPLERS, "test_a_sweep_is_the_product_of_its_draws", "ring", "block", 1.7, to_the_letter=True),
    proof(SAMPLERS, "test_a_sweep_is_the_product_of_its_draws", "two units", "fixed", 1.0, to_the_letter=True),
    proof(SAMPLERS, "test_a_heated_energy_is_that_at_its_temperature", "fixed"),
    proof(SAMPLERS, "test_gradients_propose_and_energies_decide", "two units", 2.3, to_the_letter=True),
    proof(SAMPLERS, "test_gradients_propose_and_energies_decide", "crooked", 1.0, to_the_letter=True),
    proof(SAMPLERS, "test_modes_are_those_of_the_conditionals", "ring", "block"),
    proof(SAMPLERS, "test_a_unit_without_a_preference_keeps_its_category"),
    proof(SAMPLERS, "test_draws_have_the_probabilities_of_their_logits"),
    proof(SAMPLERS, "test_chains_from_noise_reach_it", "two units"),
    proof(SAMPLERS, "test_gradients_and_odds_are_those_of_one_hot_vectors_and_are_heated"),
    proof(
        SAMPLERS,
        "test_chains_that_begin_in_the_target_stay_in_it",
        "graph",
        "exact",
        lambda module: module.torch.float64,
    ),
    proof(OBJECTIVES, "test_losses_and_gradients_are_those_of_enumeration", (2,), 3),
    proof(METRICS, "test_the_mean_weight_is_exact_over_all_paths"),
    proof(METRICS, "test_log_odds_of_the_path_are_its_energy_differences", True, 0.3),
    proof(METRICS, "test_log_odds_of_the_path_are_its_energy_differences", False, 0.3),
    proof(METRICS, "test_independent_units_are_normalised_and_have_the_frequencies_of_the_data"),
    proof(METRICS, "test_the_verdict_does_not_depend_on_the_numbers_of_categories", (4,)),
]

NETS = "components/models/nets"


def bugs(file: str, *changes: tuple[str, str, str]) -> list[Planted]:
    return [Planted(name, "categorical", file, old, new) for name, old, new in changes]


BUGS = [
    *bugs(
        f"{NETS}/categorical_pairwise.py",
        ("pairs counted twice", "-(hot * (field + self.bias())).sum((1, 2)) / 2", "-(hot * field).sum((1, 2))"),
        (
            "fields counted by half",
            "-(hot * (field + self.bias())).sum((1, 2)) / 2",
            "-(hot * field).sum((1, 2)) / 2",
        ),
        ("gradient with the wrong sign", "-field.view(*x.shape, -1)", "field.view(*x.shape, -1)"),
        (
            "draws at temperature 1",
            "draw_categories(self.log_odds(units, sites) / heat, rng)",
            "draw_categories(self.log_odds(units, sites), rng)",
        ),
        (
            "draws upside down",
            "draw_categories(self.log_odds(units, sites) / heat, rng)",
            "draw_categories(-self.log_odds(units, sites) / heat, rng)",
        ),
        (
            "exact draws of other states",
            "enumeration.draw(weights, n, rng, len(values))",
            "enumeration.draw(weights.flip(0), n, rng, len(values))",
        ),
        ("NaN weights are hidden", "drawn + (total - total)", "drawn"),
    ),
    *bugs(
        f"{NETS}/potts.py",
        ("bonds around every axis", "self.periodic and length > 2", "self.periodic and length > 1"),
        (
            "the field of a table without h",
            "(around * bonds.unsqueeze(2)).sum(1) + self.field.index_select(0, sites)",
            "(around * bonds.unsqueeze(2)).sum(1)",
        ),
        (
            "shifted along the axis of categories",
            "enumerate(self.event, start=1)",
            "enumerate(self.event, start=2)",
        ),
        (
            "a graph of h alone at some units",
            "self.matrix.index_select(0, sites) @ hot",
            "0 * self.matrix.index_select(0, sites) @ hot",
        ),
    ),
    *bugs(
        f"{NETS}/categorical_boltzmann.py",
        (
            "tables not transposed",
            "upper.transpose(1, 2).reshape(units * categories, -1)",
            "upper.transpose(1, 2).transpose(0, 3).reshape(units * categories, -1)",
        ),
        ("couplings of one direction", "return matrix + matrix.T", "return matrix"),
        ("pairs of the lower triangle", "connected.triu(1).nonzero().T", "connected.triu(0).nonzero().T"),
    ),
    *bugs(
        "maths/categories.py",
        ("draws at twice the temperature", "logits.softmax(-1)", "(logits / 2).softmax(-1)"),
        ("clocks of squared rates", "(p / log_u).argmin(-1)", "(p.square() / log_u).argmin(-1)"),
        ("not a number is category 0", "torch.where(p[..., 0].isnan(), p[..., 0], first)", "first"),
        ("log probabilities that are not normalised", "logits.log_softmax(-1).gather", "logits.gather"),
    ),
    *bugs(
        "chains/one_hot.py",
        ("not a number has no category", "return hot + (x - x).unsqueeze(-1)", "return hot"),
    ),
    *bugs(
        "maths/enumeration.py",
        (
            "digits the other way round",
            "torch.arange(units - 1, -1, -1, device=numbers.device)",
            "torch.arange(units, device=numbers.device)",
        ),
        ("as many units as with two values", "int(bound / log2(len(values)) + 1e-9)", "bound"),
    ),
    *bugs(
        "components/samplers/gibbs_with_gradients.py",
        (
            "no change is proposed too",
            "gain.scatter(-1, present, -torch.inf)",
            "gain",
        ),
        (
            "proposes what gains least",
            "gradient.gather(-1, present) - gradient",
            "gradient - gradient.gather(-1, present)",
        ),
        ("back by the same change", "reverse = unit * self.categories + units.gather(1, unit).long()", "reverse = i"),
    ),
    *bugs(
        "components/samplers/icm.py",
        ("the least probable category", "odds.argmax(2).to(present.dtype)", "odds.argmin(2).to(present.dtype)"),
        ("ties change", "at_present == most", "at_present > most"),
    ),
    *bugs(
        "components/objectives/ratio_matching.py",
        (
            "Brier's score of the present category alone",
            "(hot - p).square().sum((1, 2)).mean() / 2",
            "(hot * (1 - p)).square().sum((1, 2)).mean() / 2",
        ),
        ("twice the score", "(hot - p).square().sum((1, 2)).mean() / 2", "(hot - p).square().sum((1, 2)).mean()"),
    ),
    *bugs(
        "components/inits/nets/noise_starts.py",
        (
            "the last category never",
            "x.random_(len(self.unit_values), generator=rng)",
            "x.random_(len(self.unit_values) - 1, generator=rng)",
        ),
    ),
    *bugs(
        "contracts/unit_abilities.py",
        ("odds that stay cold", "found / self.temperature.view(-1, *[1] * (found.dim() - 1))", "found"),
    ),
    *bugs(
        "components/metrics/nets/annealed.py",
        ("energies for log odds", "-energies.T", "energies.T"),
    ),
    *bugs(
        "components/metrics/nets/bases.py",
        (
            "a base upside down",
            "-(hot.flatten(1, -2) * self.log_p).sum((1, 2))",
            "(hot.flatten(1, -2) * self.log_p).sum((1, 2))",
        ),
        (
            "frequencies of no prior",
            "torch.stack([(flat == category).sum(0) for category in range(categories)], 1) + PRIOR",
            "torch.stack([(flat == category).sum(0) for category in range(categories)], 1)",
        ),
    ),
    *bugs(
        "components/metrics/verdict.py",
        (
            "numbers of categories as quantities",
            "(one_hot(points, categories).flatten(1) for points in (x, y))",
            "(points for points in (x, y))",
        ),
    ),
]

AS_RIGHT = (
    bugs(
        f"{NETS}/categorical_pairwise.py",
        (
            "logits shifted by a number",
            "draw_categories(self.log_odds(units, sites) / heat, rng)",
            "draw_categories(self.log_odds(units, sites) / heat + 3.0, rng)",
        ),
    )
    + bugs(
        f"{NETS}/potts.py",
        ("always by shifts", "sites is None or 2 * len(sites) >= hot.shape[1]", "sites is None or len(sites) >= 1"),
        ("always by the table", "sites is None or 2 * len(sites) >= hot.shape[1]", "sites is None"),
    )
    + bugs(
        "maths/categories.py",
        (
            "log probabilities by hand",
            "logits.log_softmax(-1).gather",
            "(logits - logits.logsumexp(-1, keepdim=True)).gather",
        ),
    )
)
