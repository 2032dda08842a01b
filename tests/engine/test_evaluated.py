"""A model that offers `score` is treated alike whether or not its module is derived from `Conditional`."""

import pytest
import torch

from ebmkit import load_spec
from ebmkit.engine.assemble import assemble
from ebmkit.engine.build import build
from ebmkit.engine.sampling import view_of
from ebmkit.engine.telling.run_log import describe

PLUGIN = """\
from typing import ClassVar

from ebmkit.api import Model, Schedule, component, torch


@component("blurred")
class Blurred(Model):
    \"\"\"The score of N(0, 1) with noise, from the members of `Scores` alone.\"\"\"

    offers: ClassVar[frozenset[str]] = frozenset({"score"})

    schedule: Schedule

    def event(self):
        return (2,)

    def traits(self):
        return super().traits()._replace(schedule=self.schedule)

    def build(self, event):
        class Module(torch.nn.Module):
            def __init__(self, schedule):
                super().__init__()
                self.schedule = schedule

            def score(self, x, level, labels=None):
                mean = 0.0 if labels is None else labels.to(x).unsqueeze(1)
                return (mean - x) / (1 + level**2)

            def prior_mean(self):
                return 0.0

        return Module(self.schedule)
"""

SCHEDULE = {"use": "geometric", "sigma_max": 10.0, "sigma_min": 0.1, "count": 10}


@pytest.fixture
def plan(tmp_path):
    (tmp_path / "plug.py").write_text(PLUGIN)
    spec = {
        "ebmkit": 1,
        "device": "cpu",
        "model": {"use": "plug.blurred", "schedule": SCHEDULE},
        "sampler": {"use": "annealed_langevin", "schedule": SCHEDULE},
        "samples": 10,
    }
    return load_spec(spec, plugins=[str(tmp_path / "plug.py")])


def test_its_schedule_is_known_and_its_score_is_evaluated(plan):
    view = view_of(plan, None)
    assert view.schedule == plan.spec.model.schedule
    x = torch.tensor([[1.0, 2.0]])
    torch.testing.assert_close(view.score(x, 2.0), -x / 5)
    torch.testing.assert_close(view.score(x), -x / 1.01)  # of the least noise
    assert view.samples(10).shape == (10, 2)


def test_chains_see_it_with_labels(plan):
    labelled = assemble(plan, build(plan)).evaluated.with_labels(torch.tensor([3]))
    torch.testing.assert_close(labelled.score(torch.zeros(1, 2), 1.0), torch.full((1, 2), 1.5))
    assert labelled.schedule == plan.spec.model.schedule


def test_the_log_names_its_noise(plan):
    assert "noise      geometric: 10 to 0.1 in 10 levels" in describe(plan, build(plan))
