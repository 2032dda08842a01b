"""`mlp_score`, `mlp_potential`, `unet_score`, `unet_potential`: a fitted Gaussian under noise, and what is learnt."""

import math
import re

import pytest
import torch

from ebmkit.chains.context import StepContext
from ebmkit.chains.energy import frozen
from ebmkit.components.data import rows
from ebmkit.components.models.mlp_potential import MLPPotential
from ebmkit.components.models.mlp_score import MLPScore
from ebmkit.components.models.nets.conditional import Labelled
from ebmkit.components.models.nets.unet import Block, UNet
from ebmkit.components.models.unet_potential import UNetPotential
from ebmkit.components.models.unet_score import UNetScore
from ebmkit.components.objectives.noise_conditional_score_matching import NoiseConditionalScoreMatching
from ebmkit.components.objectives.sde_score_matching import SDEScoreMatching
from ebmkit.components.schedules.geometric import Geometric
from ebmkit.components.schedules.ve import VE
from ebmkit.components.schedules.vp import VP
from ebmkit.contracts.question import Question
from ebmkit.maths.noise_embedding import NoiseEmbedding
from ebmkit.testing.setting import small_setting
from tests.components.noised import (
    SCHEDULES,
    Mixture,
    built,
    gradient,
    levels_of,
    name,
    off_center,
    signal_and_noise,
)
from tests.components.oracles import EVENTS, generator

IMAGE = (1, 4, 4)
SCORES = [MLPScore(hidden=(6, 5)), UNetScore(channels=8)]
POTENTIALS = [MLPPotential(hidden=(6, 5)), UNetPotential(channels=8)]
#: Models on every shape that they can take.
TRIED = [
    (model, event)
    for model in SCORES + POTENTIALS
    for event in EVENTS
    if not isinstance(model.refusal(Question(event, model)), str)
]
every = pytest.mark.parametrize(("model", "event"), TRIED, ids=lambda one: getattr(one, "component_name", str(one)))
schedules = pytest.mark.parametrize("schedule", SCHEDULES, ids=name)


def under(model, schedule):
    """The model with another schedule."""
    fields = {key: getattr(model, key) for key in ("hidden", "channels") if hasattr(model, key)}
    return type(model)(schedule=schedule, **fields)


def silenced(module):
    """What is learnt is nothing."""
    with torch.no_grad():
        for parameter in module.network.last.parameters():
            parameter.zero_()
    return module


def points(event, n=5, seed=3):
    return 4 * torch.randn(n, *event, generator=generator(seed)) + 2


def moments(data):
    """Mean of every coordinate, and one standard deviation for all, by hand."""
    center = data.sum(0) / len(data)
    return center, ((data - center).square().sum() / data.numel()).sqrt()


# --- the Gaussian ----------------------------------------------------------------------------------------------------


def test_every_model_is_tried():
    assert [(model.component_name, event) for model, event in TRIED] == [
        *[("mlp_score", event) for event in EVENTS],
        ("unet_score", IMAGE),
        *[("mlp_potential", event) for event in EVENTS],
        ("unet_potential", IMAGE),
    ]


@schedules
@every
def test_where_nothing_is_learnt_it_is_a_gaussian_under_noise(model, event, schedule):
    module = silenced(built(under(model, schedule), event))
    center, scale = moments(off_center(event))
    x = points(event)
    for level in levels_of(schedule):
        signal, noise = signal_and_noise(schedule, level)
        exact = -(x - signal * center) / (signal**2 * scale**2 + noise**2)
        torch.testing.assert_close(module.score(x, torch.tensor(level)), exact, rtol=1e-10, atol=1e-12)
        if "energy" in model.traits().offers:
            energy = -(exact * (x - signal * center)).flatten(1).sum(1) / 2
            torch.testing.assert_close(-module(x, torch.tensor(level)), energy.neg(), rtol=1e-10, atol=1e-10)


@schedules
@every
def test_what_is_learnt_is_added_by_the_formula(model, event, schedule):
    """In the units of y = x / signal, of which sigma = noise / signal is the noise, as the reference pages say."""
    module = built(under(model, schedule), event)
    center, scale = moments(off_center(event))
    x = points(event)
    for level in levels_of(schedule):
        signal, noise = signal_and_noise(schedule, level)
        sigma = noise / signal
        spread = math.sqrt(sigma**2 + scale**2)
        inputs = ((x / signal - center) / spread).requires_grad_()
        told = torch.tensor([sigma])
        if "energy" in model.traits().offers:
            g = module.network(inputs, told, None)
            (learnt,) = torch.autograd.grad(g.sum(), inputs)
            energy = (inputs.detach() ** 2).flatten(1).sum(1) / 2 - scale / sigma * g
            torch.testing.assert_close(module(x, torch.tensor(level)), energy, rtol=1e-9, atol=1e-9)
        else:
            learnt = module.network(inputs, told, None)
        exact = (-(x / signal - center) / spread**2 + scale / (sigma * spread) * learnt) / signal
        torch.testing.assert_close(module.score(x, torch.tensor(level)), exact, rtol=1e-8, atol=1e-9)
        assert float(learnt.detach().abs().max()) > 1e-3


@schedules
@pytest.mark.parametrize(
    ("model", "event"),
    [pair for pair in TRIED if "energy" in pair[0].traits().offers],
    ids=lambda one: getattr(one, "component_name", str(one)),
)
def test_the_score_of_a_potential_is_minus_its_slope(model, event, schedule):
    """By central differences along a direction, with and without a graph."""
    module = built(under(model, schedule), event)
    x, v = points(event), torch.randn(5, *event, generator=generator(4))
    eps = 1e-5
    for level in levels_of(schedule)[::2]:
        at = torch.tensor(level)
        score = module.score(x, at)
        slope = (module(x + eps * v, at) - module(x - eps * v, at)) / (2 * eps)
        torch.testing.assert_close((score * v).flatten(1).sum(1), -slope.detach(), rtol=1e-4, atol=1e-5)
        assert score.requires_grad
        with torch.no_grad():
            torch.testing.assert_close(module.score(x, at), score.detach(), rtol=1e-13, atol=1e-13)


@schedules
@every
def test_a_level_for_each_state_is_that_level_for_each(model, event, schedule):
    module = built(under(model, schedule), event)
    level = torch.tensor(levels_of(schedule)).flip(0)
    level = torch.cat([level, level[:1]])
    x = points(event, len(level))
    alone = torch.cat([module.score(x[i : i + 1], level[i]) for i in range(len(x))])
    torch.testing.assert_close(module.score(x, level), alone, rtol=1e-10, atol=1e-10)
    same = torch.full((len(x),), float(level[0]))
    torch.testing.assert_close(module.score(x, same), module.score(x, level[0]), rtol=1e-12, atol=1e-12)
    for one in level.tolist():  # and as a plain number
        torch.testing.assert_close(module.score(x, one), module.score(x, torch.tensor(one)), rtol=1e-9, atol=1e-10)
        if "energy" in model.traits().offers:
            torch.testing.assert_close(module(x, one), module(x, torch.tensor(one)), rtol=1e-9, atol=1e-10)
    if "energy" in model.traits().offers:
        alone = torch.cat([module(x[i : i + 1], level[i]) for i in range(len(x))])
        torch.testing.assert_close(module(x, level), alone, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("model", [MLPScore(schedule=VP(horizon=10.0)), MLPPotential(schedule=VP(horizon=10.0))])
def test_in_single_precision_a_signal_of_ten_to_the_minus_22_is_no_trouble(model):
    """noise / signal has a square beyond the largest number: what is left is the score of N(0, I)."""
    module = silenced(built(model, (2,))).float()
    x = points((2,)).float()
    assert module.schedule.at(torch.tensor(10.0, dtype=torch.float32))[0] < 1e-21
    for level in (10.0, torch.tensor(10.0, dtype=torch.float32)):
        torch.testing.assert_close(module.score(x, level), -x)


# --- what is taken from the data -------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_center_and_scale_are_those_of_the_data(model, event, dtype):
    data = off_center(event, 100)
    data.flatten(1)[:, 0] = 7.0  # a pixel that never changes
    module = built(under(model, SCHEDULES[1]), event, data=data.to(dtype))
    center, scale = moments(data)
    tolerance = 1e-12 if dtype == torch.float64 else 1e-5
    torch.testing.assert_close(module.center, center, rtol=tolerance, atol=tolerance)
    if event == (1,):
        assert float(module.scale) == 1.0  # nothing varies
    else:
        torch.testing.assert_close(module.scale, scale, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_of_one_point_the_scale_is_left_alone(event):
    point = off_center(event, 1)
    module = built(MLPScore(schedule=SCHEDULES[1]), event, data=point)
    torch.testing.assert_close(module.center, point[0])
    assert float(module.scale) == 1.0


@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_data_of_many_blocks_have_the_same_moments(event, monkeypatch):
    """Far from the origin, where a difference of squares would lose all digits."""
    monkeypatch.setattr(rows, "_BLOCK", 3 * math.prod(event) + 1)
    data = off_center(event, 50) + 1e6
    module = built(MLPScore(schedule=SCHEDULES[1]), event, data=data)
    center, scale = moments(data)
    torch.testing.assert_close(module.center, center, rtol=1e-13, atol=0)
    torch.testing.assert_close(module.scale, scale, rtol=1e-8, atol=0)


@every
def test_the_largest_level_is_the_largest_distance(model, event):
    data = off_center(event, 30)
    module = built(under(model, Geometric(count=4)), event, data=data)
    largest = torch.cdist(data.flatten(1), data.flatten(1)).max()
    torch.testing.assert_close(module.levels[0], largest, rtol=1e-10, atol=0)
    torch.testing.assert_close(module.levels[1:] / module.levels[:-1], (0.01 / largest).pow(1 / 3).expand(3))
    assert module.schedule.prior_std() == pytest.approx(float(largest))


@every
def test_the_state_has_what_came_from_the_data(model, event):
    """A module with the state of another, and the same levels, gives the same scores bit for bit."""
    one = built(under(model, Geometric(count=4)), event)
    other = under(model, Geometric(count=4)).build(event)
    assert {"center", "scale"} <= set(one.state_dict())
    assert "levels" not in one.state_dict()  # they follow from the data, as the schedule of a sampler does
    assert bool(other.levels.isnan().all())
    other.load_state_dict(one.state_dict())
    x = points(event, 4)
    assert torch.equal(one.score(x, one.levels), other.score(x, one.levels))


def test_a_process_in_time_has_no_levels():
    module = built(MLPScore(schedule=VP()), (2,))
    assert module.levels is None
    assert "levels" not in module.state_dict()


# --- networks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "multipliers", "words"),
    [
        ((2,), (1, 2), r"takes images of shape \(channels, height, width\), but a state has shape \(2,\)"),
        ((4, 4), (1, 2), r"takes images of shape"),
        ((1, 4, 6), (1, 2, 2), "halves images 2 times, but 6 pixels cannot be; shorten 'multipliers'"),
        ((1, 3, 4), (1, 2), "halves images once, but 3 pixels cannot be"),
        ((1, 4, 6), (1, 2), None),
        ((1, 3, 5), (1,), None),
        ((3, 8, 4), (1, 2, 3), None),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [UNetScore, UNetPotential])
def test_images_that_cannot_be_halved_are_refused(kind, event, multipliers, words):
    model = kind(channels=8, multipliers=multipliers)
    if words:
        assert re.match(words, model.refusal(Question(event, model)))
        return
    assert model.refusal(Question(event, model)) is None
    assert built(under_all(model, SCHEDULES[1]), event).score(points(event), torch.tensor(0.5)).shape == (5, *event)


def under_all(model, schedule):
    return type(model)(schedule=schedule, channels=8, multipliers=model.multipliers)


def test_channels_that_cannot_be_grouped_are_refused():
    with pytest.raises(ValueError, match="'channels' is 12, but channels are normalised in 8 groups"):
        UNetScore(channels=12)


@pytest.mark.parametrize(("before", "after"), [(8, 8), (8, 16)])
def test_a_block_begins_as_its_shortcut(before, after):
    block, x = Block(before, after, 5), torch.randn(3, before, 4, 4, generator=generator(0))
    kept = block.shortcut(x) / math.sqrt(2)
    assert torch.equal(block(x, torch.randn(3, 5, generator=generator(1))), kept)
    with torch.no_grad():
        block.second.weight.normal_(generator=generator(2))
    assert not torch.allclose(block(x, torch.zeros(3, 5)), block(x, torch.ones(3, 5)))


@pytest.mark.parametrize("model", [UNetScore(schedule=SCHEDULES[1]), UNetPotential(schedule=SCHEDULES[1])])
def test_a_u_shaped_network_begins_as_the_gaussian(model):
    module = built(model, IMAGE, stirred=False)
    center, scale = moments(off_center(IMAGE))
    x = points(IMAGE)
    torch.testing.assert_close(module.score(x, torch.tensor(0.5)), -(x - center) / (scale**2 + 0.25))


def test_a_u_shaped_network_sees_all_pixels_and_keeps_places_apart():
    """Every output depends on every input; and an image that is moved gives the same image moved, off the edges."""
    network = UNet((1, 8, 8), 8, (1, 2), 1, None)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator(0)))
    x = torch.randn(1, 1, 8, 8, generator=generator(1), requires_grad=True)
    (reach,) = torch.autograd.grad(network(x, torch.tensor([0.5]), None)[0, 0, 0, 0], x)
    assert float(reach.abs().min()) > 0


def test_a_u_shaped_potential_is_how_well_two_images_agree():
    """g(u) = u . F(u) / sqrt(d)."""
    network = built(UNetPotential(schedule=SCHEDULES[1], channels=8), (2, 4, 4)).network
    x, told = points((2, 4, 4)), torch.tensor([0.5])
    drawn = UNet.forward(network, x, told, None)
    torch.testing.assert_close(network(x, told, None), torch.einsum("bchw,bchw->b", x, drawn) / math.sqrt(32))


@pytest.mark.parametrize("blocks", [1, 2])
@pytest.mark.parametrize("multipliers", [(1,), (1, 2), (2, 1, 3)])
def test_u_shaped_networks_of_all_depths(multipliers, blocks):
    model = UNetScore(schedule=SCHEDULES[1], channels=8, multipliers=multipliers, blocks=blocks)
    module = built(model, (2, 8, 4))
    score = module.score(points((2, 8, 4)), torch.tensor(0.5))
    assert score.shape == (5, 2, 8, 4)
    assert float(gradient(score.square().sum(), module).abs().sum()) > 0


@every
def test_the_network_is_told_the_noise(model, event):
    """The same inputs at another level give something else; and so do times a bit apart."""
    module = built(under(model, SCHEDULES[1]), event)
    inputs = torch.randn(4, *event, generator=generator(0))
    said = [module.network(inputs, torch.tensor([sigma]), None) for sigma in (0.05, 0.051, 4.0)]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert float((said[one] - said[other]).detach().abs().max()) > 1e-4


def test_the_embedding_tells_levels_of_five_decades_apart():
    embedding = NoiseEmbedding(16, None)
    rows = embedding(torch.logspace(-3, 2, 200), None)
    assert rows.shape == (200, 16)
    assert float(torch.cdist(rows, rows).detach().fill_diagonal_(9).min()) > 1e-3


# --- training --------------------------------------------------------------------------------------------------------


SLOW = VP(beta_min=2.0, beta_max=2.0, horizon=2.0, earliest=0.25)
LEVELS = Geometric(sigma_max=8.0, sigma_min=0.3, count=6)


@pytest.mark.parametrize(
    ("kind", "schedule", "objective"),
    [
        (MLPScore, LEVELS, NoiseConditionalScoreMatching),
        pytest.param(MLPPotential, LEVELS, NoiseConditionalScoreMatching, marks=pytest.mark.long),
        pytest.param(MLPScore, SLOW, SDEScoreMatching, marks=pytest.mark.long),
    ],
    ids=["levels", "levels of a potential", "times"],
)
def test_trained_scores_are_near_the_exact_ones(kind, schedule, objective):
    """500 steps on a mixture in the plane: at each level the error is small against the exact score, and against that
    of the fitted Gaussian, with which training begins. Seen at the least noise: 0.19 for levels, of 0.61 before."""
    truth, rng = Mixture(2), generator(1)
    data = truth.draw(20_000, generator(0))
    model, objective = kind(schedule=schedule, hidden=(64, 64)), objective(schedule=schedule)
    module, start = (built(model, (2,), data=data, stirred=False) for _ in range(2))
    silenced(start)
    optimizer = torch.optim.Adam(module.parameters(), lr=1e-2)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 500)
    for step in range(500):
        batch = data[torch.randint(len(data), (512,), generator=rng)]
        optimizer.zero_grad()
        objective.loss(module, batch, StepContext(rng, None, step)).value.backward()
        optimizer.step()
        falling.step()
    errors = []
    for level in schedule.levels() if schedule.conditioning == "sigma" else torch.linspace(0.25, 2, 6):
        signal, noise = map(float, module.noise_at(level, data))
        clean = truth.draw(2000, rng)
        x = signal * clean + noise * torch.randn(clean.shape, generator=rng)
        exact = truth.score(x, signal, noise)
        errors.append([float((one.score(x, level).detach() - exact).norm() / exact.norm()) for one in (module, start)])
    assert max(after for after, _ in errors) < 0.4, errors
    assert all(after < 0.6 * before + 0.02 for after, before in errors), errors
    assert max(before for _, before in errors) > 0.4  # there was something to learn


@pytest.mark.parametrize("schedule", [Geometric(sigma_max=4.0), VE(sigma_max=4.0), VP(horizon=0.5)])
@pytest.mark.parametrize("labelled", [False, True])
def test_chains_begin_around_the_data(schedule, labelled):
    """10,000 starts know a mean to 0.05 sigma at 1e-6."""
    module = MLPScore(schedule=schedule, hidden=(4,), classes=2 if labelled else None).build((2,))
    data = 50 + torch.randn(500, 2, generator=generator(0))
    module.prepare(small_setting(module, data=data, labels=torch.arange(500) % 2))
    seen = Labelled(module, torch.zeros(10_000, dtype=torch.long)) if labelled else module
    with frozen(seen) as energy:
        x = energy.noise(torch.zeros(10_000, 2), generator(1))
    signal = 1.0 if schedule.conditioning == "sigma" else float(schedule.at(torch.tensor(schedule.horizon))[0])
    assert torch.allclose(x.mean(0), signal * module.center, atol=0.06 * schedule.prior_std())
    assert float(x.std(0).mean()) == pytest.approx(schedule.prior_std(), rel=0.05)
