"""`exact_mle`: the gradient is the data phase minus the model phase, by enumeration and by quadrature."""

import math

import pytest
import torch

from ebmkit.chains.context import StepContext
from ebmkit.components.models.banana import Banana
from ebmkit.components.models.boltzmann import Boltzmann
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.gaussian_mixture import GaussianMixture
from ebmkit.components.models.mixture import Mixture
from ebmkit.components.models.mlp import MLP
from ebmkit.components.models.sum import Sum
from ebmkit.components.objectives.exact_mle import ExactMLE
from ebmkit.contracts.question import Question
from ebmkit.errors import Mistakes
from ebmkit.language.load import load_spec
from tests.components.oracles import generator, random_covariance, rows


def gradient(value, module):
    return torch.cat([g.flatten() for g in torch.autograd.grad(value, list(module.parameters()), retain_graph=True)])


def loss(objective, module, data):
    return objective.loss(module, data, StepContext(generator(1), objective.extras(tuple(data.shape[1:]), data), 1))


def phases(module, data, states, weights):
    """The gradient of the mean energy under the data less that under the model, state by state."""
    share = torch.softmax(-module(states) + weights.log(), 0).detach()
    return gradient(module(data).mean(), module) - gradient((share * module(states)).sum(), module)


@pytest.mark.parametrize("values", ["binary", "spin"])
@pytest.mark.parametrize("event", [(1,), (2,), (10,), (1, 2, 3)], ids=str)
def test_gradient_is_data_phase_minus_model_phase_by_enumeration(event, values):
    torch.manual_seed(0)
    d, low = math.prod(event), 0.0 if values == "binary" else -1.0
    module = Boltzmann(values=values).build(event)
    if d > 1:
        torch.nn.init.normal_(module.couplings, std=0.7)
    torch.nn.init.normal_(module.biases)
    states = torch.cartesian_prod(*[torch.tensor([low, 1.0])] * d).view(-1, *event)
    data = states[torch.randint(len(states), (30,), generator=generator(0))]
    found = loss(ExactMLE(), module, data)
    torch.testing.assert_close(
        gradient(found.value, module), phases(module, data, states, torch.ones(len(states))), rtol=0, atol=1e-12
    )
    log_p = -module(data) - torch.logsumexp(-module(states), 0)
    torch.testing.assert_close(found.value, -log_p.mean(), rtol=0, atol=1e-12)
    assert set(found.metrics) == {"energy_data", "log_z"}


@pytest.mark.parametrize("d", [1, 2])
def test_gradient_is_data_phase_minus_model_phase_by_quadrature(d):
    """With another rule: midpoints, on another grid, over all of the mass."""
    torch.manual_seed(0)
    module = MLP(hidden=(6,), base_scale=0.7).build((d,))
    data = torch.randn(50, d, generator=generator(0))
    found = loss(ExactMLE(points=2001 if d == 1 else 161, margin=1.5), module, data)
    count = 4000 if d == 1 else 300
    axis = (torch.arange(count) + 0.5) * (16 / count) - 8
    grid = torch.cartesian_prod(*[axis] * d).view(-1, d)
    exact = phases(module, data, grid, torch.ones(len(grid)))
    torch.testing.assert_close(gradient(found.value, module), exact, rtol=0, atol=1e-10)
    log_z = torch.logsumexp(-module(grid), 0) + d * math.log(16 / count)
    torch.testing.assert_close(found.metrics["log_z"], log_z.detach(), rtol=0, atol=1e-10)
    assert float(found.metrics["mass_at_edge"]) < 1e-6


@pytest.mark.parametrize("event", [(1,), (2,), (10,), (1, 4, 4)], ids=str)
def test_a_model_that_knows_log_z_is_asked(event):
    """The negative log-likelihood of torch's own Gaussian, and its gradient."""
    d = math.prod(event)
    covariance = random_covariance(d, 0)
    module = Gaussian(mean=(0.3,) * d, covariance=rows(covariance), shape=event).build(event)
    data = torch.randn(40, *event, generator=generator(0)) + 1
    found = loss(ExactMLE(), module, data)
    law = torch.distributions.MultivariateNormal(module.mean, precision_matrix=module.whitening.T @ module.whitening)
    exact = -law.log_prob(data.flatten(1)).mean()
    torch.testing.assert_close(found.value, exact, rtol=0, atol=1e-10)
    torch.testing.assert_close(gradient(found.value, module), gradient(exact, module), rtol=0, atol=1e-10)
    assert "mass_at_edge" not in found.metrics


def test_a_mixture_that_does_not_know_log_z_is_integrated():
    """Its module has a `log_z` all the same, for components that are normalised."""
    torch.manual_seed(0)
    module = Mixture(components=(MLP(hidden=(4,), base_scale=0.5), Gaussian(mean=(0.0,)))).build((1,))
    data = torch.randn(50, 1, generator=generator(0))
    found = loss(ExactMLE(margin=2.0, points=4001), module, data)
    grid = torch.linspace(-12, 12, 8001)[:, None]
    log_z = torch.logsumexp(-module(grid), 0) + math.log(24 / 8000)
    torch.testing.assert_close(found.metrics["log_z"], log_z.detach(), rtol=0, atol=1e-8)


def test_a_sum_of_machines_is_enumerated():
    torch.manual_seed(0)
    module = Sum(components=(Boltzmann(shape=(3,)), Boltzmann(shape=(3,), biases=(0.1, 0.2, 0.3)))).build((3,))
    states = torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * 3)
    found = loss(ExactMLE(), module, states[:5])
    torch.testing.assert_close(found.metrics["log_z"], torch.logsumexp(-module(states), 0).detach())


def test_mass_at_the_edge_is_seen():
    """A uniform density has its share of the outermost sixteenths; a narrow one has none."""
    data = torch.linspace(-1, 1, 101)[:, None]
    flat = MLP(hidden=(), base_scale=None).build((1,))
    with torch.no_grad():
        flat.last.weight.zero_()
    assert float(loss(ExactMLE(), flat, data).metrics["mass_at_edge"]) == pytest.approx(1 / 8, abs=0.01)
    narrow = MLP(hidden=(), base_scale=0.05).build((1,))
    assert float(loss(ExactMLE(), narrow, data).metrics["mass_at_edge"]) == pytest.approx(0, abs=1e-12)


def test_data_that_do_not_spread_still_have_a_box():
    data = torch.full((5, 1), 3.0)
    assert math.isfinite(float(loss(ExactMLE(), MLP(hidden=(4,)).build((1,)), data).value.detach()))


@pytest.mark.parametrize(
    ("model", "event", "refused"),
    [
        (MLP(), (2,), False),
        (MLP(), (3,), True),
        (Gaussian(mean=(0.0,) * 3), (3,), False),
        (GaussianMixture(), (2,), False),
        (Banana(), (2,), False),
        (Boltzmann(), (16,), False),
        (Boltzmann(), (17,), True),
        (Boltzmann(values="spin"), (4, 4), False),
    ],
    ids=str,
)
def test_what_cannot_be_summed_is_refused(model, event, refused):
    assert bool(ExactMLE().refusal(Question(event, model))) is refused


def test_the_refusal_names_both_places():
    spec = {
        "ebmkit": 1,
        "data": {"use": "from_model", "model": {"use": "gaussian", "mean": [0, 0, 0]}},
        "model": "mlp",
        "objective": "exact_mle",
        "train": {"steps": 1},
    }
    with pytest.raises(Mistakes, match="at most 2 real coordinates"):
        load_spec(spec)


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("points", [3, 10, 97])
def test_half_a_cell_belongs_to_the_ends_of_the_grid(d, points):
    """A density that does not vanish there, such as that of a box, whose normaliser is its volume; and a linear energy
    on a coarse grid, by the trapezoidal rule as it is written in books."""
    data = 2 * torch.rand(30, d, generator=generator(0)) - 1
    objective = ExactMLE(points=points, margin=0.25)
    module = MLP(hidden=(), base_scale=None).build((d,))
    flat = data.flatten(1)
    span = flat.amax(0) - flat.amin(0)
    low, high = flat.amin(0) - 0.25 * span, flat.amax(0) + 0.25 * span
    for slope in (0.0, 0.8):
        with torch.no_grad():
            module.last.weight.fill_(slope)
            module.last.bias.fill_(0.3)
        found = objective.loss(module, data, StepContext(generator(0), objective.extras((d,), data), 1))
        sides = [torch.linspace(float(a), float(b), points) for a, b in zip(low, high, strict=True)]
        exact = math.prod(float(torch.trapezoid(torch.exp(-slope * side), side)) for side in sides) * math.exp(-0.3)
        assert float(found.metrics["log_z"]) == pytest.approx(math.log(exact), abs=1e-12)
