"""Bugs planted in the deep Boltzmann machine, in models with latent states, and in the objective that trains both, the
proofs that look for them, and changes that are as right."""

from tests.planting import Planted, proof

DBM, LATENT, OBJECTIVE, AIS = (
    "components.models.test_dbm",
    "components.models.test_latent",
    "components.objectives.test_variational_mle",
    "components.metrics.test_ais",
)

PROOFS = [
    proof(DBM, "test_energies_and_the_normaliser_are_sums_over_all_states", (3,), (2, 4, 1), "spin"),
    proof(DBM, "test_energies_and_the_normaliser_are_sums_over_all_states", (2,), (4, 3), "binary"),
    proof(DBM, "test_the_gradient_of_the_likelihood_is_data_minus_model", (2,), (3, 1, 2), "spin"),
    proof(DBM, "test_conditionals_of_all_units_are_energy_differences", (2,), (3, 1, 2), "spin"),
    proof(DBM, "test_sweeps_are_products_of_exact_draws", "spin", 1.7, "block", to_the_letter=True),
    proof(DBM, "test_exact_samples_have_the_probabilities_of_all_states", "spin", (2, 4)),
    proof(DBM, "test_hidden_units_start_by_a_pass_upwards_with_twice_the_input", "spin", to_the_letter=True),
    proof(DBM, "test_the_bound_is_below_the_likelihood_and_no_pass_lowers_it", (1, 2, 2), (2, 4, 1), "spin"),
    proof(DBM, "test_the_bound_and_its_gradient_are_those_of_the_sum_over_independent_units", "spin"),
    proof(DBM, "test_a_fixed_point_has_the_means_of_its_neighbours", "binary"),
    proof(DBM, "test_parts_are_machines_of_copies", (2, 3, 2), "binary"),
    proof(DBM, "test_parts_see_two_copies_and_hidden_units_with_twice_the_input", "binary"),
    proof(DBM, "test_the_transpose_of_the_lowest_part_is_its_second_copy", "spin"),
    proof(OBJECTIVE, "test_with_an_exact_posterior_the_mean_gradient_is_that_of_the_likelihood", "dbm", "spin"),
    proof(OBJECTIVE, "test_the_mean_gradient_is_that_of_the_bound", "binary"),
    proof(
        OBJECTIVE,
        "test_the_negative_phase_has_the_states_where_chains_ended",
        "dbm",
        lambda module: module.Persistent(chains=8),
    ),
    proof(LATENT, "test_factor_analysis_is_a_gaussian", (2,), 3),
    proof(LATENT, "test_a_prior_of_two_values_makes_a_mixture", (2,), 3, "spin"),
    proof(LATENT, "test_units_of_a_gaussian_given_all_others", [2, 3, 4], 2.5),
    proof(LATENT, "test_units_of_a_gaussian_given_all_others", [3], 2.5),
    proof(LATENT, "test_units_of_a_gaussian_given_all_others", [0, 1], 2.5),
    proof(LATENT, "test_latent_units_given_x_are_drawn_from_their_conditionals", "spin", 1.7),
    proof(LATENT, "test_latent_units_start_given_x", "spin", 3),
    proof(LATENT, "test_chains_keep_the_visible_law", "binary", False),
    proof(AIS, "test_samples_of_visible_units_are_extended_by_hidden_ones"),
    proof(AIS, "test_hidden_units_that_cannot_be_summed_out_are_annealed_with_the_visible_ones", "spin"),
]

NETS = "components/models/nets"


def bugs(file: str, *changes: tuple[str, str, str]) -> list[Planted]:
    return [Planted(name, "deep", file, old, new) for name, old, new in changes]


BUGS = [
    *bugs(
        f"{NETS}/layered.py",
        (
            "no input from above",
            "field + F.linear(layers[number + 1], self.weights[number])",
            "field + 0 * F.linear(layers[number + 1], self.weights[number])",
        ),
        ("twice the input at the top, too", "times = 2.0 if number < self.top else 1.0", "times = 2.0"),
        ("no doubling upwards", "times = 2.0 if number < self.top else 1.0", "times = 1.0"),
        (
            "energies without the biases of hidden layers",
            "layers[number - 1] @ weights + self.biases[number]",
            "layers[number - 1] @ weights",
        ),
        (
            "half a pass of mean field",
            "(*self.every_second(1), *self.every_second(2))",
            "(*self.every_second(1),)",
        ),
        (
            "mean field without the layer above",
            "self.field(number, means)",
            "self.upwards(number, means[number - 1])",
        ),
        ("no entropy", "torch.stack(entropies).sum(0)", "0 * torch.stack(entropies).sum(0)"),
        (
            "entropy with the wrong sign",
            "self.energy({0: v, **means}) - torch.stack(entropies).sum(0)",
            "self.energy({0: v, **means}) + torch.stack(entropies).sum(0)",
        ),
        (
            "entropy of units with a field of another size",
            "log_sum(field, self.values) - field * means[number]",
            "log_sum(field, self.values) - field * means[number] / 2",
        ),
    ),
    *bugs(
        f"{NETS}/dbm.py",
        (
            "the sum of two biases",
            "(low.hidden_biases + high.visible_biases) / 2",
            "low.hidden_biases + high.visible_biases",
        ),
        ("the bias of the lower part", "(low.hidden_biases + high.visible_biases) / 2", "low.hidden_biases"),
        ("units at temperature 1", "(high - low) * field / temperature", "(high - low) * field"),
        ("spins as if they were 0 and 1", "(high - low) * field / temperature", "field / temperature"),
        ("layers of odd number are never drawn", "return [self.even, self.odd]", "return [self.even, self.even]"),
        (
            "log odds of a spin that goes by one",
            "return (high - low) * self._field_at(units, sites)",
            "return self._field_at(units, sites)",
        ),
        ("parts that see one copy", "torch.stack([x, x], 1)", "torch.stack([x, 1 - x], 1)"),
        (
            "weights of the part below without a transpose",
            "layer.weights.copy_(below.weights.T)",
            "layer.weights.copy_(below.weights.T.flip(1))",
        ),
        (
            "no bias of the layer that parts share",
            "layer.visible_biases.copy_(below.hidden_biases)",
            "pass",
        ),
        (
            "a posterior that is differentiated",
            "with torch.no_grad():\n            fields = machine.mean_field(v, passes)",
            "fields = machine.mean_field(v, passes)",
        ),
        (
            "the terms of enumerated layers forgotten",
            "log_mass = linear + machine.summed(machine.every_second(2), layers)",
            "log_mass = machine.summed(machine.every_second(2), layers)",
        ),
        (
            "h_1 without its bias where it is summed",
            "F.linear(layers[2], machine.weights[1], machine.biases[1])",
            "F.linear(layers[2], machine.weights[1])",
        ),
        (
            "log Z of the layers that are enumerated alone",
            "machine.linear(layers) + machine.summed(machine.every_second(1 - parity), layers)",
            "machine.linear(layers)",
        ),
    ),
    *bugs(
        f"{NETS}/tied_rbm.py",
        ("strength forgotten", "self.strength * original.repeat(self.counts)", "original.repeat(self.counts)"),
        (
            "copies that interleave",
            "self.strength * original.repeat(self.counts)",
            "self.strength * original.repeat(self.counts).flip(0)",
        ),
        ("biases of a single copy", "Copies(below)", "Copies(below, strength=0.5)"),
    ),
    *bugs(
        "components/models/dbm.py",
        (
            "two copies of the visible layer in no part",
            "return (2 if number == 1 else 1), (2 if number == len(self.hidden) else 1)",
            "return 1, (2 if number == len(self.hidden) else 1)",
        ),
        (
            "one copy of the highest layer",
            "return (2 if number == 1 else 1), (2 if number == len(self.hidden) else 1)",
            "return (2 if number == 1 else 1), 1",
        ),
    ),
    *bugs(
        "components/objectives/variational_mle.py",
        ("phases swapped", "gap = energy_data - energy_model", "gap = energy_model - energy_data"),
        ("no negative phase", "gap = energy_data - energy_model", "gap = energy_data - energy_model.detach()"),
        (
            "the negative phase by mean field",
            "cast('Hidden', model).joint_energy(units).mean()",
            "cast('Posterior', model).posterior_energy(units[:, : batch.shape[1]], context.rng).mean()",
        ),
    ),
    *bugs(
        "chains/context.py",
        (
            "hidden units of other chains",
            "torch.cat([ended.x.flatten(1), ended.hidden], 1)",
            "torch.cat([ended.x.flatten(1), ended.hidden.roll(1, 0)], 1)",
        ),
    ),
    *bugs(
        f"{NETS}/latent.py",
        ("a misfit without its half", "misfit.square().sum(1) / 2", "misfit.square().sum(1)"),
        (
            "visible units that are never sampled",
            "mean + std * torch.empty_like(mean).normal_(generator=rng) * temperature**0.5",
            "mean + 0 * std * torch.empty_like(mean).normal_(generator=rng) * temperature**0.5",
        ),
        (
            "a temperature in place of its root",
            "mean + std * torch.empty_like(mean).normal_(generator=rng) * temperature**0.5",
            "mean + std * torch.empty_like(mean).normal_(generator=rng) * temperature",
        ),
        ("log Z without the width", "self.log_std.sum() + len(self.log_std) / 2 * log(2 * pi)", "self.log_std.sum()"),
    ),
    *bugs(
        f"{NETS}/factor_analysis.py",
        ("a prior of another width", "z.square().sum(1) / 2", "z.square().sum(1)"),
        (
            "half of the log determinant",
            "factor.diagonal().log().sum() - self.hidden_units / 2 * log(2 * pi)",
            "factor.diagonal().log().sum() / 2 - self.hidden_units / 2 * log(2 * pi)",
        ),
        ("latent units without their noise", "mean + spread.T * temperature**0.5", "mean + 0 * spread.T"),
        ("latent units at temperature 1", "mean + spread.T * temperature**0.5", "mean + spread.T"),
        (
            "latent units without correlations",
            "torch.linalg.solve_triangular(factor.T, noise.T, upper=True)",
            "noise.T / factor.diagonal().unsqueeze(1)",
        ),
        (
            "the factor in place of its transpose",
            "torch.linalg.solve_triangular(factor.T, noise.T, upper=True)",
            "torch.linalg.solve_triangular(factor, noise.T, upper=False)",
        ),
        ("other latent units forgotten", "self.pull(v) - (z * (1 - drawn)) @ precision", "self.pull(v)"),
    ),
    *bugs(
        f"{NETS}/discrete_latent.py",
        ("no competition to explain x", "alone = -self.prior_energy(z) - explained", "alone = -self.prior_energy(z)"),
        (
            "the misfit from where the unit is",
            "(z.index_select(1, sites) - low) * squares",
            "0 * (z.index_select(1, sites) - low) * squares",
        ),
        (
            "a prior that is not heated",
            "draw_values(odds / temperature, self.hidden_values, rng)",
            "draw_values(odds, self.hidden_values, rng)",
        ),
        (
            "no prior",
            "self._able.log_odds(self._shaped(z), sites) + gain",
            "0 * self._able.log_odds(self._shaped(z), sites) + gain",
        ),
        ("the least likely latent state", "(log_mass + gumbel).argmax(1)", "(log_mass + gumbel).argmin(1)"),
    ),
    *bugs(
        "components/metrics/nets/joint_units.py",
        ("no sweeps", "range(sweeps)", "range(0 * sweeps)"),
        (
            "an energy of joint states that is constant",
            "self._jointly.joint_energy(units)",
            "0 * self._jointly.joint_energy(units)",
        ),
    ),
]

AS_RIGHT: list[Planted] = [
    Planted(
        "blocks in the other order",
        "deep",
        f"{NETS}/dbm.py",
        "return int(len(self.even) >= len(self.odd))",
        "return int(len(self.even) > len(self.odd))",
    ),
    Planted(
        "energies by the other product",
        "deep",
        f"{NETS}/layered.py",
        "(layers[number] * (layers[number - 1] @ weights + self.biases[number])).sum(1)",
        "((layers[number] @ weights.T) * layers[number - 1]).sum(1) + layers[number] @ self.biases[number]",
    ),
    Planted(
        "an entropy with other signs",
        "deep",
        f"{NETS}/layered.py",
        "log_sum(field, self.values) - field * means[number]",
        "-(field * means[number] - log_sum(field, self.values))",
    ),
    Planted(
        "the determinant of the matrix itself",
        "deep",
        f"{NETS}/factor_analysis.py",
        "factor.diagonal().log().sum() - self.hidden_units / 2 * log(2 * pi)",
        "torch.logdet(self._precision()) / 2 - self.hidden_units / 2 * log(2 * pi)",
    ),
]
