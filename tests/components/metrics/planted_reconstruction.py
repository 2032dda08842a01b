"""Bugs planted in reconstructions, activations and receptive fields, the proofs that look for them, and changes that
are as right."""

from tests.planting import Planted, proof

HERE, LAYERS = "components.metrics.test_reconstruction", "components.models.test_hidden_layers"
PROOFS = [
    proof(HERE, "test_the_error_of_two_valued_units_is_their_cross_entropy", (5,), 3, "spin"),
    proof(HERE, "test_the_error_of_two_valued_units_is_their_cross_entropy", (1, 2, 2), 2, "binary"),
    proof(HERE, "test_the_error_of_real_units_is_a_mean_square", (2,), 4, "spin"),
    proof(HERE, "test_the_baseline_has_the_frequencies_of_the_training_data", "spin"),
    proof(HERE, "test_units_that_are_certain_and_wrong_have_a_finite_error"),
    proof(HERE, "test_points_are_measured_in_blocks"),
    proof(HERE, "test_it_is_measured_in_the_space_of_the_network"),
    proof(LAYERS, "test_two_layers_of_two_valued_units", (5,), 3, "spin"),
    proof(LAYERS, "test_real_units", (2,), 4, "spin"),
    proof(LAYERS, "test_hidden_units_that_interact", (3,), 2, "spin"),
    proof(LAYERS, "test_deep_networks_pass_means_through_all_layers", (2, 3, 2), "spin"),
]

METRIC, NETS = "components/metrics/reconstruction.py", "components/models/nets"


def bugs(file: str, *changes: tuple[str, str, str]) -> list[Planted]:
    return [Planted(name, "reconstruction", file, old, new) for name, old, new in changes]


BUGS = [
    *bugs(
        METRIC,
        (
            "the training data measured",
            'test, train = view.data("test"), view.data("train")',
            'train = test = view.data("train")',
        ),
        ("a baseline of the held-out data", "train.mean(0)", "x.mean(0)"),
        (
            "a sum over coordinates",
            "(x - parameters).square().flatten(1).mean(1)",
            "(x - parameters).square().flatten(1).sum(1)",
        ),
        (
            "the first row of an image only",
            "(log_sum(parameters, (0.0, 1.0)) - share * parameters).flatten(1).mean(1)",
            "(log_sum(parameters, (0.0, 1.0)) - share * parameters).reshape(len(x), -1, x.shape[-1])[:, 0].mean(1)",
        ),
        ("half a square", "(x - parameters).square()", "0.5 * (x - parameters).square()"),
        ("spins taken for 0 and 1", "share = (x - low) / (high - low)", "share = x"),
        ("the other value", "share * parameters", "(1 - share) * parameters"),
        (
            "probabilities rounded",
            "log_sum(parameters, (0.0, 1.0)) - share * parameters",
            "-(share * parameters.sigmoid().log() + (1 - share) * (1 - parameters.sigmoid()).log())",
        ),
        ("the last block forgotten", "torch.split(x, ROWS)", "torch.split(x, ROWS)[:1]"),
    ),
    *bugs(
        f"{NETS}/restricted.py",
        (
            "hidden biases forgotten in activations",
            "[torch.sigmoid((high - low) * self.hidden_field(x.flatten(1)))]",
            "[torch.sigmoid((high - low) * (self.hidden_field(x.flatten(1)) - self.hidden_biases))]",
        ),
        (
            "activations of spins as of 0 and 1",
            "torch.sigmoid((high - low) * self.hidden_field(x.flatten(1)))",
            "torch.sigmoid(self.hidden_field(x.flatten(1)))",
        ),
        (
            "fields not transposed",
            "(self.weights.T * slope).view(-1, *self.event)",
            "(self.weights * slope[:, None]).reshape(-1, *self.event)",
        ),
        ("fields in standard deviations", "self.weights.T * slope", "self.weights.T * slope.sign()"),
        ("fields of the wrong scale", "self.weights.T * slope", "self.weights.T / slope"),
        (
            "probabilities in place of means",
            "F.linear(self.hidden_means(x), self.weights)",
            "F.linear(self.activations(x)[0], self.weights)",
        ),
        (
            "hidden inputs in place of means",
            "F.linear(self.hidden_means(x), self.weights)",
            "F.linear(self.hidden_field(x.flatten(1)), self.weights)",
        ),
    ),
    *bugs(
        f"{NETS}/rbm.py",
        ("visible biases forgotten", "(high - low) * (field + self.visible_biases)", "(high - low) * field"),
        (
            "log odds of spins as of 0 and 1",
            "(high - low) * (field + self.visible_biases)",
            "field + self.visible_biases",
        ),
    ),
    *bugs(
        f"{NETS}/gaussian_rbm.py",
        ("reconstruction without std", "self.visible_biases + self.std * field", "self.visible_biases + field"),
        (
            "reconstruction with the variance",
            "self.visible_biases + self.std * field",
            "self.visible_biases + self.std**2 * field",
        ),
    ),
    *bugs(
        f"{NETS}/dbn.py",
        ("probabilities of spins upwards", "x = layer.hidden_means(x)", "x = layer.activations(x)[0]"),
        ("fields not transposed", "down.T.reshape(-1, *self.event)", "down.reshape(-1, *self.event)"),
        ("weights without signs", "down @ weights", "down @ weights.abs()"),
        (
            "biases forgotten downwards",
            "layer.visible_parameters(F.linear(h, layer.weights))",
            "F.linear(h, layer.weights)",
        ),
        (
            "probabilities of spins downwards",
            "h = low + (high - low) * torch.sigmoid(log_odds)",
            "h = torch.sigmoid(log_odds)",
        ),
    ),
    *bugs(
        f"{NETS}/hidden_boltzmann.py",
        (
            "the lower value",
            "self._hidden_states() == self.unit_values[1]",
            "self._hidden_states() == self.unit_values[0]",
        ),
        (
            "fields between hidden units",
            "self.joint.weights()[count:, :count].reshape",
            "self.joint.weights()[:count, :count][: self.hidden_units].reshape",
        ),
    ),
]

AS_RIGHT = bugs(
    METRIC,
    (
        "the other form of the cross-entropy",
        "log_sum(parameters, (0.0, 1.0)) - share * parameters",
        "log_sum(-parameters, (0.0, 1.0)) + (1 - share) * parameters",
    ),
    ("squares as powers", "(x - parameters).square()", "(parameters - x) ** 2"),
) + bugs(
    f"{NETS}/restricted.py",
    (
        "the sum written as a product",
        "self.visible_parameters(F.linear(self.hidden_means(x), self.weights)).view_as(x)",
        "self.visible_parameters(self.hidden_means(x) @ self.weights.T).view_as(x)",
    ),
)
