"""Networks that are told a label: it reaches the output, comes from the data, and stays with its state."""

import numpy as np
import pytest
import torch

import ebmkit
from ebmkit import load_spec
from ebmkit.chains.chain import run_chain
from ebmkit.chains.context import StepContext
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.mlp_potential import MLPPotential
from ebmkit.components.models.mlp_score import MLPScore
from ebmkit.components.models.nets.conditional import Conditional, Labelled
from ebmkit.components.models.noised_mixture import NoisedMixtureModel
from ebmkit.components.models.unet_potential import UNetPotential
from ebmkit.components.models.unet_score import UNetScore
from ebmkit.components.objectives.noise_conditional_score_matching import NoiseConditionalScoreMatching
from ebmkit.components.objectives.sde_score_matching import SDEScoreMatching
from ebmkit.components.samplers.annealed_langevin import AnnealedLangevin
from ebmkit.components.schedules.geometric import Geometric
from ebmkit.components.schedules.vp import VP
from ebmkit.contracts.question import Question
from ebmkit.errors.base import Mistakes
from ebmkit.testing.setting import small_setting
from tests.components.noised import Witness, built, gradient, off_center
from tests.components.oracles import EVENTS, assert_mean, generator
from tests.drawn import run
from tests.language.specs import LABELLED_SCORE, score_spec

SIGMAS = Geometric(sigma_max=4.0, sigma_min=0.05, count=4)
KINDS = {MLPScore: {"hidden": (6, 5)}, MLPPotential: {"hidden": (6, 5)}, UNetScore: {}, UNetPotential: {}}
TRIED = [(kind, event) for kind in KINDS for event in EVENTS if kind().refusal(Question(event, Gaussian())) is None]
every = pytest.mark.parametrize(("kind", "event"), TRIED, ids=lambda one: getattr(one, "component_name", str(one)))


def model(kind, classes=3, schedule=SIGMAS):
    small = KINDS[kind] or {"channels": 8}
    return kind(schedule=schedule, classes=classes, **small)


def points(event, n=6):
    return 2 * torch.randn(n, *event, generator=generator(1))


LABELS = torch.tensor([2, 0, 1, 1, 0, 2])


@every
def test_every_label_has_a_score_of_its_own(kind, event):
    module, x, at = built(model(kind), event), points(event), torch.tensor(0.5)
    scores = [module.score(x, at, torch.full((6,), label)).detach() for label in range(3)]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert float((scores[one] - scores[other]).abs().max()) > 1e-3
    mixed = torch.stack([scores[label][row] for row, label in enumerate(LABELS.tolist())])
    torch.testing.assert_close(module.score(x, at, LABELS), mixed, rtol=1e-12, atol=1e-12)


@every
def test_labels_and_levels_go_with_their_states(kind, event):
    module, x = built(model(kind), event), points(event)
    level = SIGMAS.levels()[torch.tensor([0, 3, 1, 2, 0, 1])]
    alone = [module.score(x[i : i + 1], level[i], LABELS[i : i + 1]) for i in range(6)]
    torch.testing.assert_close(module.score(x, level, LABELS), torch.cat(alone), rtol=1e-10, atol=1e-10)
    if "energy" in kind.offers:
        alone = [module(x[i : i + 1], level[i], LABELS[i : i + 1]) for i in range(6)]
        torch.testing.assert_close(module(x, level, LABELS), torch.cat(alone), rtol=1e-10, atol=1e-10)


@every
def test_a_network_for_labels_asks_for_them_and_another_does_not(kind, event):
    x, at = points(event), torch.tensor(0.5)
    assert model(kind).traits().labelled
    assert not model(kind, classes=None).traits().labelled
    with pytest.raises(ValueError, match="the network is conditioned on labels, but none were given"):
        built(model(kind), event).score(x, at)
    module = built(model(kind, classes=None), event)
    assert torch.equal(module.score(x, at, LABELS), module.score(x, at))
    assert module.network.embedding.classes is None


def test_one_class_is_a_label_too():
    module = built(model(MLPScore, classes=1), (2,))
    assert module.score(points((2,)), torch.tensor(0.5), torch.zeros(6, dtype=torch.long)).shape == (6, 2)


def prepare(model, data, labels):
    module = model.build((1, 4, 4))
    module.prepare(small_setting(module, (1, 4, 4), data=data, labels=torch.tensor(labels)))


@pytest.mark.parametrize(
    ("labels", "wrong"), [([0, 3, 1], 3), ([0, -1, 1], -1), ([7, -2, 9], -2)], ids=["above", "below", "both"]
)
@pytest.mark.parametrize("kind", [MLPScore, UNetPotential])
def test_labels_beyond_the_classes_are_refused(kind, labels, wrong):
    data = off_center((1, 4, 4), 3)
    with pytest.raises(ValueError, match=f"there is a label {wrong}, but 'classes' is 3: labels are 0 to 2"):
        prepare(model(kind), data, labels)
    prepare(model(kind), data, [0, 2, 1])
    prepare(model(kind, classes=None), data, labels)


def test_a_spec_with_too_few_classes_is_refused_at_the_model():
    with pytest.raises(Mistakes, match="data 'two_moons' has labels 0 to 1, but model 'mlp_score' takes 0 to 0"):
        load_spec(
            {
                "ebmkit": 1,
                "data": {"use": "two_moons", "size": 50, "test_size": 10},
                "model": {"use": "mlp_score", "hidden": [4], "classes": 1},
                "objective": "noise_conditional_score_matching",
                "train": {"steps": 1, "batch_size": 8},
            }
        )


# --- objectives ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("objective", "schedule"),
    [
        (NoiseConditionalScoreMatching(schedule=SIGMAS), SIGMAS),
        (NoiseConditionalScoreMatching(schedule=SIGMAS, power=0.0), SIGMAS),
        (SDEScoreMatching(schedule=VP()), VP()),
        (SDEScoreMatching(schedule=VP(), weight="likelihood"), VP()),
    ],
    ids=["levels", "weighted levels", "times", "likelihood"],
)
@pytest.mark.parametrize("kind", [MLPScore, MLPPotential])
def test_objectives_hand_on_labels(kind, objective, schedule):
    """Each point's own; and nothing is learnt of a label that does not occur."""
    module = built(model(kind, schedule=schedule), (2,))
    labels, batch = torch.tensor([0, 2, 2, 0, 2]), points((2,), 5)
    witness = Witness(module)
    loss = objective.loss(witness, batch, StepContext(generator(0), None, 1, labels=labels)).value
    assert torch.equal(witness.seen[0][2], labels)
    slope = gradient(loss, module.network.embedding.classes).view(3, -1).abs().sum(1)
    assert float(slope[1]) == 0
    assert float(slope[[0, 2]].min()) > 0


@pytest.mark.parametrize("use", ["noise_conditional_score_matching", "sde_score_matching"])
def test_a_batch_comes_with_the_labels_of_its_points(use, tmp_path, monkeypatch, undrawn):
    """In a run, shuffled over several epochs: every point that was trained on has the label that the data give it."""
    cls = {c.component_name: c for c in (NoiseConditionalScoreMatching, SDEScoreMatching)}[use]
    usual, seen = cls.loss, []

    def loss(self, network, batch, context):
        seen.append((batch.clone(), context.labels.clone()))
        return usual(self, network, batch, context)

    monkeypatch.setattr(cls, "loss", loss)
    schedule = "vp" if use == "sde_score_matching" else "geometric"
    plan = load_spec(
        {
            "ebmkit": 1,
            "device": "cpu",
            "data": {"use": "two_moons", "size": 40, "test_size": 10},
            "model": {"use": "mlp_score", "hidden": [4], "classes": 2, "schedule": schedule},
            "objective": {"use": use, "schedule": schedule},
            "train": {"steps": 12, "batch_size": 16},
            "samples": 4,
        }
    )
    run(plan, runs_dir=tmp_path)
    found = {}
    for batch, labels in seen:
        for point, label in zip(batch.tolist(), labels.tolist(), strict=True):
            assert found.setdefault(tuple(point), label) == label
    assert len(seen) == 12
    assert len(found) == 40
    upper = [label for (_, height), label in found.items() if height > 0.8]
    assert len(set(upper)) == 1  # only one of the moons comes so high
    assert set(found.values()) == {0, 1}


# --- chains ----------------------------------------------------------------------------------------------------------


class Exact(Conditional):
    """Of label k, N(10 k - 5, 1) under noise."""

    def score(self, x, level, labels=None):
        _, noise = self.noise_at(level, x)
        return -(x - (10.0 * labels.view(-1, 1) - 5)) / (1 + noise**2)


def test_a_chain_keeps_its_label():
    """Each ends in the component of its label, in the mean at its centre within six standard errors."""
    labels = torch.tensor([0, 1, 1]).repeat(700)
    sampler = AnnealedLangevin(schedule=SIGMAS, steps_per_level=150, step_size=1e-4, denoise=False)
    module = Labelled(Exact(SIGMAS, classes=2), labels)
    off = run_chain(sampler, module, torch.zeros(2100, 1), generator(0)).x.flatten() - (10 * labels - 5)
    for label in (0, 1):
        assert_mean(off[labels == label], 0.0)
        assert float(off[labels == label].abs().max()) < 6


def test_labelled_is_the_network_with_its_labels_and_noise():
    network = built(model(MLPScore), (2,))
    labelled, x = Labelled(network, LABELS), points((2,))
    at = torch.tensor(0.5)
    assert torch.equal(labelled.score(x, at), network.score(x, at, LABELS))
    assert labelled.schedule is network.schedule
    assert torch.equal(labelled.prior_mean(), network.prior_mean())


def test_a_mixture_has_no_labels():
    module = NoisedMixtureModel().build((2,))
    x, at = points((2,)), torch.tensor(0.5)
    assert torch.equal(module.score(x, at, LABELS), module.score(x, at))


def test_labels_of_held_out_points_are_checked_before_the_training(tmp_path):
    labels = np.zeros(100, dtype=np.int64)
    held_out = int(np.argmax((np.arange(100) / ((1 + 5**0.5) / 2)) % 1 < 0.2))
    labels[held_out] = 5
    np.savez(tmp_path / "points.npz", x=np.random.default_rng(0).normal(size=(100, 2)), y=labels)
    data = {"use": "npz", "path": str(tmp_path / "points.npz"), "y": "y"}
    with pytest.raises(Mistakes, match="labels 0 to 5"):
        ebmkit.run(score_spec(data=data, model={**LABELLED_SCORE, "classes": 2}), runs_dir=tmp_path)
