"""Each of these was written because a planted bug survived the tests that were there before, or was seen by a whole run
alone."""

import copy
import math

import pytest
import torch

from ebmkit.chains.context import StepContext
from ebmkit.components.bregman.logistic import Logistic
from ebmkit.components.inits.data import DataStart
from ebmkit.components.models.conv import Conv
from ebmkit.components.models.conv_layers import ConvLayer
from ebmkit.components.models.exponential_family import ExponentialFamily
from ebmkit.components.models.mlp import MLP
from ebmkit.components.models.nets import exponential_family
from ebmkit.components.noise.generator import GeneratorNoise
from ebmkit.components.noise.snapshot import Snapshot
from ebmkit.components.objectives.bregman import BregmanRatioMatching
from ebmkit.components.objectives.closed_form_score_matching import ClosedFormScoreMatching
from ebmkit.components.objectives.exact_mle import ExactMLE
from ebmkit.components.objectives.nce import NCE
from ebmkit.components.objectives.nets import control_variate
from ebmkit.components.objectives.nets.introduction import introduce
from ebmkit.components.objectives.ranking_nce import RankingNCE
from ebmkit.components.samplers.langevin import Langevin
from ebmkit.engine.batches import Batches
from ebmkit.engine.build import build
from ebmkit.engine.folder.history import History
from ebmkit.engine.rng import Streams
from ebmkit.engine.run_view import RunView
from ebmkit.engine.stage import Stage
from ebmkit.engine.training_state import TrainingState
from ebmkit.language.load import load_spec
from tests.components.oracles import generator, random_covariance

CPU = torch.device("cpu")


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


def test_a_copy_takes_the_spectral_vectors_along():
    """They are no parameters: without them the copy would have other weights than the model had."""
    torch.manual_seed(0)
    event = (1, 4, 4)
    module = Conv(layers=(ConvLayer(channels=2),), activation="silu", spectral_norm=True).build(event).train()
    density = Snapshot(interval=1, sampler=Langevin(steps=1), init=DataStart()).build(event, torch.zeros(3, *event))
    density.meet(module)
    x = torch.randn(5, *event, generator=generator(0))
    for step in range(1, 4):
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.add_(torch.randn(parameter.shape, generator=generator(step)), alpha=0.3)
            module(x)  # in training mode a pass moves the vectors
        density.follow(module, step)
        module.eval()
        torch.testing.assert_close(density.log_prob(x), -module(x).detach(), rtol=0, atol=1e-14)
        module.train()


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


def test_labels_go_with_their_points():
    """Over two epochs, whichever of the two is asked for first."""
    data = torch.arange(10.0)[:, None]
    batches = Batches(data, 4, Streams(0, CPU), "train", CPU, labels=7 * torch.arange(10))
    for step in (1, 2, 3, 4):
        if step % 2:
            points, labels = batches.at(step), batches.labels_at(step)
        else:
            labels, points = batches.labels_at(step), batches.at(step)
        assert torch.equal(7 * points[:, 0].long(), labels)


def test_a_later_stage_has_the_labels_of_its_own_batches():
    """On a circle a point tells its label, by the angle."""
    spec = {
        "ebmkit": 1,
        "device": "cpu",
        "data": {"use": "eight_gaussians", "noise": 0.01, "size": 100, "test_size": 10},
        "model": {"use": "classifier", "classes": 8, "hidden": [4]},
        "objective": "jem",
        "train": [{"steps": 2, "batch_size": 8}, {"steps": 3, "batch_size": 8}],
    }
    plan = load_spec(spec)
    parts, streams = build(plan), Streams(0, CPU)
    history = History(1, lambda *_: None, lambda statistic, *_: AssertionError(statistic.name), lag=0)
    state = TrainingState(plan, parts, streams, history)
    state.stage, state.stage_began = 1, 2
    stage = Stage(RunView(plan, parts, streams, history, None), state)
    for step in (3, 4, 5):
        points, labels = stage.batch(step), stage.labels(step)
        angle = torch.atan2(points[:, 1], points[:, 0])
        assert torch.equal((angle * 8 / (2 * math.pi)).round().long() % 8, labels)
    assert len(labels.unique()) > 2


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


@pytest.mark.parametrize("block", [1, 7, 60, 100])
def test_the_closed_form_is_that_of_all_blocks_of_data(block, monkeypatch):
    data = torch.randn(100, 2, generator=generator(0)) @ random_covariance(2, 1) + 0.5
    whole, in_blocks = (_closed_form(data, size, monkeypatch) for size in (1000, block))
    for name in ("optimum", "curvature"):
        torch.testing.assert_close(getattr(in_blocks, name), getattr(whole, name), rtol=1e-10, atol=1e-10)


def _closed_form(data, block, monkeypatch):
    monkeypatch.setattr(exponential_family, "BLOCK", block)
    extras = ClosedFormScoreMatching().extras((2,), data)
    introduce(extras, ExponentialFamily(statistics=("linear", "quadratic", "quartic")).build((2,)), "real")
    return extras
