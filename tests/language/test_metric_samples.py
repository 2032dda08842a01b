"""How many samples metrics draw: at most the `samples` of the spec, unless a number is written for the metric."""

import pytest

from ebmkit import load_spec
from ebmkit.engine.assemble import assemble
from ebmkit.engine.build import build
from ebmkit.engine.evaluation import Evaluation
from ebmkit.language.plan import resolved_yaml
from ebmkit.registry.loading import Plugins

SPEC = {
    "ebmkit": 1,
    "name": "few",
    "device": "cpu",
    "data": {"use": "two_moons", "size": 2000, "test_size": 2000},
    "model": {"use": "gaussian", "mean": [0, 0]},
    "sampler": "exact",
    "samples": 100,
}
DRAWING = [
    cls for cls in (offer.load() for offer in Plugins().builtin if offer.kind == "metric") if "samples" in cls.needs
]
PLUGIN = """
from ebmkit.api import Metric, component

@component("greedy")
class Greedy(Metric):
    \"\"\"How many samples it gets.\"\"\"

    needs = frozenset({{"samples"}})
    {parameter}

    def results(self):
        return ("got",)

    def measure(self, view):
        return {{"got": len(view.samples({wanted}))}}
"""
ANNOUNCED = """samples: int = 5000

    def traits(self):
        return super().traits()._replace(samples=self.samples)
"""


def drawn(plan):
    """The results of all metrics, and the number of samples that were drawn for them."""
    view = assemble(plan, build(plan))
    results, failed = Evaluation(view).measure(plan.spec.evaluate)
    assert not failed
    return results, view._drawn.total


@pytest.mark.parametrize("cls", DRAWING, ids=lambda cls: cls.component_name)
def test_no_metric_announces_more_than_the_spec_keeps(cls):
    for n in (100, 10**6):
        assert cls().bounded(n).traits().samples == min(n, cls().traits().samples)


def test_a_default_follows_the_spec_and_the_resolved_spec_says_so():
    plan = load_spec({**SPEC, "evaluate": ["mmd", "sliced_wasserstein"]})
    assert drawn(plan)[1] == 100
    assert [metric["samples"] for metric in plan.resolved["evaluate"]] == [100, 100, 100]  # and the verdict's
    assert resolved_yaml(plan).count("# 'samples' of the spec") == 3


def test_a_number_that_is_written_is_obeyed():
    plan = load_spec({**SPEC, "evaluate": [{"use": "mmd", "samples": 300}, "sliced_wasserstein"]})
    assert drawn(plan)[1] == 300
    assert [metric["samples"] for metric in plan.resolved["evaluate"]] == [300, 100, 100]


def test_a_default_below_the_number_of_the_spec_stays():
    assert load_spec({**SPEC, "samples": 9000, "evaluate": ["mmd"]}).spec.evaluate[0].samples == 4000


def test_a_shared_metric_is_bounded_where_it_is_written():
    plan = load_spec({**SPEC, "parts": {"far": {"use": "mmd"}}, "evaluate": ["$far"]})
    assert plan.spec.evaluate[0].samples == plan.resolved["parts"]["far"]["samples"] == 100
    written = load_spec({**SPEC, "parts": {"far": {"use": "mmd", "samples": 300}}, "evaluate": ["$far"]})
    assert written.spec.evaluate[0].samples == 300


@pytest.mark.parametrize("sections", [{}, {"parts": {"far": "mmd"}, "evaluate": ["$far"]}, {"samples": 1}])
def test_the_resolved_spec_is_the_same_plan(tmp_path, sections):
    plan = load_spec({**SPEC, "evaluate": ["mmd", "moments"], **sections})
    (tmp_path / "resolved.yaml").write_text(resolved_yaml(plan))
    assert load_spec(tmp_path / "resolved.yaml").hash == plan.hash


def test_the_resolved_spec_leaves_a_number_that_follows_from_the_samples_open(tmp_path):
    evaluate = ["$far", "sliced_wasserstein", {"use": "energy_gap", "samples": 90}]
    spec = {**SPEC, "parts": {"far": "mmd"}, "evaluate": evaluate}
    (tmp_path / "resolved.yaml").write_text(resolved_yaml(load_spec(spec)))
    more = load_spec(tmp_path / "resolved.yaml", sets=["samples=7000"])
    assert [metric.samples for metric in more.spec.evaluate] == [4000, 7000, 90, 4000]
    assert more.hash == load_spec({**spec, "samples": 7000}).hash


def test_names_of_results_have_the_number_that_is_drawn():
    data = {"data": {"use": "digits"}, "model": {"use": "gaussian", "mean": [0] * 64, "shape": [1, 8, 8]}}
    plan = load_spec({**SPEC, **data, "evaluate": ["fid"]})
    assert plan.spec.evaluate[0].results()[0] == "fid@digits-cnn/100"


@pytest.mark.parametrize(
    ("parameter", "wanted", "evaluate", "got"),
    [
        ("", "5000", "mine.greedy", 100),  # no number in the spec could allow more
        (ANNOUNCED, "self.samples", "mine.greedy", 100),
        (ANNOUNCED, "self.samples", {"use": "mine.greedy", "samples": 250}, 250),
    ],
)
def test_metrics_of_plugins_are_bounded_the_same_way(tmp_path, parameter, wanted, evaluate, got):
    (tmp_path / "mine.py").write_text(PLUGIN.format(parameter=parameter, wanted=wanted))
    plan = load_spec({**SPEC, "evaluate": [evaluate]}, plugins=tmp_path / "mine.py")
    results, total = drawn(plan)
    assert (results["got"], total) == (got, got)
