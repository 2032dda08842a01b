"""`reconstruction`, against sums over hidden states and closed forms, in float64."""

import math

import pytest
import torch

from ebmkit import load_spec
from ebmkit.components.metrics.log_likelihood import LogLikelihood
from ebmkit.components.metrics.reconstruction import ROWS, Reconstruction
from ebmkit.components.models.dbn import DBN
from ebmkit.components.models.gaussian_rbm import GaussianRBM
from ebmkit.components.models.rbm import RBM
from ebmkit.engine.assemble import assemble
from ebmkit.engine.build import build
from ebmkit.errors import Mistakes
from tests.components.models.test_hidden_layers import gaussian
from tests.components.models.test_rbm import LOW, SHAPES, energy_by_hand, layer, parameters, table
from tests.components.oracles import generator
from tests.views import FakeView, viewed_spec

both = pytest.mark.parametrize("values", ["binary", "spin"])
shapes = pytest.mark.parametrize(("event", "hidden"), SHAPES, ids=str)


def units(n, event, values, seed=0):
    return torch.randint(2, (n, *event), generator=generator(seed)) * (1 - LOW[values]) + LOW[values]


def measured(model, test, train):
    event = tuple(test.shape[1:])
    view = FakeView(test=test, train=train, module=model.build(event), spec=viewed_spec(model=model))
    return Reconstruction().measure(view)


def normalised(model, x, values):
    """-log p(x_i | m) of every unit, by the energies of both of its values with h at its mean, a sum over all h."""
    d = len(x)
    h = layer(len(model.hidden_biases), values)
    weights = (-energy_by_hand(model, torch.cat([x.expand(len(h), -1), h], 1))).softmax(0)
    costs = []
    for i in range(d):
        both_values = x.repeat(2, 1)
        both_values[:, i] = torch.tensor([LOW[values], 1.0])
        log_p = (-energy_by_hand(model, torch.cat([both_values, (weights @ h).expand(2, -1)], 1))).log_softmax(0)
        costs.append(-log_p[0 if x[i] == LOW[values] else 1])
    return torch.stack(costs)


@both
@shapes
def test_the_error_of_two_valued_units_is_their_cross_entropy(event, hidden, values):
    model = RBM(**parameters(event, hidden), values=values)
    test, train = units(6, event, values), units(9, event, values, seed=1)
    expected = torch.stack([normalised(model, x, values) for x in test.flatten(1)]).mean()
    assert measured(model, test, train)["reconstruction_error"] == pytest.approx(float(expected), abs=1e-12)


@both
@shapes
def test_the_error_of_real_units_is_a_mean_square(event, hidden, values):
    model = gaussian(event, hidden, values)
    test, train = table(6, *event, seed=3), table(9, *event, seed=4) + 2
    W, b, c, std = (torch.tensor(x) for x in (model.weights, model.visible_biases, model.hidden_biases, model.std))
    h, v = layer(hidden, values), test.flatten(1)
    means = ((v / std) @ W @ h.T + h @ c).softmax(1) @ h
    found = measured(model, test, train)
    expected = (v - b - std * (means @ W.T)).square().mean()
    assert found["reconstruction_error"] == pytest.approx(float(expected), abs=1e-12)
    expected = (test - train.mean(0)).square().mean()
    assert found["reconstruction_error_mean"] == pytest.approx(float(expected), abs=1e-12)


@both
def test_the_baseline_has_the_frequencies_of_the_training_data(values):
    """A unit that is high in 1 of 3 points, and with one point of each value in 2 of 5; and one that never is."""
    low = LOW[values]
    train = torch.tensor([[1.0, low], [low, low], [low, low]])
    test = torch.tensor([[1.0, low], [low, 1.0]])
    found = measured(RBM(**parameters((2,), 1), values=values), test, train)["reconstruction_error_mean"]
    expected = -(math.log(2 / 5) + math.log(4 / 5) + math.log(3 / 5) + math.log(1 / 5)) / 4
    assert found == pytest.approx(expected, abs=1e-12)


@both
def test_without_weights_the_error_is_the_entropy_of_the_biases(values):
    """All units are independent, and the mean-field pass sees nothing of x."""
    b, low = 0.7, LOW[values]
    model = RBM(weights=((0.0,) * 2,) * 3, visible_biases=(b,) * 3, hidden_biases=(1.0, -2.0), values=values)
    x = torch.tensor([[1.0, 1.0, low]])
    p = 1 / (1 + math.exp(-(1 - low) * b))
    expected = -(2 * math.log(p) + math.log(1 - p)) / 3
    assert measured(model, x, x)["reconstruction_error"] == pytest.approx(expected, abs=1e-12)


def test_units_that_are_certain_and_wrong_have_a_finite_error():
    """Log odds of 500, whose probability is 1 in any precision."""
    model = RBM(weights=((0.0,),), visible_biases=(500.0,))
    x = torch.zeros(1, 1)
    assert measured(model, x, x)["reconstruction_error"] == pytest.approx(500, abs=1e-9)


def test_points_are_measured_in_blocks():
    model, x = RBM(**parameters((2,), 3)), units(ROWS + 5, (2,), "binary")
    counts = [(x == state).all(1).double().mean() for state in layer(2, "binary")]
    each = [measured(model, state[None], x)["reconstruction_error"] for state in layer(2, "binary")]
    expected = float(sum(count * error for count, error in zip(counts, each, strict=True)))
    assert measured(model, x, x)["reconstruction_error"] == pytest.approx(expected, abs=1e-12)


def test_a_perfect_memory_has_no_error():
    """A hidden unit for every visible one, with strong weights: x comes back, as a mean of zero error or nearly so."""
    eye = tuple(map(tuple, (100 * torch.eye(4)).tolist()))
    x = units(8, (4,), "binary")
    machine = RBM(weights=eye, visible_biases=(-50.0,) * 4, hidden_biases=(-50.0,) * 4)
    assert measured(machine, x, x)["reconstruction_error"] < 1e-15
    shallow = DBN(hidden=(4, 4))
    module = shallow.build((4,))
    for each in module.layers:
        with torch.no_grad():
            each.weights.copy_(100 * torch.eye(4))
            each.visible_biases.fill_(-50)
            each.hidden_biases.fill_(-50)
    view = FakeView(test=x, train=x, module=module, spec=viewed_spec(model=shallow))
    assert Reconstruction().measure(view)["reconstruction_error"] < 1e-15


def test_it_is_measured_in_the_space_of_the_network():
    """Standardised columns have a variance of one over the training points."""
    data = {"use": "from_model", "model": {"use": "gaussian", "mean": [30, -2], "covariance": [25.0, 0.04]}}
    spec = {
        "ebmkit": 1,
        "scale": "standardize",
        "data": {**data, "size": 4000, "test_size": 4000},
        "model": {"use": "gaussian_rbm", "hidden": 2},
        "objective": "fisher_rbm",
        "train": {"steps": 1},
        "device": "cpu",
    }
    plan = load_spec(spec)
    view = assemble(plan, build(plan))
    found = Reconstruction().measure(view)
    # The mean of 8,000 squares of normal numbers, within six standard errors of sqrt(2 / 8000), and the fitted scale.
    assert abs(found["reconstruction_error_mean"] - 1) < 12 * math.sqrt(2 / 8000)
    network = view.scaled
    with torch.no_grad():
        x = network.data("test").double()
        expected = (x - network.module.double().reconstruct(x)).square().mean()
    assert found["reconstruction_error"] == pytest.approx(float(expected), rel=1e-6)


def test_exact_likelihoods_are_in_the_units_of_the_data():
    """Of a machine that works in other units, against quadrature of its density of the data."""
    data = {"use": "from_model", "model": {"use": "gaussian", "mean": [30], "covariance": [25.0]}}
    spec = {
        "ebmkit": 1,
        "scale": "standardize",
        "dtype": "float64",
        "data": {**data, "size": 500, "test_size": 500},
        "model": {"use": "gaussian_rbm", "hidden": 2},
        "objective": "fisher_rbm",
        "train": {"steps": 1},
        "device": "cpu",
    }
    plan = load_spec(spec)
    view = assemble(plan, build(plan))
    found = LogLikelihood().measure(view)
    grid = torch.linspace(-120, 180, 60_001)
    by_rule = (-view.energy(grid.unsqueeze(1))).logsumexp(0) + math.log(300 / 60_000)
    assert found["log_normaliser"] == pytest.approx(float(by_rule), abs=1e-10)
    log_p = -view.energy(view.data("test")) - by_rule
    assert found["log_likelihood"] == pytest.approx(float(log_p.mean()), abs=1e-10)


def test_models_without_hidden_units_are_refused():
    spec = {"ebmkit": 1, "data": {"use": "digits", "binarize": "binary"}, "model": "boltzmann", "sampler": "gibbs"}
    spec |= {"objective": "pseudo_likelihood", "train": {"steps": 1}, "evaluate": ["reconstruction"]}
    with pytest.raises(Mistakes, match="needs 'reconstruct'"):
        load_spec(spec)
    with pytest.raises(Mistakes, match="data"):
        load_spec(
            {"ebmkit": 1, "model": {"use": "rbm", "shape": [3]}, "sampler": "gibbs", "evaluate": ["reconstruction"]}
        )


def test_it_obeys_the_laws():
    from ebmkit.testing import check_component

    check_component(Reconstruction)
    check_component(GaussianRBM)
