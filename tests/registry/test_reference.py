"""Every component documents itself."""

import textwrap

import pytest

from ebmkit.language.load import load_spec
from ebmkit.language.sections import Expectation, Spec, Train
from ebmkit.registry.loading import Plugins
from ebmkit.registry.reference import page
from ebmkit.registry.registry import Registry

ENTRIES = Registry(Plugins()).entries()

#: What a spec needs beside a component of each kind.
AROUND = "ebmkit: 1\ndata: two_moons\nmodel: {use: gaussian, mean: [0, 0]}\nsampler: exact\n"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.kind}-{entry.name}")
def test_a_page_has_all_its_parts(entry):
    shown = page(entry.cls)
    assert shown.summary.endswith(".")
    assert shown.reference
    assert shown.example
    assert entry.cls.component_name in shown.example
    assert [parameter.name for parameter in shown.parameters if not parameter.meaning] == []


@pytest.mark.parametrize("section", [Spec, Train, Expectation])
def test_sections_document_every_key(section):
    assert all(parameter.meaning for parameter in page(section).parameters)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.kind}-{entry.name}")
def test_the_example_is_right(entry, tmp_path):
    from ebmkit.errors.source import Source
    from ebmkit.language.check import check
    from ebmkit.language.layers import compose, merge
    from ebmkit.language.text import parse

    example = page(entry.cls).example
    homes = {
        "optimizer": "train: {{steps: 1, {}}}",
        "noise": "objective: {{use: nce, {}}}\ntrain: {{steps: 1}}",
        "bregman": "objective: {{use: bregman, {}}}\ntrain: {{steps: 1}}",
        "schedule": "model: {{use: mlp_score, {}}}",
    }
    if entry.kind in homes and "\n" not in example and example.startswith((f"{entry.kind}:", "generator:")):
        example = homes[entry.kind].format(example)
    registry = Registry(Plugins())
    tree = merge(compose(Source("around", AROUND)), parse(Source("example", textwrap.dedent(example))))
    checked = check(tree, registry)
    assert any(isinstance(found, entry.cls) for found in components(checked.spec))


def components(spec):
    from ebmkit.contracts.walk import walk

    return [component for _, component in walk(spec)]


def test_packaged_specs_are_right():
    from ebmkit.language import packaged

    for name in packaged.names():
        load_spec(name)


def test_the_default_of_a_component_is_written_as_a_spec_would():
    from ebmkit.components.optimizers.adam import Adam
    from ebmkit.registry.reference import plain_default

    assert plain_default(Adam()) == "adam"
    assert plain_default((Adam(lr=0.5),)) == [{"use": "adam", "lr": 0.5}]


def test_a_meaning_goes_on_over_several_lines():
    from ebmkit.language.sections import Spec
    from ebmkit.registry.reference import page

    (threads,) = [parameter for parameter in page(Spec).parameters if parameter.name == "threads"]
    assert threads.meaning.endswith("a different number changes the results in their last bits.")


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.kind == "metric"], ids=lambda entry: entry.name)
def test_every_result_of_a_metric_is_explained(entry):
    """In a few words that fit next to the number, and none is about a result that does not exist."""
    from ebmkit.registry.reference import result_meanings
    from ebmkit.testing.example import instance

    made = instance(entry.cls)
    found = result_meanings(made)
    assert list(found) == list(made.results())
    assert max(map(len, found.values())) <= 100


def test_one_line_explains_names_that_differ_in_a_number():
    from ebmkit.components.metrics.mode_weights import ModeWeights
    from ebmkit.components.metrics.moments import Moments
    from ebmkit.components.metrics.probability import Probability
    from ebmkit.registry.reference import result_meanings

    assert "nearest to mode k" in result_meanings(ModeWeights(modes=((0.0,), (1.0,))))["mode_weight_1"]
    assert "mean" in result_meanings(Moments(coordinates=(0, 3)))["mean(x3)"]
    assert "enumeration" in result_meanings(Probability(of=((0, 1),)))["p(x0=1)_exact"]
