"""Bugs planted in annealed importance sampling, the proofs that look for them, and changes that are as right."""

from tests.planting import Planted, proof

HERE = "components.metrics.test_ais"
TWO = "components.metrics.test_ais_layers"
PROOFS = [
    *(proof(HERE, "test_the_mean_weight_is_exact_over_all_paths", reverse, True) for reverse in (False, True)),
    proof(HERE, "test_the_mean_weight_is_exact_over_all_paths", False, False),
    proof(HERE, "test_the_mean_of_weights_in_closed_form"),
    proof(TWO, "test_energies_are_sums_over_the_hidden_units_of_the_joint_path", (2,), 3, "spin", 0.4),
    proof(TWO, "test_a_sweep_leaves_the_path_invariant", "spin", 0.4, 1.0),
    proof(HERE, "test_log_odds_of_the_path_are_its_energy_differences", "spin", 0.3),
    proof(HERE, "test_independent_units_are_normalised_and_sampled", (-1.0, 1.0)),
    proof(HERE, "test_whitened_models_have_the_same_normaliser_and_gradients", False),
    proof(HERE, "test_an_evaluation_is_shared_by_the_weight_and_the_first_step", to_the_letter=True),
    proof(HERE, "test_log_z_of_gaussians_is_that_of_the_closed_form", (2,), None),
]

CHAIN, WEIGHTS = "chains/annealing.py", "maths/importance.py"
PATH, BASES = "components/metrics/nets/annealed.py", "components/metrics/nets/bases.py"

BUGS = [
    Planted(
        "increments with the wrong sign",
        "ais",
        CHAIN,
        "transitions.increment(x, ladder.betas[before], ladder.betas[now])",
        "transitions.increment(x, ladder.betas[now], ladder.betas[before])",
    ),
    Planted(
        "moves at the beta before",
        "ais",
        CHAIN,
        "transitions.move(x, ladder.betas[now], step_size)",
        "transitions.move(x, ladder.betas[before], step_size)",
    ),
    Planted(
        "the last beta forgotten",
        "ais",
        CHAIN,
        "order = range(len(ladder.betas))",
        "order = range(len(ladder.betas) - 1)",
    ),
    Planted("moves at the model", "ais", CHAIN, "self.path.beta = beta", "self.path.beta = 1.0"),
    Planted("no new state of the sampler", "ais", PATH, "version == x._version", "True"),
    Planted("no normaliser of the Gaussian", "ais", BASES, "prod(event) / 2 * log(2 * pi)", "0.0"),
    Planted("units not normalised", "ais", BASES, "nn.functional.softplus(-self.logits)", "0.0"),
    Planted(
        "no volume of the frame", "ais", PATH, "self.log_volume = float(diagonal.log().sum())", "self.log_volume = 0.0"
    ),
    Planted("gradients transposed", "ais", PATH, "pulled.view_as(y)", "(flat @ self.factor.T).view_as(y)"),
    Planted(
        "log odds of the model alone",
        "ais",
        PATH,
        "(1 - self.beta) * self.independent.log_odds(x, sites) + self.beta * model",
        "model",
    ),
    Planted("higher minus lower", "ais", PATH, "energies[0] - energies[1]", "energies[1] - energies[0]"),
    Planted("error without sqrt n", "ais", WEIGHTS, "(relative / n) ** 0.5", "relative**0.5"),
    Planted(
        "ess upside down",
        "ais",
        WEIGHTS,
        "2 * total - (2 * log_weights).logsumexp(0)",
        "(2 * log_weights).logsumexp(0) - 2 * total",
    ),
    Planted("the mean of the logarithms", "ais", WEIGHTS, "float(total) - log(n)", "float(log_weights.mean())"),
]

LAYERS = "components/metrics/nets/annealed_layers.py"

BUGS += [
    Planted("hidden coins not normalised", "ais", LAYERS, "energy + self._layers.hidden_units * log(2)", "energy"),
    Planted("hidden units at beta 1", "ais", LAYERS, "span * inverse * field", "span * field"),
    Planted(
        "a base that stays",
        "ais",
        LAYERS,
        "(1 - self.beta) / temperature * self.base.logits",
        "self.base.logits / temperature",
    ),
    Planted("hidden units summed out at beta 1", "ais", LAYERS, "beta * self._field(x)", "self._field(x)"),
]

AS_RIGHT = [
    Planted(
        "the difference first",
        "ais",
        PATH,
        "(1 - self.beta) * parts.base + self.beta * parts.model",
        "parts.base + self.beta * (parts.model - parts.base)",
    )
]
