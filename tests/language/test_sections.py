"""Where the sampler that draws the samples of a run stands in its spec, whatever the objective calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ebmkit import load_spec
from ebmkit.errors import Mistakes

if TYPE_CHECKING:
    from ebmkit.language.plan import Plan

PLUGIN = """\
from ebmkit.api import Loss, Model, Objective, Sampler, component, torch


@component("wanderer")
class Wanderer(Objective):
    \"\"\"Calls its sampler by another name.\"\"\"

    walks: Sampler

    def traits(self):
        return super().traits()._replace(sampler=self.walks)

    def loss(self, model, batch, context):
        return Loss(model(batch).mean(), {})


@component("maker")
class Maker(Wanderer):
    \"\"\"Its sampler is none of its parameters.\"\"\"

    def traits(self):
        return super().traits()._replace(sampler=type(self.walks)(steps=3))


@component("named")
class Named(Model):
    \"\"\"Takes labels, always.\"\"\"

    def traits(self):
        return super().traits()._replace(labelled=True)

    def build(self, event):
        raise AssertionError("it is refused before it is built")
"""

SPEC: dict[str, Any] = {
    "ebmkit": 1,
    "device": "cpu",
    "data": {"use": "two_moons", "size": 50, "test_size": 50},
    "model": {"use": "mlp", "hidden": [4]},
    "objective": {"use": "plug.wanderer", "walks": {"use": "langevin", "steps": 5, "step_size": 1e30}},
    "train": {"steps": 1, "batch_size": 8},
    "samples": 20,
}


@pytest.fixture
def plan_of(tmp_path):
    """The plan of SPEC with changes."""
    (tmp_path / "plug.py").write_text(PLUGIN)

    def load(**changes: Any) -> Plan:
        return load_spec({**SPEC, **changes}, plugins=[str(tmp_path / "plug.py")])

    return load


def line(place: Any) -> str:
    return str(place.source.line(place.line))


LANGEVIN = {"use": "langevin", "steps": 2}


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({}, ("objective", "walks")),
        ({"sampler": LANGEVIN}, ("sampler",)),
        ({"objective": "mle"}, ("objective", "sampler")),
        ({"objective": {"use": "plug.maker", "walks": LANGEVIN}}, ("objective",)),
        ({"objective": {"use": "plug.wanderer", "walks": "$s"}, "parts": {"s": LANGEVIN}}, ("objective", "walks")),
    ],
    ids=["another name", "of the spec", "the usual name", "no parameter", "shared"],
)
def test_the_path_of_the_sampler(changes, path, plan_of):
    plan = plan_of(**changes)
    assert plan.follows.get("sampler", ("sampler",)) == path
    assert plan.place(("sampler",)) == plan.place(path)


def test_samples_that_are_not_finite_are_reported_at_the_sampler(plan_of, tmp_path):
    from ebmkit.engine import session

    (failure,) = session.run(plan_of(), runs_dir=tmp_path).failed
    expected = "sampler 'langevin': 20 of 20 samples are not finite, after 1 training steps"
    assert failure.error.message.startswith(expected)
    assert "langevin" in line(failure.error.place)


def test_a_metric_that_reads_what_the_sampler_does_not_report_points_at_the_sampler(plan_of):
    with pytest.raises(Mistakes) as refused:
        plan_of(evaluate=["acceptance"])
    (mistake,) = refused.value.mistakes
    assert mistake.other_label == "reports energy, gradient_norm"
    assert "langevin" in line(mistake.other)


@pytest.mark.parametrize(
    ("model", "written", "help"),
    [
        ("plug.named", "plug.named", "use data with labels"),
        (
            {"use": "mlp_score", "classes": 3, "schedule": "geometric"},
            "classes",
            "leave out 'classes' to learn without labels",
        ),
    ],
    ids=["always", "by a parameter"],
)
def test_a_model_that_takes_labels_is_refused_without_them(model, written, help, plan_of):
    with pytest.raises(Mistakes) as refused:
        plan_of(model=model, data={"use": "from_model", "model": "gaussian"})
    (mistake,) = [found for found in refused.value.mistakes if "labels" in found.message]
    assert mistake.message.endswith("takes labels, but data 'from_model' has none")
    assert written in line(mistake.place)
    assert mistake.help == help
