"""`ranking_nce` and `conditional_nce`, and the minimisers of all noise contrasts on a few states, by enumeration."""

import itertools
import math

import pytest
import torch
from torch import nn

from ebmkit.chains.context import StepContext
from ebmkit.components.bregman.exponential import Exponential
from ebmkit.components.bregman.hellinger import Hellinger
from ebmkit.components.bregman.itakura_saito import ItakuraSaito
from ebmkit.components.bregman.kl import KullbackLeibler
from ebmkit.components.bregman.least_squares import LeastSquares
from ebmkit.components.bregman.logistic import Logistic
from ebmkit.components.bregman.power import Power
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.mlp import MLP
from ebmkit.components.noise.generator import GeneratorNoise
from ebmkit.components.noise.nets.conditional_gaussian import ConditionalGaussian
from ebmkit.components.objectives.bregman import BregmanRatioMatching
from ebmkit.components.objectives.conditional_nce import ConditionalNCE
from ebmkit.components.objectives.nce import NCE
from ebmkit.components.objectives.nets.contrast import Contrast
from ebmkit.components.objectives.ranking_nce import RankingNCE
from ebmkit.contracts.modules.conditional_density import ConditionalDensity
from ebmkit.contracts.modules.density import Density
from ebmkit.errors import Mistakes
from ebmkit.language.load import load_spec
from tests.components.oracles import EVENTS, FALSE_ALARM, generator, random_covariance, rows

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)


def close(a, b, atol=1e-10):
    torch.testing.assert_close(a, b, rtol=0, atol=atol)


def network(event):
    torch.manual_seed(0)
    return MLP(hidden=(5,)).build(event)


class Shifted(nn.Module):
    """A model and a constant."""

    def __init__(self, model, constant):
        super().__init__()
        self.model, self.constant = model, constant

    def forward(self, x):
        return self.model(x) + self.constant


class Table(nn.Module):
    """An energy for each of a few states, which are the numbers 0, 1, 2, ..."""

    def __init__(self, energies):
        super().__init__()
        self.energies = nn.Parameter(energies.clone())

    def forward(self, x):
        return self.energies[x[:, 0].long()]


class Listed(Density):
    """Noise on few states that draws a list: each state as often as its weight says."""

    def __init__(self, weights, drawn):
        super().__init__()
        self.register_buffer("log_p", (weights / weights.sum()).log())
        self.drawn = drawn

    def log_prob(self, x):
        return self.log_p[x[:, 0].long()]

    def sample(self, n, rng):
        assert n == len(self.drawn)
        return self.drawn


def as_often(counts):
    """States `(N, 1)`, each as often as its count."""
    return torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))[:, None].double()


def slopes(value, *parameters):
    return torch.autograd.grad(value, parameters)


DATA, NOISE = (1, 4, 2, 5), (3, 1, 2, 2)  # counts of four states
TRUTH = -(torch.tensor(DATA, dtype=torch.float64) / sum(DATA)).log()


# --- ranking_nce -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("negatives", [1, 5])
@shapes
def test_ranking_is_the_cross_entropy_of_a_softmax(event, negatives):
    """With probabilities: the first of each row is the data point, and its softmax is written out."""
    module, batch = network(event), torch.randn(12, *event, generator=generator(0))
    objective = RankingNCE(negatives=negatives)
    contrast = objective.extras(event, torch.randn(100, *event, generator=generator(1)))
    found = objective.loss(module, batch, StepContext(generator(2), contrast, 1))
    noise = contrast.noise.sample(12 * negatives, generator(2))

    def u(x):
        return torch.exp(-module(x)) / contrast.noise.log_prob(x).exp()

    among = torch.cat([u(batch)[:, None], u(noise).view(12, negatives)], 1)
    close(found.value, -(among[:, 0] / among.sum(1)).log().mean())
    target = torch.zeros(12, dtype=torch.long)
    close(found.value, nn.functional.cross_entropy(among.log(), target))
    expected = slopes(nn.functional.cross_entropy(among.log(), target), *list(module.parameters())[:-1])
    for got, wanted in zip(slopes(found.value, *list(module.parameters())[:-1]), expected, strict=True):
        close(got, wanted)
    close(found.metrics["found"], (among.argmax(1) == 0).double().mean())
    close(found.metrics["log_ratio_data"], u(batch).log().mean().detach())
    close(found.metrics["log_ratio_noise"], u(noise).log().mean().detach())
    assert "log_z" not in found.metrics
    assert not any(parameter.requires_grad for parameter in contrast.parameters())


@shapes
def test_ranking_does_not_see_a_constant(event):
    module, batch = network(event), torch.randn(12, *event, generator=generator(0))
    objective = RankingNCE()
    contrast = objective.extras(event, batch if event == (1,) else torch.randn(100, *event, generator=generator(1)))
    values = [
        objective.loss(Shifted(module, c), batch, StepContext(generator(2), contrast, 1)).value
        for c in (0.0, 7.0, -300.0)
    ]
    close(values[1], values[0])
    close(values[2], values[0])


def ranked():
    """Every data point among every pair of noise samples, as often as chance would have it: expectations are exact."""
    data, noise = as_often(DATA), as_often(NOISE)
    places = list(itertools.product(range(len(data)), range(len(noise)), range(len(noise))))
    batch = data[[place[0] for place in places]]
    drawn = torch.cat([noise[[a, b]] for _, a, b in places])
    contrast = Contrast(Listed(torch.tensor(NOISE, dtype=torch.float64), drawn), learn_log_z=False)
    return lambda model: RankingNCE(negatives=2).loss(model, batch, StepContext(generator(0), contrast, 1)).value


def hessian(value, parameter):
    (slope,) = torch.autograd.grad(value, parameter, create_graph=True)
    return torch.stack([torch.autograd.grad(each, parameter, retain_graph=True)[0] for each in slope])


def assert_minimum_up_to_a_constant(loss):
    """At the energies of the data the slope vanishes; every direction goes up but that of a constant."""
    table = Table(TRUTH + 3)
    close(slopes(loss(table), table.energies)[0], torch.zeros(4), atol=1e-12)
    curved = torch.linalg.eigh(hessian(loss(table), table.energies))
    assert abs(float(curved.eigenvalues[0])) < 1e-12
    close(curved.eigenvectors[:, 0].abs(), torch.full((4,), 0.5), atol=1e-6)
    assert float(curved.eigenvalues[1]) > 1e-3


def test_the_data_minimise_the_ranking_loss():
    assert_minimum_up_to_a_constant(ranked())


# --- conditional_nce -------------------------------------------------------------------------------------------------


class Leaning(ConditionalDensity):
    """N(y; 0.6 x + 1, 0.5): the way there is not as likely as the way back."""

    def log_prob(self, y, given):
        off = (y - 0.6 * given - 1).flatten(1)
        return -off.square().sum(1) - off.shape[1] / 2 * math.log(math.pi)

    def sample(self, given, rng):
        return 0.6 * given + 1 + math.sqrt(0.5) * torch.empty_like(given).normal_(generator=rng)


@pytest.mark.parametrize("ratio", [1, 3])
@pytest.mark.parametrize("noise", [ConditionalGaussian, Leaning])
@shapes
def test_conditional_loss_is_that_of_which_came_first(event, noise, ratio):
    """With probabilities: of x and y, how likely is it that x was the data point?"""
    module, batch = network(event), torch.randn(12, *event, generator=generator(0))
    density = ConditionalGaussian([0.8]) if noise is ConditionalGaussian else Leaning()
    found = ConditionalNCE(noise_ratio=ratio).loss(module, batch, StepContext(generator(1), density, 1))
    x = torch.stack([row for row in batch for _ in range(ratio)])
    y = density.sample(x, generator(1))
    this = torch.exp(-module(x)) * density.log_prob(y, x).exp()
    other = torch.exp(-module(y)) * density.log_prob(x, y).exp()
    close(found.value, -(this / (this + other)).log().mean())
    close(found.metrics["accuracy"], (this > other).double().mean())
    close(found.metrics["energy_difference"], (module(y) - module(x)).mean().detach())
    expected = slopes(-(this / (this + other)).log().mean(), *list(module.parameters())[:-1])
    for got, wanted in zip(slopes(found.value, *list(module.parameters())[:-1]), expected, strict=True):
        close(got, wanted)


@pytest.mark.parametrize("noise", [ConditionalGaussian, Leaning])
@shapes
def test_conditional_loss_does_not_see_a_constant(event, noise):
    module, batch = network(event), torch.randn(12, *event, generator=generator(0))
    density = ConditionalGaussian([0.8]) if noise is ConditionalGaussian else Leaning()
    values = [
        ConditionalNCE().loss(Shifted(module, c), batch, StepContext(generator(1), density, 1)).value
        for c in (0.0, 7.0, -300.0)
    ]
    close(values[1], values[0])
    close(values[2], values[0])


class Moves(ConditionalDensity):
    """Noise that moves from state to state, one row of counts each; it draws every move as often as it is likely."""

    counts = torch.tensor([[1, 2, 2, 3], [4, 1, 2, 1], [1, 1, 1, 5], [2, 3, 1, 2]], dtype=torch.float64)

    def log_prob(self, y, given):
        return (self.counts / 8).log()[given[:, 0].long(), y[:, 0].long()]

    def sample(self, given, rng):
        every = {k: as_often([int(c) for c in row])[:, 0] for k, row in enumerate(self.counts)}
        return torch.cat([every[int(k)] for k in given[::8, 0]])[:, None]


def test_the_data_minimise_the_conditional_loss_though_the_noise_is_lopsided():
    """On four states with moves that are no more likely there than back: both log p terms are needed."""
    batch = as_often(DATA)
    assert_minimum_up_to_a_constant(
        lambda model: ConditionalNCE(noise_ratio=8).loss(model, batch, StepContext(generator(0), Moves(), 1)).value
    )


@pytest.mark.parametrize("event", [(1,), (2,), (10,), (1, 2, 2)], ids=str)
def test_conditional_nce_finds_the_precision_of_a_gaussian(event):
    """The fitted precision is as far from the truth as its sampling error says, at a false-alarm rate of 1e-6.

    G is linear in the precision, so that the loss is a logistic regression: its minimiser scatters with covariance
    H^-1 J H^-1 / N, where H is the mean Hessian and J the covariance of the slopes of single data points.
    """
    d, count, ratio, sigma = math.prod(event), 10_000, 2, 0.8
    truth = Gaussian(mean=(0.0,) * d, covariance=rows(random_covariance(d, 3)), shape=event).build(event)
    data = truth.sample_exact(count, generator(0))
    objective = ConditionalNCE(noise_ratio=ratio)
    upper = torch.triu_indices(d, d)

    class Quadratic(nn.Module):
        def __init__(self):
            super().__init__()
            self.entries = nn.Parameter(torch.eye(d)[upper[0], upper[1]])

        def forward(self, x):
            return features(x) @ self.entries

    def features(x):
        flat = x.flatten(1)
        products = flat[:, upper[0]] * flat[:, upper[1]]
        return torch.where(upper[0] == upper[1], products / 2, products)

    model, density = Quadratic(), ConditionalGaussian([sigma])
    search = torch.optim.LBFGS(
        model.parameters(), max_iter=200, tolerance_grad=1e-10, tolerance_change=1e-14, line_search_fn="strong_wolfe"
    )

    def closure():
        search.zero_grad()
        value = objective.loss(model, data, StepContext(generator(1), density, 1)).value
        value.backward()
        return value

    search.step(closure)
    found = model.entries.detach()
    x = data.repeat_interleave(ratio, 0)
    change = features(density.sample(x, generator(1))) - features(x)
    wrong = torch.sigmoid(-change @ found)
    curvature = (change * (wrong * (1 - wrong))[:, None]).T @ change / len(x)
    each = (change * wrong[:, None]).view(count, ratio, -1).mean(1)
    scatter = torch.linalg.solve(
        curvature, torch.linalg.solve(curvature, torch.cov(each.T).reshape(each.shape[1], -1)).T
    )
    off = found - torch.linalg.inv(random_covariance(d, 3))[upper[0], upper[1]]
    distance = off @ torch.linalg.solve(scatter / count, off)
    p_value = torch.special.gammaincc(torch.tensor(len(found) / 2), distance / 2)  # chi-squared
    assert float(p_value) > FALSE_ALARM
    assert float((scatter / count).diagonal().sqrt().max()) < 0.06  # not by weakness


# --- all of them on a few states -------------------------------------------------------------------------------------

GENERATORS = [
    Logistic(),
    Logistic(noise_ratio=3.0),
    KullbackLeibler(),
    LeastSquares(),
    ItakuraSaito(),
    Hellinger(),
    Power(),
    Exponential(),
    Exponential(rate=0.5),
]
CONTRASTS = [NCE(noise_ratio=2 / 3), *(BregmanRatioMatching(generator=g, noise_ratio=2 / 3) for g in GENERATORS)]


@pytest.mark.parametrize("objective", CONTRASTS, ids=lambda o: f"{o.component_name}-{getattr(o, 'generator', '')}")
def test_the_data_minimise_the_contrast_with_noise(objective):
    """Twelve data points and eight noise samples on four states: model and log Z together are the data's law."""
    weights = torch.tensor(NOISE, dtype=torch.float64)
    contrast = Contrast(Listed(weights, as_often(NOISE)), learn_log_z=True)
    batch = as_often(DATA)

    def loss(model, log_z):
        with torch.no_grad():
            contrast.log_z.fill_(log_z)
        return objective.loss(model, batch, StepContext(generator(0), contrast, 1)).value

    table = Table(TRUTH - 0.7)
    for slope in slopes(loss(table, 0.7), table.energies, contrast.log_z):
        close(slope, torch.zeros_like(slope), atol=1e-12)
    assert float(torch.linalg.eigvalsh(hessian(loss(table, 0.7), table.energies)).min()) > 1e-3
    assert max(float(slope.abs().max()) for slope in slopes(loss(table, 0.0), table.energies)) > 1e-3  # log Z counts


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("objective", "said"),
    [
        ({"use": "conditional_nce", "noise": "gaussian"}, "needs noise that is 'conditional'"),
        ({"use": "ranking_nce", "noise": "conditional_gaussian"}, "needs noise that is 'density'"),
        ({"use": "nce", "noise": "conditional_gaussian"}, "needs noise that is 'density'"),
        ({"use": "flow_ce", "noise": "gaussian"}, "needs noise that is 'learnable'"),
        ({"use": "adversarial", "noise": "snapshot"}, "needs noise that is 'learnable, normalised'"),
        ({"use": "adversarial_ce", "noise": "snapshot"}, "needs noise that is 'normalised'"),
        (
            {"use": "adversarial_ce", "generator": "gaussian"},
            "'generator' must be trainable, but noise 'gaussian' is not",
        ),
    ],
    ids=str,
)
def test_noise_that_cannot_serve_is_refused(objective, said):
    spec = {"ebmkit": 1, "data": "two_moons", "model": "mlp", "objective": objective, "train": {"steps": 1}}
    with pytest.raises(Mistakes, match=said):
        load_spec(spec)


@pytest.mark.parametrize("objective", [NCE, BregmanRatioMatching, RankingNCE])
def test_noise_that_could_learn_is_left_alone_by_whoever_has_no_rival(objective):
    """What the model minimises is nothing that noise should follow: it would be driven away from the data."""
    data = torch.randn(20, 2, generator=generator(0))
    made = objective(noise=GeneratorNoise(latents=3, hidden=(4,)))
    extras = made.extras((2,), data)
    assert len(list(extras.noise.parameters())) > 1
    assert not any(parameter.requires_grad for parameter in extras.noise.parameters())
    value = made.loss(MLP(hidden=(4,)).build((2,)), data, StepContext(generator(1), extras, 1)).value
    value.backward()
    assert all(parameter.grad is None for parameter in extras.noise.parameters())
