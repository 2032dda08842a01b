"""`classifier` and what is measured of one: `accuracy`, `calibration`, `ood_auroc`."""

import math
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from ebmkit.chains.energy import Energy
from ebmkit.components.data.digits import Digits
from ebmkit.components.data.from_model import FromModel
from ebmkit.components.data.npz import Npz
from ebmkit.components.data.two_moons import TwoMoons
from ebmkit.components.metrics import classified
from ebmkit.components.metrics.accuracy import Accuracy
from ebmkit.components.metrics.calibration import Calibration
from ebmkit.components.metrics.ood_auroc import OODAUROC
from ebmkit.components.models.boltzmann import Boltzmann
from ebmkit.components.models.classifier import Classifier
from ebmkit.components.models.mlp import MLP
from ebmkit.components.models.nets.class_energy import ClassEnergy
from ebmkit.contracts.question import Question
from ebmkit.engine.rng import Streams
from tests.components.oracles import EVENTS, generator
from tests.views import FakeView

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)
ACTIVATIONS = {"silu": nn.SiLU, "softplus": nn.Softplus, "gelu": nn.GELU, "tanh": nn.Tanh, "relu": nn.ReLU}
exactly = {"rtol": 1e-12, "atol": 1e-12}


def reference(module, activation):
    """f(x), by other means."""
    layers = [*module.hidden, module.last]
    return nn.Sequential(nn.Flatten(), *[part for layer in layers for part in (layer, ACTIVATIONS[activation]())][:-1])


@shapes
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("base_scale", [None, 0.5])
def test_one_network_is_a_joint_energy_and_its_conditional(event, activation, base_scale):
    torch.manual_seed(0)
    module = Classifier(classes=3, hidden=(7, 5), activation=activation, base_scale=base_scale).build(event)
    x = 3 * torch.randn(30, *event, generator=generator(0))
    x.requires_grad_()
    base = 0 if base_scale is None else x.flatten(1).pow(2).sum(1, keepdim=True) / (2 * base_scale**2)
    joint = -reference(module, activation)(x) + base  # E(x, y)
    p_joint = torch.exp(-joint)
    torch.testing.assert_close(module.logits(x).softmax(1), p_joint / p_joint.sum(1, keepdim=True), **exactly)
    torch.testing.assert_close(module(x), -torch.logsumexp(-joint, 1), **exactly)
    (slope,) = torch.autograd.grad(-torch.logsumexp(-joint, 1).sum(), x)
    energy, gradient = Energy(module).value_and_grad(x.detach())
    torch.testing.assert_close(energy, module(x).detach(), **exactly)
    torch.testing.assert_close(gradient, slope, **exactly)


def test_with_one_class_it_is_an_mlp():
    module, mlp = Classifier(classes=1, hidden=(6,)).build((2,)), MLP(hidden=(6,)).build((2,))
    mlp.load_state_dict(module.state_dict())
    with torch.no_grad():
        mlp.last.weight.neg_()
        mlp.last.bias.neg_()
    x = torch.randn(5, 2, generator=generator(0))
    torch.testing.assert_close(module(x), mlp(x), **exactly)


def test_large_logits_do_not_overflow():
    module = Classifier(classes=3, hidden=(), base_scale=None).build((2,))
    with torch.no_grad():
        module.last.weight.mul_(1e6)
    x = torch.randn(5, 2, generator=generator(0))
    energy, gradient = Energy(module).value_and_grad(x)
    torch.testing.assert_close(energy, -module.logits(x).max(1).values.detach(), rtol=1e-9, atol=1e-6)
    assert bool(gradient.isfinite().all())


# --- metrics ---------------------------------------------------------------------------------------------------------


class Told(nn.Module):
    """Logits that are the state itself; its energy is the first coordinate."""

    def logits(self, x):
        return x.flatten(1)

    def forward(self, x):
        return x.flatten(1)[:, 0]


def view_of(test, labels=None, train=None, train_labels=None):
    """A run whose model is `Told`."""
    module, streams = Told(), Streams(0, torch.device("cpu"))
    known = {"module": module, "energy": module, "generator": streams.generator, "dtype": torch.float64}
    return FakeView(None, test, train, labels=labels, train_labels=train_labels, **known)


def test_accuracy_counts_what_is_right(monkeypatch):
    monkeypatch.setattr(classified, "ROWS", 7)
    x, y = torch.randn(40, 3, generator=generator(0)), torch.randint(3, (40,), generator=generator(1))
    right = sum(int(max(range(3), key=row.__getitem__) == label) for row, label in zip(x.tolist(), y, strict=True))
    found = Accuracy().measure(view_of(x, y, x[:10], x[:10].argmax(1)))
    assert found == {"accuracy": pytest.approx(right / 40), "accuracy_train": 1.0}
    assert 0 < right < 40


def test_calibration_is_its_definition():
    x, y = 2 * torch.randn(60, 3, generator=generator(0)), torch.randint(3, (60,), generator=generator(1))
    bins: dict[int, list[tuple[float, bool]]] = {}
    for row, label in zip(x, y.tolist(), strict=True):
        p = row.exp() / row.exp().sum()
        bins.setdefault(int(float(p.max()) * 5), []).append((float(p.max()), int(p.argmax()) == label))
    ece = sum(abs(sum(hit for _, hit in each) - sum(p for p, _ in each)) for each in bins.values()) / 60
    found = Calibration(bins=5).measure(view_of(x, y))
    assert found["ece"] == pytest.approx(ece, abs=1e-12)
    assert found["confidence"] == pytest.approx(sum(p for each in bins.values() for p, _ in each) / 60, abs=1e-12)


def test_somebody_who_is_sure_and_right_is_calibrated():
    x = 1e3 * torch.eye(3)
    assert Calibration().measure(view_of(x, torch.arange(3))) == {"ece": 0.0, "confidence": 1.0}
    assert Calibration().measure(view_of(x, torch.tensor([1, 2, 0])))["ece"] == 1.0


class Condition(TwoMoons):
    """Outliers from a list."""

    def load(self, split, rng):
        assert split == "test"
        return SimpleNamespace(x=torch.tensor(self.points))


def given(points):
    data = Condition()
    object.__setattr__(data, "points", points)
    return data


@pytest.mark.parametrize("levels", [3, 10**6])  # many ties, and none
def test_auroc_is_the_share_of_pairs(levels):
    energies = torch.randint(levels, (120,), generator=generator(0)) / levels
    inside, outside = energies[:50, None] - 0.1 * (levels > 3), energies[50:, None]
    pairs = [(a < b) + (a == b) / 2 for a in inside[:, 0].tolist() for b in outside[:, 0].tolist()]
    found = OODAUROC(outliers=given(outside.tolist())).measure(view_of(inside))
    assert found["ood_auroc"] == pytest.approx(sum(pairs) / len(pairs), abs=1e-12)


@pytest.mark.parametrize(("outlier", "expected"), [(2.0, 1.0), (0.0, 0.5), (-1.0, 0.0)])
def test_auroc_of_outliers_above_among_and_below(outlier, expected):
    metric = OODAUROC(outliers=given([[outlier]] * 4))
    found = metric.measure(view_of(torch.zeros(5, 1)))
    assert found == {"ood_auroc": expected, "ood_auroc_shuffled": 0.5}  # equal points, however they are shuffled
    assert tuple(found) == metric.results()


@pytest.mark.parametrize("lost", ["data", "outliers"])
def test_what_is_no_number_has_no_rank(lost):
    numbers, gone = torch.arange(6.0)[:, None], torch.tensor([[0.0], [float("nan")], [2.0]])
    inside, outside = (gone, numbers) if lost == "data" else (numbers, gone)
    assert math.isnan(OODAUROC(outliers=given(outside.tolist())).measure(view_of(inside))["ood_auroc"])


def test_logits_that_are_no_numbers_are_no_guess():
    points = torch.tensor([[0.0, 1.0], [float("nan"), 0.0]])
    with pytest.raises(FloatingPointError, match="not finite"):
        Accuracy().measure(view_of(points, torch.tensor([1, 0]), points, torch.tensor([1, 0])))


@shapes
def test_auroc_of_given_outliers_and_of_shuffled_ones_are_two_numbers(event, monkeypatch):
    """The given ones are compared with the points as they are; the shuffled ones are those that `null` takes."""
    test = torch.rand(40, *event, generator=generator(0))
    outliers = (torch.rand(30, *event, generator=generator(1)) + 0.2).tolist()
    view = view_of(test)
    monkeypatch.setattr(view, "energy", lambda x: x.flatten(1).prod(1))
    start = view.rng.get_state()
    both = OODAUROC(outliers=given(outliers)).measure(view)
    view.rng.set_state(start)
    alone = OODAUROC().measure(view)
    inside, outside = (torch.tensor(x).flatten(1).prod(1).tolist() for x in (test.tolist(), outliers))
    pairs = [(a < b) + (a == b) / 2 for a in inside for b in outside]
    assert both["ood_auroc"] == pytest.approx(sum(pairs) / len(pairs), abs=1e-12)
    assert both["ood_auroc_shuffled"] == alone["ood_auroc"]


@shapes
def test_shuffled_outliers_keep_the_marginals_and_lose_the_rest(event, monkeypatch):
    test = torch.arange(60.0).view(-1, *[1] * len(event)).expand(60, *event) + torch.rand(event, generator=generator(0))
    view, seen = view_of(test.contiguous()), []
    monkeypatch.setattr(view, "energy", lambda x: seen.append(x) or x.flatten(1)[:, 0])
    found = OODAUROC().measure(view)
    assert found["ood_auroc"] == pytest.approx(0.5, abs=1e-12)  # this energy looks at one coordinate
    shuffled = seen[-1]
    assert torch.equal(shuffled.sort(0).values, test)
    rows = shuffled.flatten(1).floor()
    assert rows.shape[1] == 1 or bool((rows[:, :1] != rows[:, 1:]).any())
    assert not torch.equal(shuffled, test)


@pytest.mark.parametrize(
    ("outliers", "event", "model", "words"),
    [
        (None, (2,), MLP(), None),
        (Digits(labels=(8, 9)), (1, 8, 8), MLP(), None),
        (Digits(), (2,), MLP(), "shape (1, 8, 8)"),
        (Npz(path="nowhere.npz"), (2,), MLP(), "cannot read"),
        (FromModel(model=Boltzmann(shape=(4,), biases=(0.1,) * 4)), (4,), MLP(), "are binary"),
    ],
)
def test_outliers_that_do_not_fit_are_refused(outliers, event, model, words):
    found = OODAUROC(outliers=outliers).refusal(Question(event, model))
    assert (found is None) if words is None else (words in found)


def test_replicas_of_all_chains_have_the_labels_of_their_chains():
    module = Classifier(classes=3).build((2,))
    x, labels = torch.randn(2, 4, 2, generator=generator(0)), torch.tensor([0, 2, 1, 1])
    energy = ClassEnergy(module, labels)
    torch.testing.assert_close(energy(x.flatten(0, 1)), torch.cat([energy(replica) for replica in x]))
