"""`latent` against closed forms of Gaussians and sums over all latent states, in float64."""

import math
from itertools import product

import pytest
import torch
from torch.distributions import MultivariateNormal, Normal

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import frozen
from ebmkit.components.models.boltzmann import Boltzmann
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.ising import Ising
from ebmkit.components.models.latent import Latent
from ebmkit.components.models.rbm import RBM
from ebmkit.components.samplers.gibbs import Gibbs
from ebmkit.components.samplers.parallel_tempering import ParallelTempering
from ebmkit.errors import Mistakes
from ebmkit.language.load import load_spec
from ebmkit.testing import check_component
from tests.components.models.test_rbm import kernel, nested, table
from tests.components.oracles import assert_mean, generator
from tests.statistics.transitions import number, rows

LOW = {"binary": 0.0, "spin": -1.0}
both = pytest.mark.parametrize("values", ["binary", "spin"])
#: Visible shapes and numbers of latent units.
SHAPES = [((1,), 1), ((2,), 3), ((10,), 2), ((1, 2, 2), 3)]
shapes = pytest.mark.parametrize(("event", "hidden"), SHAPES, ids=str)


def parameters(event, hidden, seed=0):
    d = math.prod(event)
    return {
        "weights": nested(table(d, hidden, seed=seed, scale=0.8)),
        "visible_biases": nested(table(d, seed=seed + 1)),
        "std": tuple((0.5 + table(d, seed=seed + 2).abs()).tolist()),
        "shape": event,
    }


def prior(hidden, values):
    upper = table(hidden, hidden, seed=7).triu(1)
    return Boltzmann(weights=nested(upper + upper.T), biases=nested(table(hidden, seed=8)), values=values)


def built(model, event):
    return model.build(event).double()


def points(event, n=6):
    return 2 * table(n, math.prod(event), seed=3).view(n, *event)


def states(units, values):
    return torch.tensor(list(product((LOW[values], 1.0), repeat=units)), dtype=torch.float64).view(-1, units)


def marginal(module):
    """x of factor analysis, by torch."""
    covariance = module.weights @ module.weights.T + torch.diag(module.log_std.exp() ** 2)
    return MultivariateNormal(module.visible_biases, covariance)


def mixture_log_prob(module, x, values):
    """log p(x) of a two-valued prior: a mixture of Gaussians with the weights of the prior."""
    z = states(module.hidden_units, values)
    log_prior = (-module.prior(z)).log_softmax(0)
    centres = z @ module.weights.T + module.visible_biases
    given = Normal(centres.unsqueeze(0), module.log_std.exp()).log_prob(x.flatten(1).unsqueeze(1)).sum(2)
    return (log_prior + given).logsumexp(1)


def assert_same_gradients(module, one, other):
    wanted = [p for p in module.parameters() if p.requires_grad]
    slopes = [torch.autograd.grad(value, wanted) for value in (one, other)]
    torch.testing.assert_close(*slopes, rtol=0, atol=1e-10)


@shapes
def test_factor_analysis_is_a_gaussian(event, hidden):
    module, x = built(Latent(**parameters(event, hidden), learn_std=True), event), points(event)
    log_p, expected = -module(x) - module.log_z(), marginal(module).log_prob(x.flatten(1))
    torch.testing.assert_close(log_p, expected, rtol=0, atol=1e-10)
    torch.testing.assert_close(module.posterior_energy(x, generator(0)), module(x), rtol=0, atol=0)
    assert_same_gradients(module, log_p.mean(), expected.mean())
    units = torch.cat([x.flatten(1), table(len(x), hidden, seed=4)], 1)
    v, z = module.layers_of(units)
    by_hand = (
        z.square().sum(1) / 2 + ((v - module.visible_biases - z @ module.weights.T) / module.std).square().sum(1) / 2
    )
    torch.testing.assert_close(module.joint_energy(units), by_hand, rtol=0, atol=1e-12)


@both
@shapes
def test_a_prior_of_two_values_makes_a_mixture(event, hidden, values):
    model = Latent(**parameters(event, hidden), prior=prior(hidden, values), learn_std=True)
    module, x = built(model, event), points(event)
    log_p, expected = -module(x) - module.log_z(), mixture_log_prob(module, x, values)
    torch.testing.assert_close(log_p, expected, rtol=0, atol=1e-10)
    assert_same_gradients(module, log_p.mean(), expected.mean())
    assert sum(p.numel() for p in module.parameters()) == model.parameter_count(event)
    z = states(hidden, values)
    units = torch.cat([x.flatten(1)[:1].expand(len(z), -1), z], 1)
    summed = -(-module.joint_energy(units)).logsumexp(0)
    torch.testing.assert_close(module(x[:1])[0], summed, rtol=0, atol=1e-12)


def test_energies_in_blocks_are_those_at_once(monkeypatch):
    module, x = built(Latent(**parameters((2,), 3), prior=prior(3, "spin")), (2,)), points((2,))
    whole = module(x)
    monkeypatch.setattr("ebmkit.components.models.nets.rowwise.BLOCK", 16)
    torch.testing.assert_close(module(x), whole, rtol=0, atol=1e-12)
    assert_same_gradients(module, module(x).sum(), whole.sum())


# Draws ----------------------------------------------------------------------------------------------------------------


def conditional(module, units, sites, temperature):
    """Mean and covariance of some units given the others, from the precision matrix of all of them by autograd."""
    zero = torch.zeros(units.shape[1])
    precision = torch.autograd.functional.hessian(lambda u: module.joint_energy(u.unsqueeze(0))[0], zero)
    linear = torch.autograd.functional.jacobian(lambda u: module.joint_energy(u.unsqueeze(0))[0], zero)
    others = [k for k in range(units.shape[1]) if k not in sites]
    covariance = torch.linalg.inv(precision[sites][:, sites])
    mean = -(linear[sites] + units[:, others] @ precision[others][:, sites]) @ covariance
    return mean, temperature * covariance


@pytest.mark.parametrize("temperature", [1.0, 2.5])
@pytest.mark.parametrize("sites", [[0, 1], [2, 3, 4], [1], [3], [2, 4]], ids=str)
def test_units_of_a_gaussian_given_all_others(sites, temperature):
    """The means to many digits, from draws without noise; moments at a false-alarm rate of 1e-8."""
    module = built(Latent(**parameters((2,), 3)), (2,)).requires_grad_(False)
    units = 2 * table(4, 5, seed=6)
    at = {2: module.visible, 3: module.hidden}.get(len(sites)) if sites[0] in (0, 2) else None
    at = torch.tensor(sites) if at is None or at.tolist() != sites else at
    mean, covariance = conditional(module, units, sites, temperature)
    torch.testing.assert_close(module.draw_units(units, at, 1e-40, generator(0)), mean, rtol=0, atol=1e-12)
    drawn = module.draw_units(units[:1].expand(20_000, -1), at, temperature, generator(1)) - mean[0]
    assert_mean(drawn, 0.0)
    assert_mean(drawn.unsqueeze(2) * drawn.unsqueeze(1), covariance)


@both
@pytest.mark.parametrize("temperature", [1.0, 1.7])
def test_latent_units_given_x_are_drawn_from_their_conditionals(values, temperature):
    """The transition matrix of a sweep over z at a fixed x."""
    module = built(Latent(**parameters((2,), 3), prior=prior(3, values)), (2,)).requires_grad_(False)
    z, x = states(3, values), points((2,))[0]
    units = torch.cat([x.expand(len(z), -1), z], 1)
    pi = (-module.joint_energy(units) / temperature).softmax(0)

    def sweep(rng):
        moved = units.clone()
        for site in module.blocks()[1:]:
            moved.index_copy_(1, site, module.draw_units(moved, site, temperature, rng))
        return number(moved[:, 2:], z)

    expected = torch.eye(len(z))
    for k in range(3):
        expected = expected @ kernel(pi, z, [k])
    law = rows(sweep, chains=len(z), states=len(z), normal=((0.0, 1.0),))  # x is drawn, too, and not used
    torch.testing.assert_close(law, expected, rtol=0, atol=1e-12)


@both
@pytest.mark.parametrize("hidden", [3, 13])
def test_latent_units_start_given_x(values, hidden):
    """By enumeration, or by sweeps for many units."""
    n = 20_000 if hidden == 3 else 2000
    model = Latent(**parameters((2,), hidden), prior=Ising(shape=(1, hidden), coupling=0.2, values=values))
    module = built(model, (2,)).requires_grad_(False)
    z, x = states(hidden, values), points((2,))[:1]
    p = module._log_masses(x, z)[0].softmax(0)
    drawn = module.draw_hidden(x.expand(n, -1), generator(1))
    assert_mean(drawn, p @ z)
    assert_mean(drawn[:, 1:] * drawn[:, :-1], p @ (z[:, 1:] * z[:, :-1]))


@pytest.mark.parametrize("tempered", [False, True])
@pytest.mark.parametrize("values", [None, "binary", "spin"])
def test_chains_keep_the_visible_law(values, tempered):
    """Of image-shaped states, from exact draws."""
    model = Latent(**parameters((1, 2, 2), 2), prior=prior(2, values) if values else None)
    module = built(model, (1, 2, 2)).requires_grad_(False)
    inner = Gibbs(steps=2)
    sampler = ParallelTempering(steps=3, sampler=inner, temperatures=(1.0, 2.0)) if tempered else Gibbs(steps=3)
    x = run_chain(sampler, module, module.sample_exact(20_000, generator(1)), generator(2)).x.flatten(1)
    if values is None:
        mean, covariance = marginal(module).mean, marginal(module).covariance_matrix
    else:
        z = states(2, values)
        p = (-module.prior(z)).softmax(0)
        centres = z @ module.weights.T + module.visible_biases
        mean = p @ centres
        covariance = (centres - mean).T @ (p.unsqueeze(1) * (centres - mean)) + torch.diag(module.std**2)
    assert_mean(x, mean)
    assert_mean((x - mean).unsqueeze(2) * (x - mean).unsqueeze(1), covariance)


def test_a_draw_of_many_latent_units_is_the_gradient_of_the_posterior():
    """More than 12 units of two values: E(x, z) at draws of z has the mean gradient of the energy."""
    model = Latent(hidden=13, weights=nested(table(1, 13, seed=1, scale=0.5)), prior=Ising(shape=(1, 13), coupling=0.2))
    module = built(model, (1,))
    x = torch.full((1, 1), 0.7, dtype=torch.float64)
    (exact,) = torch.autograd.grad(module(x).sum(), module.weights)
    found = torch.stack(
        [
            torch.autograd.grad(module.posterior_energy(x.expand(60, 1), generator(seed)).mean(), module.weights)[0]
            for seed in range(20)
        ]
    )
    assert_mean(found.flatten(1), exact.flatten())


# Maximum likelihood ---------------------------------------------------------------------------------------------------


def test_the_maximum_of_the_likelihood_is_that_of_probabilistic_pca():
    """Tipping and Bishop: at the optimum the covariance has the largest eigenvalues of that of the data, and std^2."""
    x = table(200, 4, seed=1) @ table(4, 4, seed=2) + 1
    module = built(Latent(hidden=2, std=0.7, weights=nested(table(4, 2, seed=5))), (4,))
    optimizer = torch.optim.LBFGS(
        module.parameters(), max_iter=300, tolerance_grad=1e-10, tolerance_change=0, line_search_fn="strong_wolfe"
    )

    def loss():
        optimizer.zero_grad()
        value = module(x).mean() + module.log_z()
        value.backward()
        return value

    optimizer.step(loss)
    variances = torch.linalg.eigvalsh((x - x.mean(0)).T @ (x - x.mean(0)) / len(x))
    fitted = torch.full((4,), 0.7**2)
    fitted[2:] = variances[2:].clamp(min=0.7**2)
    expected = -0.5 * (4 * math.log(2 * math.pi) + fitted.log().sum() + (variances / fitted).sum())
    assert -loss().item() == pytest.approx(float(expected), abs=1e-8)
    torch.testing.assert_close(module.visible_biases.detach(), x.mean(0), rtol=0, atol=1e-4)


# Specs ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        Latent(weights=((1.0, 0.3, -0.5), (0.2, -1.0, 0.7)), std=(0.5, 0.8), learn_std=True),
        Latent(weights=((1.0, 0.3), (0.2, -1.0)), std=0.5, prior=prior(2, "spin")),
        Latent(weights=((1.0, 0.3),), std=0.7, prior=RBM(hidden=2)),
    ],
    ids=["gaussian", "boltzmann", "rbm"],
)
def test_small_machines_obey_the_laws(model):
    check_component(model)


def test_what_is_offered_follows_from_the_prior():
    exact, energies = {"log_z", "sample_exact"}, {"energy", "gradient"}

    def offers(**more):
        return Latent(**more).traits().offers - Latent.offers

    assert offers() == exact | energies
    assert offers(prior=Ising(shape=(4, 5))) == exact | energies
    assert offers(prior=Ising(shape=(3, 7))) == set()
    assert offers(prior=RBM(hidden=4, shape=(30,))) == exact
    assert Latent(prior=Ising(shape=(4, 5))).hidden_units == 20
    assert Latent().hidden_units == 2


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"prior": Gaussian()}, "has real states, but units of two values are needed"),
        ({"prior": Ising(shape=(2, 2)), "hidden": 3}, "has 4 units, but there are 3 latent ones"),
        ({"weights": ((1.0, 0.0),), "visible_biases": (1.0, 2.0)}, "'visible_biases' has 2 numbers"),
    ],
)
def test_what_is_no_machine_is_refused(wrong, says):
    with pytest.raises(ValueError, match=says):
        Latent(**wrong)


SPEC = """
ebmkit: 1
data: two_moons
model: {use: latent, prior: %s}
objective: %s
train: {steps: 5}
"""


@pytest.mark.parametrize(
    ("prior", "objective", "words"),
    [
        ("{use: ising, shape: [5, 5]}", "{use: mle, sampler: gibbs}", "needs 'energy'"),
        ("{use: ising, shape: [5, 5]}", "{use: variational_mle, sampler: langevin}", "needs 'energy, gradient'"),
        ("{use: ising, shape: [2, 2]}", "{use: variational_mle, sampler: langevin}", "moves visible ones only"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, prior, objective, words):
    path = tmp_path / "spec.yaml"
    path.write_text(SPEC % (prior, objective))
    with pytest.raises(Mistakes) as caught:
        load_spec(path)
    found = [each for each in caught.value.mistakes if words in each.message]
    assert found, [each.message for each in caught.value.mistakes]
    assert found[0].place.line == 5


def test_gibbs_serves_a_prior_of_any_size(tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text(SPEC % ("{use: ising, shape: [5, 5]}", "variational_mle"))
    assert load_spec(path).chain_sampler.component_name == "gibbs"


def test_numbers_that_are_not_finite_stay_so():
    module = built(Latent(**parameters((2,), 2)), (2,)).requires_grad_(False)
    module.weights[0, 0] = math.nan
    with frozen(module) as energy:
        assert energy(points((2,))).isnan().all()
    assert module.draw_hidden(points((2,)), generator(0)).isnan().all()
