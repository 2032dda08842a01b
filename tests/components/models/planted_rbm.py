"""Bugs planted in the machines with hidden units, the proofs that look for them, and changes that are as right."""

from tests.planting import Planted, proof

RBM, DISCRETE, HIDDEN = (
    "components.models.test_rbm",
    "components.objectives.test_discrete",
    "components.models.test_hidden_boltzmann",
)

PROOFS = [
    proof(RBM, "test_free_energy_and_normaliser_are_sums_over_all_states", (2,), 4, "spin"),
    proof(RBM, "test_free_energy_and_normaliser_are_sums_over_all_states", (5,), 3, "binary"),
    proof(RBM, "test_the_gradient_of_the_likelihood_is_data_minus_model", (5,), 3, "spin"),
    proof(RBM, "test_conditionals_of_visible_units_are_ratios_of_the_marginal", (2,), 4, "spin"),
    proof(RBM, "test_sweeps_are_products_of_exact_draws", "spin", 1.7, "block", to_the_letter=True),
    proof(RBM, "test_sweeps_are_products_of_exact_draws", "binary", 1.7, "fixed", to_the_letter=True),
    proof(RBM, "test_chains_keep_the_visible_law", "spin", True),
    proof(RBM, "test_the_free_energy_of_real_units_is_a_sum_over_hidden_ones", (5,), 3, "spin"),
    proof(RBM, "test_the_normaliser_of_real_units_is_the_integral", "binary", True),
    proof(RBM, "test_the_normaliser_of_pairs_of_hidden_units_is_that_of_their_states", (2,), 4, "spin"),
    proof(RBM, "test_layers_given_each_other", "spin", 2.5),
    proof(RBM, "test_small_machines_obey_the_laws", lambda module: module.RBM, "spin"),
    proof(DISCRETE, "test_losses_and_gradients_are_those_of_enumeration", "rbm", (2,), "spin"),
    proof(DISCRETE, "test_fisher_is_score_matching_of_the_free_energy", (2,), 3, "spin"),
    proof(HIDDEN, "test_energies_are_sums_over_all_states", (3,), 2, "spin"),
    proof(HIDDEN, "test_a_sweep_draws_all_units", "binary", "block", to_the_letter=True),
    proof(HIDDEN, "test_it_obeys_the_laws", "binary"),
    proof(HIDDEN, "test_hidden_units_start_given_the_visible_ones", "binary"),
    proof(HIDDEN, "test_hidden_units_are_kept_with_the_visible_ones", lambda module: module.Persistent(chains=8)),
    proof(
        HIDDEN,
        "test_hidden_units_are_kept_with_the_visible_ones",
        lambda module: module.Replay(size=12, rejuvenation=0.3),
    ),
    proof(HIDDEN, "test_a_chain_in_parts_is_one_chain", lambda module: module.Persistent(chains=50)),
]

NETS = "components/models/nets"


def bugs(file: str, *changes: tuple[str, str, str]) -> list[Planted]:
    return [Planted(name, "rbm", file, old, new) for name, old, new in changes]


BUGS = [
    *bugs(
        f"{NETS}/restricted.py",
        (
            "free energy with the wrong sign",
            "self.visible_energy(v) - log_sum(self.hidden_field(v), self.hidden_values).sum(1)",
            "self.visible_energy(v) + log_sum(self.hidden_field(v), self.hidden_values).sum(1)",
        ),
        (
            "hidden biases forgotten",
            "F.linear(self.scaled(v), self.weights.T, self.hidden_biases)",
            "F.linear(self.scaled(v), self.weights.T)",
        ),
        (
            "joint energy with the wrong sign",
            "self.visible_energy(v) - (self.hidden_field(v) * h).sum(1)",
            "self.visible_energy(v) + (self.hidden_field(v) * h).sum(1)",
        ),
        (
            "hidden spins as if they were 0 and 1",
            "log_odds(field, self.hidden_values, temperature)",
            "field / temperature",
        ),
        (
            "hidden units at temperature 1",
            "log_odds(field, self.hidden_values, temperature)",
            "log_odds(field, self.hidden_values, 1.0)",
        ),
        (
            "sweeps of the layer before",
            "torch.cat([v, self._draw_hidden(self.hidden_field(v), temperature, rng)], 1)",
            "torch.cat([v, self._draw_hidden(self.hidden_field(self._layers(units)[0]), temperature, rng)], 1)",
        ),
        (
            "energies before a sweep without hidden biases",
            "self.visible_energy(v) - product - h @ self.hidden_biases",
            "self.visible_energy(v) - product",
        ),
        ("a layer is never drawn", "return [self.visible, self.hidden]", "return [self.visible, self.visible]"),
        ("layers exchanged in a single draw", "sites >= len(self.visible)", "sites < len(self.visible)"),
        (
            "no hidden biases in a single draw",
            "self.scaled(v) @ self.weights.index_select(1, at_h) + self.hidden_biases.index_select(0, at_h)",
            "self.scaled(v) @ self.weights.index_select(1, at_h)",
        ),
        (
            "log Z without hidden biases",
            "h @ self.hidden_biases + self.log_sum_visible(F.linear(h, self.weights))",
            "self.log_sum_visible(F.linear(h, self.weights))",
        ),
        (
            "exact draws of hidden units that are not used",
            "self.draw_visible(F.linear(h, self.weights), None, 1.0, rng)\n",
            "self.draw_visible(F.linear(h.roll(1, 0), self.weights.flip(1)), None, 1.0, rng)\n",
        ),
    ),
    *bugs(
        f"{NETS}/rbm.py",
        ("visible biases upside down", "-(v @ self.visible_biases)", "v @ self.visible_biases"),
        ("gradient with the field in place of the mean", "mean(field, self.hidden_values)", "field"),
        ("log odds without the bias", "gain + (high - low) * self.visible_biases.index_select(0, sites)", "gain"),
        ("log odds of a spin that goes by one", "at_low + (high - low) * weights", "at_low + weights"),
        (
            "log odds from where the unit is",
            "(v.index_select(1, sites) - low).unsqueeze(2) * weights",
            "0 * (v.index_select(1, sites) - low).unsqueeze(2) * weights",
        ),
        (
            "visible units without their biases",
            "two_valued.log_odds(field + biases, self.unit_values, temperature)",
            "two_valued.log_odds(field, self.unit_values, temperature)",
        ),
        (
            "visible units at temperature 1",
            "two_valued.log_odds(field + biases, self.unit_values, temperature)",
            "two_valued.log_odds(field + biases, self.unit_values, 1.0)",
        ),
        (
            "log Z of the hidden layer without biases",
            "log_sum(field + self.visible_biases, self.unit_values)",
            "log_sum(field, self.unit_values)",
        ),
        ("the larger layer's energies upside down", "lambda v: -self(v)", "lambda v: self(v)"),
    ),
    *bugs(
        f"{NETS}/gaussian_rbm.py",
        (
            "a square without its half",
            "((v - self.visible_biases) / self.std).square().sum(1) / 2",
            "((v - self.visible_biases) / self.std).square().sum(1)",
        ),
        ("weights that ignore the width", "return v / self.std", "return v"),
        (
            "visible units that are never sampled",
            "biases + std * (field + noise * temperature**0.5)",
            "biases + std * (field + 0 * noise * temperature**0.5)",
        ),
        ("a temperature in place of its root", "noise * temperature**0.5", "noise * temperature"),
        (
            "a mean that ignores the width",
            "biases + std * (field + noise * temperature**0.5)",
            "biases + field + std * noise * temperature**0.5",
        ),
        (
            "the integral without its square",
            "self.visible_biases / self.std + field / 2",
            "self.visible_biases / self.std",
        ),
        (
            "the integral without the width",
            "self.log_std.sum() + len(self.log_std) / 2 * log(2 * pi)",
            "len(self.log_std) / 2 * log(2 * pi)",
        ),
        (
            "halves of the hidden layer that do not interact",
            "(rows @ couplings[:size, size:] @ lower.T + below)",
            "(0 * rows.sum(1, keepdim=True) + below)",
        ),
        (
            "pairs of hidden units without their half",
            "h @ field[part] + ((h @ couplings[part, part]) * h).sum(1) / 2",
            "h @ field[part] + ((h @ couplings[part, part]) * h).sum(1)",
        ),
        (
            "visible biases that no hidden unit sees",
            "self.hidden_biases + self.weights.T @ (self.visible_biases / self.std)",
            "self.hidden_biases",
        ),
        (
            "a gradient with one division",
            "((v - self.visible_biases) / self.std - pull) / self.std",
            "(v - self.visible_biases) / self.std - pull",
        ),
    ),
    *bugs(
        "components/objectives/fisher_rbm.py",
        (
            "the printed square of the spread",
            "variance(means, machine.hidden_values)",
            "variance(means, machine.hidden_values).square()",
        ),
        (
            "no dimension",
            "trace = (spread * strength).sum(1) - precision.sum()",
            "trace = (spread * strength).sum(1)",
        ),
        ("no half", "score.square().sum(1) / 2 + trace", "score.square().sum(1) + trace"),
        ("trace with the wrong sign", "score.square().sum(1) / 2 + trace", "score.square().sum(1) / 2 - trace"),
    ),
    *bugs(
        "components/objectives/pseudo_likelihood.py",
        ("a mean over units", "-log_p.sum(1).mean()", "-log_p.mean()"),
        ("pseudo-likelihood upside down", "-log_p.sum(1).mean()", "log_p.sum(1).mean()"),
    ),
    *bugs(
        "components/objectives/ratio_matching.py",
        (
            "ratios upside down",
            "torch.sigmoid(-odds)",
            "torch.sigmoid(odds)",
        ),
        ("ratios that are not squared", "flipped.square().sum(1).mean()", "flipped.sum(1).mean()"),
    ),
    *bugs(
        "components/objectives/conditional_odds.py",
        ("odds of the higher value throughout", "torch.where(x > middle, log_odds, -log_odds)", "log_odds"),
    ),
    *bugs(
        f"{NETS}/hidden_boltzmann.py",
        (
            "pairs of hidden units counted twice",
            "((h @ weights[count:, count:]) * h).sum(1) / 2",
            "((h @ weights[count:, count:]) * h).sum(1)",
        ),
        (
            "hidden units without biases",
            "v @ weights[:count, count:] + self.joint.biases[count:]",
            "v @ weights[:count, count:]",
        ),
        ("the first of all hidden states", "(weights + gumbel).argmax(1)", "(weights + gumbel).argmin(1)"),
    ),
    *bugs(
        "maths/two_valued.py",
        (
            "a sum that is linear too early",
            "torch.nn.functional.softplus((high - low) * field, threshold=37)",
            "torch.nn.functional.softplus((high - low) * field, threshold=3)",
        ),
        (
            "the sum of one value",
            "low * field + torch.nn.functional.softplus((high - low) * field, threshold=37)",
            "torch.nn.functional.softplus((high - low) * field, threshold=37)",
        ),
    ),
    *bugs(
        "components/inits/nets/persistent.py",
        (
            "hidden units drawn again",
            "torch.where(self.begun[:n].unsqueeze(1), self.hidden[:n].to(fresh.dtype), fresh)",
            "fresh",
        ),
        (
            "hidden units of chains that have not begun",
            "torch.where(self.begun[:n].unsqueeze(1), self.hidden[:n].to(fresh.dtype), fresh)",
            "self.hidden[:n].to(fresh.dtype)",
        ),
    ),
    *bugs(
        "components/inits/nets/replay.py",
        (
            "hidden units of the first slots",
            "self.hidden[slots].to(fresh.dtype)",
            "self.hidden[: len(slots)].to(fresh.dtype)",
        ),
    ),
    *bugs(
        "chains/joint.py",
        (
            "hidden units that are not continued",
            "hidden = starts.hidden_of(hidden) if starts else hidden",
            "hidden = hidden",
        ),
    ),
    *bugs(
        "contracts/unit_abilities.py",
        (
            "blocks that ignore the heat",
            "temperature * self.temperature",
            "temperature + 0 * self.temperature",
        ),
    ),
]

AS_RIGHT: list[Planted] = [
    Planted(
        "joint energy by two products",
        "rbm",
        f"{NETS}/restricted.py",
        "self.visible_energy(v) - (self.hidden_field(v) * h).sum(1)",
        "self.visible_energy(v) - (self.scaled(v) * (h @ self.weights.T)).sum(1) - h @ self.hidden_biases",
    ),
    Planted(
        "odds as a probability",
        "rbm",
        "components/objectives/ratio_matching.py",
        "torch.sigmoid(-odds)",
        "1 - torch.sigmoid(odds)",
    ),
]
