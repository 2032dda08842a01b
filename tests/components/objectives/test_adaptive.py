"""Self-adapting noise contrast and ratio matching: with interval 1 they are maximum likelihood, and the copy of the
model is the right one at every step."""

import copy
import itertools
import json
import math
import re
import shutil
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from torch.nn.functional import softplus

import ebmkit
from ebmkit.api import component
from ebmkit.chains.context import StepContext
from ebmkit.components.bregman.logistic import Logistic
from ebmkit.components.inits.data import DataStart
from ebmkit.components.inits.replay import Replay
from ebmkit.components.models.conv import Conv
from ebmkit.components.models.mlp import MLP
from ebmkit.components.noise.snapshot import Snapshot
from ebmkit.components.objectives.adaptive_bregman import AdaptiveBregman
from ebmkit.components.objectives.adaptive_nce import AdaptiveNCE
from ebmkit.components.objectives.bregman import BregmanRatioMatching
from ebmkit.components.objectives.mle import MLE
from ebmkit.components.samplers.langevin import Langevin, LangevinState
from ebmkit.contracts.kinds import Bregman, Sampler, StepInfo
from ebmkit.contracts.modules.live import prepare_modules
from ebmkit.engine.folder import checkpoint
from ebmkit.engine.limit import Limit
from ebmkit.engine.training_state import TrainingState
from ebmkit.registry.builtin import ebmkit_components
from ebmkit.testing.setting import small_setting
from tests.components.oracles import EVENTS, generator
from tests.drawn import resume, run
from tests.faults.remains import different, ends


@component("psi_alone")
class PsiAlone(Bregman):
    """A generator as a plugin author writes it: S0 and S1 are derived."""

    def psi(self, u):
        return u**3 / 6 + torch.cosh(u - 0.5)


#: Everything that is registered, one with another parameter, and one that is not registered.
GENERATORS = [
    *(offer.load()() for offer in ebmkit_components() if offer.kind == "bregman"),
    Logistic(noise_ratio=3.0),
    PsiAlone(),
]
shapes = pytest.mark.parametrize("event", EVENTS, ids=str)
every = pytest.mark.parametrize("psi", GENERATORS, ids=str)

GALLERY = Path(__file__).parents[3] / "specs/gallery"
CHAIN = {"sampler": Langevin(steps=3, step_size=0.05), "init": Replay(size=40, rejuvenation=0.2)}


def curvature_at_one(psi):
    """psi''(1), from psi and nothing else."""
    u = torch.ones(1, requires_grad=True)
    (slope,) = torch.autograd.grad(psi.psi(u).sum(), u, create_graph=True)
    return float(torch.autograd.grad(slope.sum(), u)[0])


def network(event):
    torch.manual_seed(0)
    return MLP(hidden=(5,)).build(event)


def points(event, seed=0, n=12):
    return torch.randn(n, *event, generator=generator(seed)) * 0.8 + 0.3


def met(objective, module, event):
    """Its extras, as a run builds them."""
    extras = objective.extras(event, points(event))
    prepare_modules(extras, small_setting(module))
    return extras


def trained(objective, module, extras, event, steps, rate=0.1):
    """Plain gradient descent: each step, its data, its loss and its gradient, before the model moves."""
    parameters = list(module.parameters())
    for step in range(1, steps + 1):
        data = points(event, 100 + step)
        loss = objective.loss(module, data, StepContext(generator(step), extras, step))
        slopes = torch.autograd.grad(loss.value, parameters)
        yield step, data, loss, torch.cat([slope.flatten() for slope in slopes])
        with torch.no_grad():
            for parameter, slope in zip(parameters, slopes, strict=True):
                parameter -= rate * slope


# --- interval 1 is maximum likelihood --------------------------------------------------------------------------------


@every
@shapes
def test_gradient_at_interval_one_is_that_of_mle_times_the_curvature(event, psi):
    """Chains of both begin and move alike. Three steps, so that a copy that is not renewed shows."""
    one, two = network(event), network(event)
    adaptive, mle = AdaptiveBregman(generator=psi, interval=1, energy_l2=0.0, **CHAIN), MLE(energy_l2=0.0, **CHAIN)
    factor = curvature_at_one(psi)
    pairs = zip(
        trained(adaptive, one, met(adaptive, one, event), event, 3, rate=0.1 / factor),
        trained(mle, two, met(mle, two, event), event, 3),
        strict=True,
    )
    for (_, _, _, found), (_, _, _, exact) in pairs:
        torch.testing.assert_close(found, factor * exact, rtol=1e-10, atol=1e-10)
        assert float(exact.norm()) > 1e-2


@every
@shapes
def test_gradient_at_interval_one_is_data_phase_minus_model_phase(event, psi):
    """The same by the formula, at chain ends that are given."""
    module, data, ends = network(event), points(event, 1), points(event, 2)
    objective = AdaptiveBregman(generator=psi, interval=1, sampler=Condition((ends,)), init=DataStart(), energy_l2=0.0)
    value = objective.loss(module, data, StepContext(generator(0), met(objective, module, event), 1)).value
    parameters = list(module.parameters())
    pairs = zip(
        torch.autograd.grad(value, parameters),
        torch.autograd.grad(module(data).mean() - module(ends).mean(), parameters),
        strict=True,
    )
    for found, exact in pairs:
        torch.testing.assert_close(found, curvature_at_one(psi) * exact, rtol=1e-10, atol=1e-10)


@shapes
def test_adaptive_nce_at_interval_one_is_one_half_of_mle_to_the_last_bit(event):
    one, two = network(event), network(event)
    adaptive, mle = AdaptiveNCE(interval=1, energy_l2=0.0, **CHAIN), MLE(energy_l2=0.0, **CHAIN)
    pairs = zip(
        trained(adaptive, one, met(adaptive, one, event), event, 3, rate=0.2),
        trained(mle, two, met(mle, two, event), event, 3, rate=0.1),
        strict=True,
    )
    for (_, _, loss, found), (_, _, _, exact) in pairs:
        assert torch.equal(found, exact / 2)
        assert float(loss.value.detach()) == pytest.approx(2 * math.log(2), abs=1e-12)  # it says nothing


def test_spectral_norms_change_nothing_about_it():
    """The pass in training mode moves them, and the copy has those of that pass."""
    torch.manual_seed(0)
    event = (1, 6, 6)
    module = Conv(layers=None, spectral_norm=True).build(event)
    with torch.no_grad():
        for parameter in module.parameters():  # so that the norms lag behind
            parameter.add_(0.1 * torch.randn_like(parameter))
    twin = copy.deepcopy(module)
    adaptive, mle = AdaptiveNCE(interval=1, energy_l2=0.0, **CHAIN), MLE(energy_l2=0.0, **CHAIN)
    ((_, _, _, found),) = trained(adaptive, module, met(adaptive, module, event), event, 1)
    ((_, _, _, exact),) = trained(mle, twin, met(mle, twin, event), event, 1)
    torch.testing.assert_close(found, exact / 2, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", ["nce", *(psi.component_name for psi in GENERATORS[:-2])])
def test_the_gallery_walks_the_path_of_mle(name, tmp_path, undrawn):
    """Adam does not see the factor psi''(1). Thirty steps of the specs themselves end at the same weights."""
    weights = []
    for spec in ("mle", name):
        path = GALLERY / f"adaptive-k1-{spec.replace('_', '-')}.yaml"
        short = ["train.steps=30", "evaluate=[]", "expect=[]", "samples=16", "samples_every=null"]
        record = run(ebmkit.load_spec(path, sets=short), runs_dir=tmp_path / spec)
        weights.append(checkpoint.latest(record.folder / "checkpoints", None, pytest.fail).tensors["model"])
    mle, adaptive = weights
    for weight in mle:
        torch.testing.assert_close(adaptive[weight], mle[weight], rtol=0, atol=1e-6)


# --- the copy --------------------------------------------------------------------------------------------------------


class Condition(Sampler):
    """Chains that end where they are told, each time at the next place; it remembers whose chains they were."""

    steps: ClassVar[int] = 1

    def __init__(self, places):
        self.places, self.seen, self.frozen = list(places), [], []

    def init(self, energy, x, rng):
        return LangevinState(x)

    def step(self, energy, state, rng):
        self.seen.append(bits(energy.module))
        self.frozen.append(not any(p.requires_grad for p in energy.module.parameters()) and not energy.module.training)
        return LangevinState(self.places[(len(self.seen) - 1) % len(self.places)]), StepInfo()


def bits(module):
    return [tensor.detach().clone() for tensor in module.state_dict().values()]


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("interval", [1, 2, 3, 5])
def test_the_copy_is_renewed_before_steps_1_and_1_plus_k(interval):
    """Chains run on it, the ratio is taken to it, and in between it does not move by a bit."""
    event, module = (2,), network((2,))
    ends = [points(event, 50 + step) for step in range(11)]
    sampler = Condition(ends)
    objective = AdaptiveNCE(interval=interval, sampler=sampler, init=DataStart(), energy_l2=0.0)
    extras = met(objective, module, event)
    noise = extras.noise
    models = []
    for step, data, loss, _ in trained(objective, module, extras, event, 11):
        models.append(copy.deepcopy(module))
        renewed = ((step - 1) // interval) * interval  # counted from 0
        assert same(bits(noise.model), bits(models[renewed]))
        assert same(sampler.seen[-1], bits(models[renewed]))
        assert sampler.frozen[-1]
        old = models[renewed]
        at_data, at_noise = old(data) - module(data), old(ends[step - 1]) - module(ends[step - 1])
        expected = softplus(-at_data).mean() + softplus(at_noise).mean()
        torch.testing.assert_close(loss.value, expected, rtol=1e-12, atol=1e-12)
        assert not noise.model.training
        assert noise.model is not module
        assert all(p.grad is None and not p.requires_grad for p in noise.parameters())
    assert not any(same(bits(one), bits(other)) for one, other in itertools.pairwise(models))  # it did learn


@pytest.mark.parametrize("interval", [1, 2, 3, 5])
def test_training_is_algorithm_3_1(interval):
    """Written out from the thesis, with t from 0, `(t + 1) % K`, and its densities as they stand there."""
    event, steps, rate = (2,), 11, 0.1
    ends = [points(event, 50 + t) for t in range(steps)]
    module, theirs = network(event), network(event)
    objective = AdaptiveNCE(interval=interval, sampler=Condition(ends), init=DataStart(), energy_l2=0.0)
    for _ in trained(objective, module, met(objective, module, event), event, steps, rate):
        pass
    frozen = copy.deepcopy(theirs)
    for t in range(steps):
        data, noise = points(event, 101 + t), ends[t]

        def share(x, frozen=frozen):
            """p_theta / (p_m + p_theta)."""
            return torch.exp(-theirs(x)) / (torch.exp(-frozen(x)) + torch.exp(-theirs(x)))

        loss = -(torch.log(1 - share(noise)) + torch.log(share(data))).mean()
        slopes = torch.autograd.grad(loss, list(theirs.parameters()))
        with torch.no_grad():
            for parameter, slope in zip(theirs.parameters(), slopes, strict=True):
                parameter -= rate * slope
        if (t + 1) % interval == 0:
            frozen = copy.deepcopy(theirs)
    for one, other in zip(module.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


@shapes
def test_the_copy_is_a_noise_density_like_others(event):
    """Its log density is minus its own energy, its draws are chains of its own, whatever became of the model."""
    module = network(event)
    density = Snapshot(sampler=Langevin(steps=3, step_size=0.05), init=DataStart()).build(event, points(event))
    density.prepare(small_setting(module, event))
    old = copy.deepcopy(module)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 1
    x = points(event, 3)
    assert torch.equal(density.log_prob(x), -old(x))
    assert not density.log_prob(x).requires_grad
    drawn, rng, y = density.sample(6, generator(4)), generator(4), torch.zeros(6, *event)
    for _ in range(3):
        y.requires_grad_()
        (slope,) = torch.autograd.grad(old(y).sum(), y)
        y = (y - 0.05 * slope).detach() + torch.empty_like(y).normal_(0, math.sqrt(0.1), generator=rng)
    torch.testing.assert_close(drawn, y, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("interval", [1, 3])
@shapes
def test_three_names_for_one_loss(event, interval):
    """`adaptive_nce`, `adaptive_bregman` with `logistic`, and `bregman` with noise `snapshot`, along seven steps."""
    objectives = [
        AdaptiveNCE(interval=interval, energy_l2=0.0, **CHAIN),
        AdaptiveBregman(generator=Logistic(), interval=interval, energy_l2=0.0, **CHAIN),
        BregmanRatioMatching(noise=Snapshot(interval=interval, **CHAIN), learn_log_z=False),
    ]
    modules = [network(event) for _ in objectives]
    paths = [
        trained(objective, module, met(objective, module, event), event, 7)
        for objective, module in zip(objectives, modules, strict=True)
    ]
    for steps in zip(*paths, strict=True):
        (_, _, first, slope), *others = steps
        for _, _, loss, other in others:
            assert torch.equal(loss.value, first.value)
            assert torch.equal(other, slope)


def test_there_are_as_many_noise_samples_as_asked_for():
    event, module = (2,), network((2,))
    objective = BregmanRatioMatching(noise=Snapshot(**CHAIN), noise_ratio=2.5, learn_log_z=False)
    extras, data = met(objective, module, event), points(event)
    ratios = extras.log_ratios(module, data, 30, StepContext(generator(0), extras, 1))
    assert ratios.samples.shape == (30, 2)
    assert ratios.noise.shape == (30,)
    assert ratios.data.shape == (12,)


# --- what is added, and what is logged -------------------------------------------------------------------------------


@shapes
def test_penalty_is_on_the_energies_of_both_phases(event):
    module, data, ends = network(event), points(event, 1), points(event, 2)
    values = []
    for factor in (0.0, 0.3):
        objective = AdaptiveNCE(sampler=Condition([ends]), init=DataStart(), energy_l2=factor)
        loss = objective.loss(module, data, StepContext(generator(0), met(objective, module, event), 1))
        values.append(loss.value)
    a, b = module(data), module(ends)
    torch.testing.assert_close(values[1] - values[0], 0.3 * (a.pow(2).mean() + b.pow(2).mean()), rtol=0, atol=1e-10)
    torch.testing.assert_close(loss.metrics["energy_data"], a.mean().detach())
    torch.testing.assert_close(loss.metrics["energy_model"], b.mean().detach())
    assert not any(value.requires_grad for value in loss.metrics.values())


def test_log_ratios_are_logged():
    event, module, ends = (2,), network((2,)), points((2,), 2)
    objective = AdaptiveNCE(interval=5, sampler=Condition([ends]), init=DataStart())
    for _, data, loss, _ in trained(objective, module, met(objective, module, event), event, 3):
        if not loss.metrics["log_ratio_data"]:
            old = copy.deepcopy(module)
        torch.testing.assert_close(loss.metrics["log_ratio_data"], (old(data) - module(data)).mean().detach())
        torch.testing.assert_close(loss.metrics["log_ratio_noise"], (old(ends) - module(ends)).mean().detach())
    assert abs(float(loss.metrics["log_ratio_data"])) > 1e-3


@shapes
def test_gradients_of_the_copy_are_traced_along_the_path(event):
    """At the second step of an interval, where copy and model differ; the path is walked here by hand."""
    module = network(event)
    objective = AdaptiveNCE(interval=5, sampler=Langevin(steps=4, step_size=0.05), init=DataStart())
    extras = met(objective, module, event)
    old = copy.deepcopy(module)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.3
    data, context = points(event, 1), StepContext(generator(7), extras, 2)
    objective.loss(module, data, context)
    ((_, chain),) = context.chains
    x, rng, lengths = data.clone(), generator(7), []
    for _ in range(4):
        x.requires_grad_()
        (slope,) = torch.autograd.grad(old(x).sum(), x)
        lengths.append(slope.flatten(1).norm(dim=1).mean())
        x = (x - 0.05 * slope).detach() + torch.empty_like(x).normal_(0, math.sqrt(0.1), generator=rng)
    torch.testing.assert_close(chain.traces["gradient_norm"], torch.stack(lengths), rtol=1e-10, atol=1e-12)


#: Images, spectral norm, a term with a state of its own, and a copy that is some steps old wherever the run is left.
SPECTRAL = {
    "ebmkit": 1,
    "name": "spectral",
    "seed": 3,
    "device": "cpu",
    "data": "digits",
    "model": {"use": "conv", "layers": [{"channels": 4}], "activation": "silu", "spectral_norm": True},
    "objective": {
        "use": "adaptive_nce",
        "interval": 3,
        "sampler": {"use": "langevin", "steps": 3, "step_size": 0.01},
        "init": {"use": "replay", "size": 64, "rejuvenation": 0.1},
        "control_variate": True,
    },
    "train": {"steps": 8, "batch_size": 16, "optimizer": {"use": "adam", "lr": 0.01}},
    "samples": 16,
    "samples_every": None,
    "checkpoint": {"every": 1, "keep": 99},
}


def test_v_is_the_mean_along_the_path(tmp_path, undrawn, monkeypatch):
    traces, chain = [], StepContext.chain

    def watched(self, *args, **options):
        ended = chain(self, *args, **options)
        traces.append(self.chains[-1][1].traces["gradient_norm"])
        return ended

    monkeypatch.setattr(StepContext, "chain", watched)
    folder = run(ebmkit.load_spec(SPECTRAL), runs_dir=tmp_path).folder
    logged = [json.loads(line).get("v") for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [v for v in logged if v is not None] == pytest.approx([float(trace.mean()) for trace in traces], rel=1e-6)
    assert len(traces) == 8
    assert all(abs(float(trace.mean() - trace[-1])) > 1e-6 for trace in traces)


def test_in_a_run_the_copy_is_the_model_of_the_right_step(tmp_path, undrawn):
    """Its weights are those of the model behind step 0, 3, 6; its spectral vectors those of the pass in the next."""
    folder = run(ebmkit.load_spec(SPECTRAL), runs_dir=tmp_path).folder
    read = [checkpoint.read(path, None) for path in checkpoint.found(folder / "checkpoints")]
    saved = {each.step: each.tensors for each in read}
    assert set(saved) >= set(range(1, 9))
    for step in range(4, 9):
        renewed = 3 * ((step - 1) // 3)
        for name, tensor in saved[step]["extras"].items():
            if name.startswith("noise.model."):
                behind = renewed + name.endswith((".u", ".v"))
                assert torch.equal(tensor, saved[behind]["model"][name.removeprefix("noise.model.")]), (step, name)
    assert any(name.endswith(".u") for name in saved[1]["model"])


@pytest.fixture(scope="module")
def spectral_runs(tmp_path_factory):
    """One that was not disturbed, and one that was left behind step 5, where the copy is two steps old."""
    patch, folder = pytest.MonkeyPatch(), tmp_path_factory.mktemp("runs")
    patch.setattr("ebmkit.report.summary.draw_summary", lambda *content: b"a picture")
    patch.setattr("ebmkit.report.page.write_report", lambda *content: "a report")
    whole = run(ebmkit.load_spec(SPECTRAL), runs_dir=folder / "whole").folder
    left = run(ebmkit.load_spec(SPECTRAL), runs_dir=folder / "left", limit=Limit(steps=5)).folder
    patch.undo()
    return ends(whole), left


@pytest.mark.parametrize(
    "part", [None, r"noise\.model\..*(weight|bias)", r"noise\.model\..*\.[uv]", r"control\..*", r"noise\.starts\..*"]
)
def test_a_run_goes_on_from_its_checkpoint_and_from_all_of_it(part, spectral_runs, tmp_path, undrawn, monkeypatch):
    """The extras whole, or with some of them as they are in a run that was just begun: that is then seen."""
    torch.set_default_dtype(torch.float32)  # as in a run, and in the two that were made before
    whole, left = spectral_runs
    folder, restore, put_back = tmp_path / "run", TrainingState.restore, []
    shutil.copytree(left, folder)

    def without(state, saved):
        fresh = {name: tensor.clone() for name, tensor in state.parts.extras.state_dict().items()}
        for name, tensor in fresh.items():
            if part and re.fullmatch(part, name):
                put_back.append(not torch.equal(saved.tensors["extras"][name], tensor))
                saved.tensors["extras"][name] = tensor
        restore(state, saved)

    monkeypatch.setattr(TrainingState, "restore", without)
    resume(ebmkit.load_spec(folder / "resolved.yaml"), folder)
    assert any(put_back) == (part is not None)
    assert bool(different(ends(folder), whole)) == (part is not None)
