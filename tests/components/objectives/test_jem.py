"""`jem`, against a plain classifier and `mle`."""

import pytest
import torch

import ebmkit
from ebmkit.chains.context import StepContext
from ebmkit.components.inits.data import DataStart
from ebmkit.components.models.classifier import Classifier
from ebmkit.components.objectives.jem import JEM
from ebmkit.components.objectives.mle import MLE
from ebmkit.components.samplers.langevin import Langevin
from ebmkit.errors import Mistakes
from ebmkit.testing.setting import small_setting
from tests.components.oracles import EVENTS, generator

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)
exactly = {"rtol": 1e-12, "atol": 1e-12}
CHAIN = {"sampler": Langevin(steps=2, step_size=0.05), "init": DataStart()}


@pytest.fixture
def batch():
    """A network, points, and their labels."""

    def make(event):
        torch.manual_seed(0)
        module = Classifier(classes=3, hidden=(5,)).build(event)
        data = torch.randn(12, *event, generator=generator(0))
        return module, data, torch.randint(3, (12,), generator=generator(1))

    return make


def loss(objective, module, data, labels):
    return objective.loss(
        module, data, StepContext(generator(2), objective.extras(data.shape[1:], data), 1, labels=labels)
    )


def gradient(value, module):
    return torch.cat([g.flatten() for g in torch.autograd.grad(value, list(module.parameters()))])


def cross_entropy(module, data, labels):
    """-log p(y | x) = E(x, y) - E(x), where the base falls out; by the definition of the two energies."""
    base = data.flatten(1).pow(2).sum(1) * module.base_precision / 2
    joint = base - module.logits(data)[torch.arange(len(data)), labels]
    return (joint - module(data)).mean()


@shapes
def test_without_weight_it_is_a_plain_classifier(event, batch):
    module, data, labels = batch(event)
    value = loss(JEM(weight=0.0, energy_l2=0.5, **CHAIN), module, data, labels).value
    expected = cross_entropy(module, data, labels)
    torch.testing.assert_close(value, expected, **exactly)
    torch.testing.assert_close(gradient(value, module), gradient(expected, module), **exactly)


@shapes
@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_the_generative_part_is_maximum_likelihood(event, weight, batch):
    module, data, labels = batch(event)
    whole = loss(JEM(weight=weight, energy_l2=0.2, **CHAIN), module, data, labels)
    mle = loss(MLE(energy_l2=0.2, **CHAIN), module, data, None)
    expected = cross_entropy(module, data, labels) + weight * mle.value
    torch.testing.assert_close(whole.value, expected, **exactly)
    torch.testing.assert_close(gradient(whole.value, module), gradient(expected, module), **exactly)
    torch.testing.assert_close(whole.metrics.pop("cross_entropy"), cross_entropy(module, data, labels).detach())
    assert whole.metrics == mle.metrics


def test_each_label_pulls_at_its_own_point(batch):
    module, data, labels = batch((2,))
    order = torch.randperm(len(data), generator=generator(5))
    one, same, other = (
        float(loss(JEM(weight=0.0, **CHAIN), module, points, beside).value.detach())
        for points, beside in ((data, labels), (data[order], labels[order]), (data, labels[order]))
    )
    assert same == pytest.approx(one, abs=1e-12)
    assert other != pytest.approx(one, abs=1e-3)


def spec(**other):
    return {
        "ebmkit": 1,
        "data": "eight_gaussians",
        "model": {"use": "classifier", "classes": 8},
        "objective": "jem",
        "train": {"steps": 1, "batch_size": 8},
        "samples": 8,
        **other,
    }


def test_labels_without_a_class_are_refused_by_validate():
    with pytest.raises(Mistakes, match="has labels 0 to 7, but model 'classifier' takes 0 to 4"):
        ebmkit.load_spec(spec(model={"use": "classifier", "classes": 5}))


def test_labels_below_zero_are_refused():
    module = Classifier(classes=3).build((2,))
    with pytest.raises(ValueError, match="a label -1"):
        JEM().prepare(small_setting(module, data=torch.zeros(3, 2), labels=torch.tensor([0, -1, 7])))
    JEM().prepare(small_setting(module, data=torch.zeros(3, 2), labels=torch.tensor([0, 1, 2])))


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"model": "mlp"}, "E204"),
        ({"data": "swiss_roll"}, "E209"),
        ({"evaluate": ["accuracy"], "data": "swiss_roll", "objective": "mle"}, "E209"),
        ({"evaluate": [{"use": "ood_auroc", "outliers": "digits"}]}, "E209"),
    ],
)
def test_what_cannot_work_is_refused(wrong, code):
    with pytest.raises(Mistakes, match=code):
        ebmkit.load_spec(spec(**wrong))


@shapes
@pytest.mark.parametrize("weight", [0.0, 0.3])
def test_noise_is_added_to_the_points_of_both_terms(event, weight, batch):
    module, data, labels = batch(event)
    noisy = data + 0.7 * torch.randn(data.shape, generator=generator(2))
    found = JEM(weight=weight, input_noise=0.7, **CHAIN)
    expected = cross_entropy(module, noisy, labels)
    if weight:
        rng = generator(2)
        torch.randn(data.shape, generator=rng)  # the noise comes first
        term = MLE(energy_l2=found.energy_l2, **CHAIN)
        expected = expected + weight * term.loss(module, noisy, StepContext(rng, term.extras(event, data), 1)).value
    torch.testing.assert_close(loss(found, module, data, labels).value, expected, **exactly)
