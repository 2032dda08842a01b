"""`recall`, `restoration` and `mean_energy`, against counts by hand."""

import pytest
import torch

from ebmkit.components.inits.patterns import PatternStart
from ebmkit.components.metrics.mean_energy import MeanEnergy
from ebmkit.components.metrics.recall import Recall
from ebmkit.components.metrics.restoration import Restoration
from ebmkit.components.models.grid_mrf import GridMRF
from ebmkit.components.models.hopfield import Hopfield
from ebmkit.components.models.ising import Ising
from ebmkit.components.samplers.icm import ICM
from ebmkit.contracts.modules.live import prepare_modules
from ebmkit.contracts.question import Question
from ebmkit.errors import Mistakes
from ebmkit.language.load import load_spec
from ebmkit.testing.setting import small_setting
from tests.components.oracles import generator
from tests.views import FakeView, viewed_spec


def view_of(model, samples=None, sampler=None):
    event = model.event()
    torch.manual_seed(0)
    module = model.build(event)
    spec = viewed_spec(model=model, chain_sampler=sampler)
    return FakeView(samples, event=event, module=module, spec=spec, dtype=torch.float64, energy=module)


@pytest.mark.parametrize("values", ["spin", "binary"])
def test_what_is_far_below_the_capacity_is_recalled(values):
    model = Hopfield(patterns=4, shape=(10, 10), values=values)
    found = Recall(flip=0.2, trials=5).measure(view_of(model, sampler=ICM()))
    assert found == {"recall": 1.0, "recall_overlap": 1.0, "recall_start": pytest.approx(0.6)}


@pytest.mark.parametrize("values", ["spin", "binary"])
def test_starts_that_stay_have_the_overlap_of_their_corruption(values):
    """Without couplings no unit has a preference, so that a chain ends where it starts."""
    view = view_of(Hopfield(patterns=4, shape=(50,), values=values), sampler=ICM())
    view.module.weights.zero_()
    view.module.biases.zero_()
    found = Recall(flip=0.1, trials=3).measure(view)
    assert found == {"recall": 0.0, "recall_overlap": pytest.approx(0.8), "recall_start": pytest.approx(0.8)}
    assert Recall(flip=0.1, errors=0.1).measure(view)["recall"] == 1
    assert Recall(flip=0.1, errors=0.09).measure(view)["recall"] == 0
    masked = Recall(flip=0.0, mask=1.0, trials=200).measure(view)["recall_overlap"]
    assert abs(masked) < 5.5 / (200 * 4 * 50) ** 0.5


def test_starts_are_the_patterns_in_turn():
    module = Hopfield(patterns=3, shape=(2, 10), values="binary").build((2, 10))
    starts = PatternStart(flip=0.1).build((2, 10))
    prepare_modules(starts, small_setting(module, (2, 10), "binary"))
    x = starts.draw(torch.zeros(7, 2, 10), generator(0))
    wrong = (x != module.patterns[[0, 1, 2, 0, 1, 2, 0]]).flatten(1).sum(1)
    assert wrong.tolist() == [2] * 7
    assert set(x.unique().tolist()) == {0.0, 1.0}


def test_restored_images_are_compared_with_the_true_and_the_most_probable_one():
    model = GridMRF(image=("111", "111", "111"), observed=("111", "101", "110"), noise=0.2, coupling=0.5)
    samples = torch.ones(4, 3, 3)
    samples[0, 0, 0] = 0
    view = view_of(model, samples)
    found = Restoration(samples=4).measure(view)
    gap = float(view.module(samples).mean() - view.module(torch.ones(1, 3, 3)))
    assert found == {
        "restoration_error": pytest.approx(1 / 36),
        "observed_error": pytest.approx(2 / 9),
        "map_error": 0.0,
        "map_gap": pytest.approx(gap),
    }
    assert gap > 0


def test_the_mean_energy_is_that_of_the_samples():
    samples = torch.ones(6, 4, 4)
    samples[:3] *= -1
    found = MeanEnergy(samples=6).measure(view_of(Ising(shape=(4, 4), coupling=0.3, periodic=True), samples))
    assert found == {"mean_energy": pytest.approx(-0.3 * 32), "mean_energy_per_coordinate": pytest.approx(-0.6)}


def test_what_they_need_is_said():
    question = Question((4, 4), Ising())
    assert "does not offer them" in PatternStart().refusal(question)
    assert "needs a 'sampler:'" in Recall().refusal(question)
    for kind in (PatternStart, Recall):
        with pytest.raises(ValueError, match=r"'flip' and 'mask' are 1\.2 of the units together"):
            kind(flip=0.6, mask=0.6)
    with pytest.raises(Mistakes, match="needs 'patterns'"):
        load_spec({"ebmkit": 1, "model": "ising", "sampler": "icm", "evaluate": ["recall"]})
    with pytest.raises(Mistakes, match="needs 'patterns, true_image'"):
        load_spec({"ebmkit": 1, "model": "ising", "sampler": "icm", "evaluate": ["restoration"]})
