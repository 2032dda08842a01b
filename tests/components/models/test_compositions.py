"""`sum`, `mixture` and `tempered`, against Gaussians, for which all three have closed forms."""

import math
from typing import ClassVar

import pytest
import torch
from torch import nn
from torch.distributions import Categorical, MixtureSameFamily, MultivariateNormal

from ebmkit.api import Model, component
from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import Energy
from ebmkit.components.models.banana import Banana
from ebmkit.components.models.double_well import DoubleWell
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.gaussian_mixture import GaussianMixture
from ebmkit.components.models.mixture import Mixture
from ebmkit.components.models.mlp import MLP
from ebmkit.components.models.ring import Ring
from ebmkit.components.models.sum import Sum
from ebmkit.components.models.tempered import Tempered
from ebmkit.components.samplers.exact import Exact
from ebmkit.components.schedules.geometric import Geometric
from ebmkit.contracts.kinds import Schedule
from ebmkit.contracts.question import Question
from ebmkit.errors.base import Mistakes
from ebmkit.errors.source import Source
from ebmkit.language.check import check
from ebmkit.language.fit import misfits
from ebmkit.language.layers import compose
from ebmkit.registry.loading import Plugins
from ebmkit.registry.registry import Registry
from tests.components.oracles import (
    EVENTS,
    assert_follows,
    generator,
    normal_cdf,
    numeric_gradient,
    quadrature_log_z,
    random_covariance,
    rows,
)

WEIGHTS = (0.5, 2.0, 1.2)
shapes = pytest.mark.parametrize("event", EVENTS, ids=str)


def gaussians(event, count=3):
    """Components, and the same laws from torch.distributions."""
    d = math.prod(event)
    laws = [MultivariateNormal(torch.randn(d, generator=generator(k)), random_covariance(d, k)) for k in range(count)]
    components = tuple(
        Gaussian(mean=tuple(law.mean.tolist()), covariance=rows(law.covariance_matrix), shape=event) for law in laws
    )
    return components, laws


def points(event):
    return 1.5 * torch.randn(40, *event, generator=generator(9))


@component("quartic")
class Quartic(Model):
    """A model of any shape that leaves the gradient to autograd, and does not know its normaliser."""

    def build(self, event):
        return QuarticEnergy()


class QuarticEnergy(nn.Module):
    def forward(self, x):
        return x.flatten(1).pow(4).sum(1) / 4


# The laws -------------------------------------------------------------------------------------------------------------


def product(laws, weights):
    """Mean, precision and log normaliser of the product of Gaussians `exp(-w_k E_k)`, by completing the square."""
    precision = sum(w * law.precision_matrix for w, law in zip(weights, laws, strict=True))
    pull = sum(w * law.precision_matrix @ law.mean for w, law in zip(weights, laws, strict=True))
    mean = torch.linalg.solve(precision, pull)
    apart = sum(w * law.mean @ law.precision_matrix @ law.mean for w, law in zip(weights, laws, strict=True))
    lowest = (apart - mean @ precision @ mean) / 2
    log_z = len(mean) / 2 * math.log(2 * math.pi) - torch.logdet(precision) / 2 - lowest
    return mean, precision, log_z


@shapes
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_a_sum_of_gaussians_is_the_gaussian_of_their_product(event, weights):
    components, laws = gaussians(event)
    module = Sum(components=components, weights=weights).build(event)
    mean, precision, log_z = product(laws, weights or (1.0,) * 3)
    x = points(event)
    expected = MultivariateNormal(mean, precision_matrix=precision).log_prob(x.flatten(1))
    torch.testing.assert_close(-module(x) - log_z, expected)
    if event in ((1,), (2,)):
        assert quadrature_log_z(module, event[0]) == pytest.approx(float(log_z), abs=1e-9)


@shapes
def test_a_mixture_of_gaussians_is_the_gaussian_mixture(event):
    components, laws = gaussians(event)
    mixture = Mixture(components=components, weights=WEIGHTS).build(event)
    same = GaussianMixture(
        means=tuple(component.mean for component in components),
        covariances=tuple(component.covariance for component in components),
        weights=WEIGHTS,
        shape=event,
    ).build(event)
    parts = MultivariateNormal(
        torch.stack([law.mean for law in laws]), torch.stack([law.covariance_matrix for law in laws])
    )
    law = MixtureSameFamily(Categorical(torch.tensor(WEIGHTS)), parts)
    x = points(event)
    torch.testing.assert_close(-mixture(x), law.log_prob(x.flatten(1)))
    torch.testing.assert_close(-mixture(x) - mixture.log_z(), -same(x) - same.log_z())
    torch.testing.assert_close(Energy(mixture).value_and_grad(x)[1], Energy(same).value_and_grad(x)[1])
    assert float(mixture.log_z().detach()) == pytest.approx(0.0, abs=1e-15)


@shapes
@pytest.mark.parametrize("temperature", [0.3, 4.0])
def test_a_tempered_gaussian_has_its_covariance_times_the_temperature(event, temperature):
    (one,), (law,) = gaussians(event, 1)
    module = Tempered(model=one, temperature=temperature).build(event)
    hot = MultivariateNormal(law.mean, temperature * law.covariance_matrix)
    x = points(event)
    highest = hot.log_prob(hot.mean)
    torch.testing.assert_close(-module(x), hot.log_prob(x.flatten(1)) - highest)


@shapes
def test_draws_of_a_mixture_follow_it(event):
    components, laws = gaussians(event)
    x = run_chain(
        Exact(), Mixture(components=components, weights=WEIGHTS).build(event), torch.zeros(20_000, *event), generator(3)
    ).x
    assert x.shape == (20_000, *event)
    shares = torch.tensor(WEIGHTS) / sum(WEIGHTS)

    def cdf_along(v):
        parts = [((law.mean @ v), (v @ law.covariance_matrix @ v).sqrt()) for law in laws]
        return lambda t: sum(w * normal_cdf((t - m) / s) for w, (m, s) in zip(shares, parts, strict=True))

    directions = torch.randn(6, math.prod(event), generator=generator(4))
    first = x[:5000]  # as do any few of them: in which order components come is chance too
    assert_follows([(some.flatten(1) @ v, cdf_along(v)) for v in directions for some in (x, first)])


def test_the_normaliser_of_toy_targets_in_a_mixture():
    """Components whose own log Z differ by far: the weights are still their probabilities."""
    mixture = Mixture(
        components=(Ring(radius=6.0, width=0.5), DoubleWell(position=0.5, barrier=1.0)), weights=(1.0, 3.0)
    )
    module = mixture.build((2,))
    assert quadrature_log_z(module, 2, reach=12.0, points=1201) == pytest.approx(0.0, abs=1e-9)
    x = module.sample_exact(100_000, generator(0))
    far = (x.norm(dim=1) > 4.2).double().mean()  # the ring alone reaches there, and hardly anything of it does not
    assert float(far) == pytest.approx(0.25, abs=6 * math.sqrt(0.25 * 0.75 / 100_000) + 1e-3)


def test_weights_of_unnormalised_components_scale_their_densities():
    x = points((2,))
    ring, quartic = Ring().build((2,)), QuarticEnergy()
    module = Mixture(components=(Ring(), Quartic()), weights=(1.0, 3.0)).build((2,))
    torch.testing.assert_close(torch.exp(-module(x)), (torch.exp(-ring(x)) + 3 * torch.exp(-quartic(x))) / 4)


def test_energies_far_beyond_the_range_of_exp():
    x = torch.tensor([[60.0, 0.0]])
    cold = tuple(Tempered(model=Gaussian(mean=(mean, 0.0)), temperature=1e-3) for mean in (0.0, 1.0))
    module = Mixture(components=cold).build((2,))
    energy, gradient = Energy(module).value_and_grad(x)
    torch.testing.assert_close(energy, torch.tensor([59.0**2 / 2e-3 + math.log(2)]))
    torch.testing.assert_close(gradient, torch.tensor([[59.0 / 1e-3, 0.0]]))


def test_compositions_nest():
    components, _ = gaussians((2,))
    x = points((2,))
    inner = Mixture(components=components[:2], weights=(1.0, 3.0))
    nested = Mixture(components=(inner, components[2]), weights=(4.0, 5.0)).build((2,))
    flat = Mixture(components=components, weights=(1.0, 3.0, 5.0)).build((2,))
    torch.testing.assert_close(nested(x), flat(x))
    twice = Tempered(model=Tempered(model=components[0], temperature=2.0), temperature=3.0).build((2,))
    torch.testing.assert_close(twice(x), Tempered(model=components[0], temperature=6.0).build((2,))(x))
    tempered_sum = Tempered(model=Sum(components=components), temperature=4.0).build((2,))
    torch.testing.assert_close(tempered_sum(x), Sum(components=components, weights=(0.25,) * 3).build((2,))(x))


# Gradients ------------------------------------------------------------------------------------------------------------


@shapes
@pytest.mark.parametrize("kind", ["sum", "mixture", "tempered"])
def test_the_gradient_is_autograd_also_through_a_component_that_has_none_by_hand(kind, event):
    components = (gaussians(event, 1)[0][0], Quartic(), MLP(hidden=(5,)))
    composed = {
        "sum": Sum(components=components, weights=WEIGHTS),
        "mixture": Mixture(components=components, weights=WEIGHTS),
        "tempered": Tempered(model=Quartic(), temperature=1.7),
    }[kind]
    module, x = composed.build(event), points(event)
    energy, gradient = Energy(module).value_and_grad(x)
    point = x.clone().requires_grad_()
    (expected,) = torch.autograd.grad(module(point).sum(), point)
    torch.testing.assert_close(energy, module(x).detach())
    torch.testing.assert_close(gradient, expected)
    assert not gradient.requires_grad
    assert not energy.requires_grad


@pytest.mark.parametrize("composed", [Sum, Mixture])
def test_training_moves_every_component(composed):
    components = (Gaussian(mean=(0.0, 1.0)), MLP(hidden=(4,)))
    module = composed(components=components).build((2,))
    module(points((2,))).mean().backward()
    assert all(bool((parameter.grad != 0).any()) for parameter in module.components.parameters())
    tempered = Tempered(model=components[0], temperature=2.0).build((2,))
    tempered(points((2,))).mean().backward()
    assert all(bool((parameter.grad != 0).any()) for parameter in tempered.parameters())


def test_the_weights_of_a_mixture_are_trained_and_log_z_follows_all_parameters():
    module = Mixture(components=gaussians((2,), 2)[0]).build((2,))
    assert [name for name, _ in module.named_parameters() if "components" not in name] == ["log_weights"]
    rng = generator(1)
    for parameter in module.parameters():
        parameter.data = parameter.data.contiguous() + 0.2 * torch.randn(parameter.shape, generator=rng)
    assert float(module.log_z().detach()) == pytest.approx(quadrature_log_z(module, 2), abs=1e-9)
    (slope,) = torch.autograd.grad(module.log_z(), module.log_weights)
    torch.testing.assert_close(slope, module.log_weights.softmax(0).detach())
    x = points((2,))
    for parameter in module.parameters():  # through log Z_k too, where the energy depends on it
        (slope,) = torch.autograd.grad(module(x).sum(), parameter)
        torch.testing.assert_close(slope, numeric_gradient(lambda: module(x).sum(), parameter), atol=1e-6, rtol=1e-6)


def test_parameters_are_float32_unless_told_otherwise():
    torch.set_default_dtype(torch.float32)
    module = Mixture(components=(Ring(), Banana())).build((2,))
    assert {tensor.dtype for tensor in module.state_dict().values()} == {torch.float32}
    assert module.sample_exact(3, generator(0)).dtype == torch.float32
    assert module.double().sample_exact(3, generator(0)).dtype == torch.float64


# What they are and offer ----------------------------------------------------------------------------------------------

EVERYTHING = {"energy", "gradient", "log_z", "sample_exact"}


@component("spins")
class Spins(Model):
    """A model without gradient, on spins."""

    space: ClassVar = "spin"
    offers: ClassVar = frozenset({"energy", "log_z"})

    def build(self, event):
        raise NotImplementedError


@component("drawn_only")
class DrawnOnly(Model):
    """Can be drawn from, and does not know its normaliser."""

    offers: ClassVar = frozenset({"energy", "gradient", "sample_exact"})

    def build(self, event):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("composed", "offers"),
    [
        (Sum(components=(Ring(), Banana())), {"energy", "gradient"}),
        (Sum(components=(Spins(),)), {"energy"}),
        (Mixture(components=(Ring(), Banana())), EVERYTHING),
        (Mixture(components=(Ring(), MLP())), {"energy", "gradient"}),
        (Mixture(components=(Ring(), DrawnOnly())), {"energy", "gradient"}),
        (Mixture(components=(Spins(), Spins())), {"energy", "log_z"}),
        (Mixture(components=(Mixture(), Ring())), EVERYTHING),
        (Mixture(components=(Tempered(), Ring())), {"energy", "gradient"}),
        (Tempered(model=Ring()), {"energy", "gradient"}),
        (Tempered(model=Spins()), {"energy"}),
    ],
    ids=lambda value: " ".join(sorted(value)) if isinstance(value, set | frozenset) else repr(value),
)
def test_offers_follow_from_the_components(composed, offers):
    assert composed.traits().offers == offers
    assert type(composed).offers == {"energy"}  # what `ebmkit show` says of all of them


def test_the_space_is_that_of_the_components():
    for whole in (Tempered(model=Spins()), Sum(components=(Spins(),)), Mixture(components=(Spins(),))):
        assert whole.traits().space == "spin"
    assert Tempered().traits().space == "real"


@component("images_only")
class ImagesOnly(Model):
    """Takes images of any size."""

    def refusal(self, question):
        return None if len(question.event) == 3 else "needs images"

    def build(self, event):
        return QuarticEnergy()


@component("score")
class Score(Model):
    """A score without an energy."""

    offers: ClassVar = frozenset({"score"})

    def build(self, event):
        raise NotImplementedError


@component("noisy")
class Noisy(Model):
    """An energy at a noise level."""

    schedule: Schedule = Geometric()

    def build(self, event):
        raise NotImplementedError


@pytest.mark.parametrize("composed", [Sum, Mixture])
def test_shapes_must_agree_where_they_are_fixed(composed):
    assert composed(components=(MLP(), Quartic())).event() is None
    assert composed(components=(MLP(), Ring(dim=5))).event() == (5,)
    assert Tempered(model=MLP()).event() is None
    assert Tempered(model=Ring(dim=5)).event() == (5,)
    with pytest.raises(ValueError, match=r"'banana' has states of shape \(3,\), but another component of shape \(2,\)"):
        composed(components=(MLP(), Ring(), Banana(dim=3)))
    with pytest.raises(ValueError, match="2 weights for 3 components"):
        composed(components=(Ring(),) * 3, weights=(1.0, 1.0))


@pytest.mark.parametrize(
    ("components", "says"),
    [
        ((Ring(), Score()), "'score' does not offer an energy"),
        ((Noisy(),), "'noisy' is conditioned on sigma"),
        ((MLP(), Spins()), "'spins' has spin states, but the first component has real ones"),
    ],
)
def test_what_cannot_be_composed_is_refused(components, says):
    for composed in (Sum, Mixture):
        with pytest.raises(ValueError, match=says):
            composed(components=components)
    if len(components) == 1:
        with pytest.raises(ValueError, match=says):
            Tempered(model=components[0])


@pytest.mark.parametrize(
    "composed", [Sum(components=(ImagesOnly(),)), Mixture(components=(ImagesOnly(),)), Tempered(model=ImagesOnly())]
)
def test_the_refusals_of_the_components_are_passed_on(composed):
    assert composed.refusal(Question((1, 4, 4), composed)) is None
    assert composed.refusal(Question((2,), composed)) == "contains model 'images_only', which needs images"


# In a spec ------------------------------------------------------------------------------------------------------------


def mistakes_of(text):
    """The messages of a spec that is checked and fitted."""
    registry = Registry(Plugins())
    try:
        checked = check(compose(Source("spec", "ebmkit: 1\n" + text)), registry)
    except Mistakes as found:
        return [mistake.message for mistake in found.mistakes]
    return [mistake.message for mistake in misfits(checked, registry)]


def test_a_spec_may_nest_models():
    text = """
model:
  use: mixture
  components:
    - {use: gaussian_mixture, means: [[-3.0, 0.0], [3.0, 0.0]]}
    - {use: banana}
    - ring
  weights: [1, 2, 3]
"""
    assert mistakes_of(text + "sampler: exact") == []
    assert mistakes_of("data: two_moons\nmodel: {use: tempered, model: mlp, temperature: 2.0}\nsampler: langevin") == []


def test_abilities_of_the_instance_decide_what_fits():
    said = mistakes_of("model: {use: mixture, components: [ring, {use: sum, components: [ring]}]}\nsampler: exact")
    assert said == ["sampler 'exact' needs 'sample_exact', which model 'mixture' does not offer"]


def test_shapes_that_differ_are_one_mistake_of_the_composition():
    said = mistakes_of("model: {use: sum, components: [ring, mixture_1d]}\nsampler: langevin")
    assert said == [
        "model 'sum': model 'mixture_1d' has states of shape (1,), but another component of shape (2,)",
    ]


@pytest.mark.parametrize(
    "model",
    [
        "{use: sum, components: [ring, absent.thing]}",
        "{use: tempered, model: absent.thing}",
        "{use: mixture, components: [ring, {use: tempered, model: absent.thing}]}",
        "{use: mixture, components: [{use: sum, components: [absent.thing]}, ring]}",
    ],
)
def test_a_component_of_a_missing_plugin_is_one_mistake(model):
    said = mistakes_of(f'plugins: {{absent: "ebmkit-absent"}}\nmodel: {model}\nsampler: langevin')
    assert said == ["plugin 'absent' is not installed"]


def test_parts_that_multiply_are_refused_at_once():
    doubled = "".join(f"  a{k}: {{use: sum, components: [$a{k - 1}, $a{k - 1}]}}\n" for k in range(1, 15))
    (said,) = mistakes_of(f"data: two_moons\nmodel: $a14\nsampler: langevin\nparts:\n  a0: mlp\n{doubled}")
    assert said == "model 'sum': there are more than 1000 models, counting those inside compositions"
