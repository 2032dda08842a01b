"""The control variate of the adaptive objectives: it has mean zero, so has its gradient, and it takes scatter out."""

import copy
import math

import pytest
import torch

from ebmkit.api import component
from ebmkit.chains.context import StepContext
from ebmkit.components.bregman.itakura_saito import ItakuraSaito
from ebmkit.components.bregman.logistic import Logistic
from ebmkit.components.inits.data import DataStart
from ebmkit.components.inits.noise import NoiseStart
from ebmkit.components.models.boltzmann import Boltzmann
from ebmkit.components.models.conv import Conv
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.mlp import MLP
from ebmkit.components.models.sum import Sum
from ebmkit.components.objectives.adaptive_bregman import AdaptiveBregman
from ebmkit.components.objectives.adaptive_nce import AdaptiveNCE
from ebmkit.components.objectives.nets import control_variate
from ebmkit.components.objectives.nets.control_variate import EVERY, RATE, SteinControl, stein
from ebmkit.components.samplers.exact import Exact
from ebmkit.components.samplers.langevin import Langevin
from ebmkit.contracts.kinds import Bregman
from ebmkit.contracts.modules.live import prepare_modules
from ebmkit.contracts.question import Question
from ebmkit.errors import Mistakes
from ebmkit.language.load import load_spec
from ebmkit.maths.spectral import SpectralNorm
from ebmkit.registry.builtin import ebmkit_components
from ebmkit.testing import check_component
from ebmkit.testing.setting import small_setting
from tests.components.oracles import EVENTS, assert_mean, generator, numeric_gradient, random_covariance, rows


@component("psi_alone")
class PsiAlone(Bregman):
    """A generator as a plugin author writes it: S0, and all of its slopes, are derived."""

    def psi(self, u):
        return u.square() * (1 + u).log()


GENERATORS = [*(offer.load()() for offer in ebmkit_components() if offer.kind == "bregman"), PsiAlone()]
every = pytest.mark.parametrize("psi", GENERATORS, ids=str)
shapes = pytest.mark.parametrize("event", EVENTS, ids=str)


def pair(event, width=5):
    """A model, and a copy from which it has moved away."""
    torch.manual_seed(0)
    model = MLP(hidden=(width,), activation="tanh", base_scale=0.8).build(event)
    noise = copy.deepcopy(model).eval().requires_grad_(False)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=generator(1))
    return model, noise


def gaussians(event, shift=0.2):
    """The same with exact samples: a Gaussian, and one beside it."""
    d = math.prod(event)
    noise = Gaussian(mean=(0.4,) * d, covariance=rows(random_covariance(d, 0)), shape=event).build(event)
    model = copy.deepcopy(noise)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += shift / d * torch.randn(parameter.shape, generator=generator(2))
    return model, noise.eval().requires_grad_(False)


def term(psi, model, noise, x, rng=None):
    """`A F` at each of x, as the loss asks for it."""
    return stein(psi.s0, noise(x) - model(x), x, model, noise, rng or generator(0))


def by_hand(psi, model, noise, x):
    """`A F` from F alone: its gradient and the trace of its Hessian, coordinate by coordinate."""
    x = x.detach().requires_grad_()
    f = psi.s0(noise(x) - model(x))
    (slope,) = torch.autograd.grad(f.sum(), x, create_graph=True)
    (drift,) = torch.autograd.grad(noise(x).sum(), x)
    flat, trace = slope.flatten(1), 0
    for i in range(flat.shape[1]):
        (row,) = torch.autograd.grad(flat[:, i].sum(), x, create_graph=True)
        trace = trace + row.flatten(1)[:, i]
    return trace - (flat * drift.flatten(1)).sum(1)


def gradient(value, module):
    slopes = torch.autograd.grad(value, list(module.parameters()), retain_graph=True, materialize_grads=True)
    return torch.cat([slope.flatten() for slope in slopes])


# --- the term --------------------------------------------------------------------------------------------------------


@every
@shapes
def test_the_term_is_steins_operator_on_s0(event, psi):
    """Value and parameter gradient, against an `A F` that knows nothing of ratios."""
    model, noise = pair(event)
    x = torch.randn(7, *event, generator=generator(3)) * 0.7
    found, exact = term(psi, model, noise, x), by_hand(psi, model, noise, x)
    torch.testing.assert_close(found, exact, rtol=1e-9, atol=1e-10)
    weights = torch.randn(7, generator=generator(4))
    torch.testing.assert_close(
        gradient((weights * found).sum(), model), gradient((weights * exact).sum(), model), rtol=1e-9, atol=1e-10
    )


@every
@pytest.mark.parametrize("d", [1, 2])
def test_the_term_and_its_gradient_have_mean_zero_under_the_copy(d, psi):
    """By the trapezoidal rule, which is exact to all digits for a smooth density that vanishes at the edge."""
    model, noise = pair((d,), width=3)
    axis = torch.linspace(-8, 8, 2001 if d == 1 else 161)
    grid = torch.cartesian_prod(*[axis] * d).view(-1, d)
    share = torch.softmax(-noise(grid), 0)
    each = term(psi, model, noise, grid)
    mean = (share * each).sum()
    assert float(mean.detach()) == pytest.approx(0, abs=1e-8)
    assert float((share * each.abs()).sum().detach()) > 1e-2  # not by weakness
    slope = gradient(mean, model)
    torch.testing.assert_close(slope, torch.zeros_like(slope), rtol=0, atol=1e-8)
    wrong = torch.softmax(-1.1 * noise(grid), 0)
    assert abs(float((wrong * each).sum().detach())) > 1e-4


@pytest.mark.parametrize("psi", [Logistic(), PsiAlone()], ids=str)
def test_with_many_coordinates_a_random_direction_stands_for_the_trace(psi):
    event = (1, 5, 5)
    assert math.prod(event) > control_variate.EXACT
    model, noise = pair(event)
    x = torch.randn(3, *event, generator=generator(3)) * 0.7
    exact = by_hand(psi, model, noise, x)
    draws = [term(psi, model, noise, x, generator(100 + seed)) for seed in range(100)]
    scatter = torch.stack(draws).detach()
    assert float(scatter.std(0).min()) > 0  # it is random
    assert_mean(scatter, exact.detach())
    slopes = torch.stack([gradient(each.sum(), model) for each in draws])
    assert_mean(slopes, gradient(exact.sum(), model))


def test_directions_average_to_the_trace_exactly(monkeypatch):
    """In the plane, over all four of them."""
    monkeypatch.setattr(control_variate, "EXACT", 1)
    model, noise = pair((2,))
    x, found = torch.randn(5, 2, generator=generator(3)), []
    for signs in ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)):
        monkeypatch.setattr(
            control_variate, "draw_probes", lambda law, x, n, rng, v=signs: torch.tensor(v).expand(n, *x.shape)
        )
        found.append(term(Logistic(), model, noise, x))
    exact = by_hand(Logistic(), model, noise, x)
    torch.testing.assert_close(torch.stack(found).mean(0), exact, rtol=1e-10, atol=1e-12)


def test_spectral_norms_do_not_move_between_ratio_and_term():
    """A pass in training mode follows the weights; ratio and slopes have to be those of one energy."""
    torch.manual_seed(0)
    model = Conv(activation="silu", spectral_norm=True).build((1, 4, 4)).train()
    noise = copy.deepcopy(model).eval().requires_grad_(False)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator(1))
    x = torch.randn(4, 1, 4, 4, generator=generator(2))
    log_u = noise(x) - model(x)
    vectors = [part.u.clone() for part in model.modules() if isinstance(part, SpectralNorm)]
    found = stein(Logistic().s0, log_u, x, model, noise, generator(0))
    after = [part.u for part in model.modules() if isinstance(part, SpectralNorm)]
    assert vectors
    assert all(torch.equal(one, other) for one, other in zip(vectors, after, strict=True))
    assert all(part.training for part in model.modules())
    torch.testing.assert_close(found, by_hand(Logistic(), model.eval(), noise, x), rtol=1e-9, atol=1e-10)


# --- its factor ------------------------------------------------------------------------------------------------------


def test_scatter_of_a_mean_goes_away_altogether():
    """E = |x - mu|^2 / 2 and S0 = log u - 1: the gradient is x - mu, its Stein operator -(x - mu_m), and beta is 1."""
    model, noise = (Gaussian(mean=(value, value)).build((2,)) for value in (0.5, 0.3))
    model.whitening.requires_grad_(False)
    noise.requires_grad_(False)
    control, psi, term_at = SteinControl(), ItakuraSaito(), []
    for step in range(1, 30):
        x = noise.sample_exact(16, generator(step))
        log_u = noise(x) - model(x)
        added = control(psi.s0, log_u, x, model, noise, step, generator(0))
        (slope,) = torch.autograd.grad(psi.s0(log_u).mean() + added, [model.mean])
        term_at.append(slope)
    assert float(control.beta) == pytest.approx(1, abs=1e-12)
    plain = torch.full((2,), 0.3 - 0.5)
    torch.testing.assert_close(torch.stack(term_at[1:]), plain.expand(28, 2), rtol=0, atol=1e-12)
    assert not torch.allclose(term_at[0], plain, atol=1e-2)


@pytest.mark.parametrize("psi", [Logistic(), ItakuraSaito()], ids=str)
@pytest.mark.parametrize("event", [(1,), (2,), (10,), (1, 3, 3)], ids=str)
def test_with_exact_samples_the_gradient_scatters_less_and_its_mean_stays(event, psi):
    """The factor is fitted on other samples than it is judged by. Six standard errors a coordinate for the mean."""
    model, noise = gaussians(event)
    control = SteinControl()
    for step in range(40):
        x = noise.sample_exact(128, generator(1000 + step))
        control(psi.s0, noise(x) - model(x), x, model, noise, 1, generator(0))
    beta, plain, added = float(control.beta), [], []
    for seed in range(120):
        x = noise.sample_exact(32, generator(5000 + seed))
        log_u = noise(x) - model(x)
        plain.append(gradient(psi.s0(log_u).mean(), model))
        added.append(gradient(stein(psi.s0, log_u, x, model, noise, generator(0)).mean(), model))
    plain, added = torch.stack(plain), torch.stack(added)
    assert_mean(added, 0.0)
    with_term, without = (plain + beta * added).var(0).sum(), plain.var(0).sum()
    assert beta > 0
    assert float(with_term / without) < 0.75
    best = -((plain - plain.mean(0)) * (added - added.mean(0))).sum() / (added - added.mean(0)).square().sum()
    assert beta == pytest.approx(float(best), rel=0.2)


@pytest.mark.parametrize("count", [8, 9])
def test_the_factor_is_a_regression_over_earlier_steps(count):
    """Written out: at steps 1, 1 + EVERY, ...; running means of both moments; used from the next step on."""
    model, noise = pair((2,))
    psi, control = Logistic(), SteinControl()
    covariance = variance = beta = 0.0
    for step in range(1, 2 * EVERY + 3):
        x = torch.randn(count, 2, generator=generator(step))
        log_u = noise(x) - model(x)
        before = float(control.beta)
        assert before == pytest.approx(beta, rel=1e-10)
        found = control(psi.s0, log_u, x, model, noise, step, generator(0))
        each = by_hand(psi, model, noise, x)
        torch.testing.assert_close(found, before * each.mean(), rtol=1e-9, atol=1e-12)
        if (step - 1) % EVERY == 0:
            half = (count + 1) // 2
            f = psi.s0(noise(x) - model(x))
            plain = gradient(f[:half].mean() - f[half:].mean(), model)
            steined = gradient(each[:half].mean() - each[half:].mean(), model)
            covariance += RATE * (float(plain @ steined) - covariance)
            variance += RATE * (float(steined @ steined) - variance)
            beta = -covariance / variance
    assert beta != 0


def test_before_the_first_fit_nothing_is_added_and_one_sample_fits_nothing():
    model, noise = pair((2,))
    control, x = SteinControl(), torch.randn(1, 2, generator=generator(0))
    found = control(Logistic().s0, noise(x) - model(x), x, model, noise, 1, generator(0))
    assert float(found.detach()) == 0
    assert float(control.beta) == 0


# --- in the objectives -----------------------------------------------------------------------------------------------


def setting(objective, event):
    torch.manual_seed(0)
    module = MLP(hidden=(4,)).build(event)
    data = torch.randn(10, *event, generator=generator(0))
    extras = objective.extras(event, data)
    prepare_modules(extras, small_setting(module))
    if extras.control is not None:
        extras.control.covariance.fill_(-0.3)
        extras.control.variance.fill_(0.5)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.2
    return module, data, extras


@pytest.mark.parametrize("event", [*EVENTS, (1, 5, 5)], ids=str)
def test_the_loss_is_that_without_it_and_beta_times_its_mean(event):
    values = []
    for wanted in (False, True):
        objective = AdaptiveNCE(
            interval=5, sampler=Langevin(steps=2), init=DataStart(), energy_l2=0.1, control_variate=wanted
        )
        module, data, extras = setting(objective, event)
        context = StepContext(generator(1), extras, 2)
        loss = objective.loss(module, data, context)
        values.append(loss.value)
    assert loss.metrics["control_variate"] == pytest.approx(0.6)
    samples, rng = context.chains[0][1].x, generator(1)
    for _ in range(2):  # where the generator stands behind the chain
        torch.empty_like(data).normal_(generator=rng)
    expected = 0.6 * term(Logistic(), module, extras.noise.model, samples, rng).mean()
    torch.testing.assert_close(values[1] - values[0], expected, rtol=1e-9, atol=1e-12)
    assert abs(float(expected.detach())) > 1e-6


@pytest.mark.parametrize("event", [(1,), (2,), (10,), (1, 5, 5)], ids=str)
def test_its_gradient_is_that_of_differences(event):
    """The chain runs on the copy, so that its ends do not move with the model."""
    objective = AdaptiveBregman(
        generator=PsiAlone(), interval=5, sampler=Langevin(steps=2), init=DataStart(), control_variate=True
    )
    module, data, extras = setting(objective, event)

    def value():
        return objective.loss(module, data, StepContext(generator(1), extras, 2)).value

    slopes = torch.autograd.grad(value(), list(module.parameters()))
    for parameter, slope in zip(module.parameters(), slopes, strict=True):
        torch.testing.assert_close(slope, numeric_gradient(value, parameter), rtol=1e-6, atol=1e-7)


def test_with_exact_chains_the_gradient_keeps_its_mean_and_scatters_less():
    """The whole objective, three steps behind the copy, with the generator of every draw."""
    event = (2,)
    module, noise = gaussians(event, shift=0.4)
    data, means, scatters = torch.randn(64, 2, generator=generator(0)), [], []
    for wanted in (False, True):
        objective = AdaptiveNCE(interval=50, sampler=Exact(), init=NoiseStart(), energy_l2=0.0, control_variate=wanted)
        extras = objective.extras(event, data)
        prepare_modules(extras, small_setting(noise))
        for seed in range(30 if wanted else 0):
            objective.loss(module, data, StepContext(generator(900 + seed), extras, 1 + EVERY))
        draws = torch.stack(
            [
                gradient(objective.loss(module, data, StepContext(generator(seed), extras, 2)).value, module)
                for seed in range(120)
            ]
        )
        means.append(draws)
        scatters.append(float(draws.var(0).sum()))
    assert_mean(means[1] - means[0], 0.0)
    assert scatters[1] < 0.75 * scatters[0]


@pytest.mark.long
def test_it_obeys_the_laws_of_objectives():
    check_component(AdaptiveBregman(control_variate=True))


@pytest.mark.parametrize(
    ("model", "event", "refused"),
    [
        (MLP(), (2,), False),
        (MLP(activation="relu"), (2,), True),
        (Conv(), (1, 8, 8), True),  # leaky_relu
        (Conv(activation="silu"), (1, 8, 8), False),
        (Sum(components=(MLP(), MLP(activation="relu"))), (2,), True),
        (Sum(components=(MLP(), MLP(activation="tanh"))), (2,), False),
        (Boltzmann(), (4,), True),
        (Gaussian(), (2,), False),
    ],
    ids=str,
)
@pytest.mark.parametrize("objective", [AdaptiveNCE, AdaptiveBregman])
def test_energies_without_second_derivatives_are_refused(objective, model, event, refused):
    assert bool(objective(control_variate=True).refusal(Question(event, model))) is refused
    assert objective().refusal(Question(event, model)) is None


def test_the_refusal_is_said_before_anything_runs():
    spec = {
        "ebmkit": 1,
        "data": "two_moons",
        "model": {"use": "mlp", "activation": "relu"},
        "objective": {"use": "adaptive_nce", "control_variate": True},
        "train": {"steps": 1},
    }
    with pytest.raises(Mistakes, match=r"control variate.*second derivatives.*piecewise linear"):
        load_spec(spec)


@pytest.mark.parametrize("event", [(2,), (10,), (1, 5, 5)], ids=str)
def test_a_model_beside_its_copy_has_no_term_at_all(event):
    """Right behind a copy the ratio is 1 and Stein's operator has nothing to act on, sample by sample: in many
    dimensions too, where one direction has to stand for both traces."""
    torch.manual_seed(0)
    model = MLP(hidden=(5,)).build(event)
    noise = copy.deepcopy(model).eval().requires_grad_(False)
    x = torch.randn(7, *event, generator=generator(0))
    found = control_variate.stein(Logistic().s0, noise(x) - model(x), x, model, noise, generator(1))
    torch.testing.assert_close(found, torch.zeros(7), rtol=0, atol=1e-12)
