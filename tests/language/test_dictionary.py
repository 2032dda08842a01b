"""Specs given as Python dictionaries."""

import json
import re
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
import torch

from ebmkit.errors.base import Mistakes
from ebmkit.errors.render import render
from ebmkit.language.load import load_spec
from ebmkit.language.plan import resolved_yaml


def spec(**sections):
    return {"ebmkit": 1, "model": {"use": "gaussian", "mean": [0, 1]}, "sampler": "exact", **sections}


@pytest.mark.parametrize("number", [np.int64(3), np.uint8(3), np.array(3), torch.tensor(3)])
def test_an_integer_of_another_library_is_an_integer(number):
    assert load_spec(spec(seed=number)).spec.seed == 3


@pytest.mark.parametrize("number", [np.float32(0.5), np.float64(0.5), np.array(0.5), torch.tensor(0.5)])
def test_a_float_of_another_library_is_a_float(number):
    sampler = load_spec(spec(sampler={"use": "langevin", "step_size": number})).spec.sampler
    assert sampler.step_size == 0.5
    assert type(sampler.step_size) is float


@pytest.mark.parametrize("kind", [np.array, torch.tensor, tuple])
def test_arrays_are_lists(kind):
    model = {"use": "gaussian", "mean": kind([0.0, 1.0]), "covariance": kind([[2.0, 0.5], [0.5, 1.0]])}
    plan = load_spec(spec(model=model))
    assert plan.spec.model.mean == (0.0, 1.0)
    assert plan.spec.model.covariance == ((2.0, 0.5), (0.5, 1.0))


def test_a_path_is_its_name(tmp_path):
    np.savez(tmp_path / "x.npz", x=np.zeros((9, 2)))
    data = {"use": "npz", "path": tmp_path / "x.npz"}
    assert load_spec(spec(data=data)).spec.data.path == str(tmp_path / "x.npz")


def test_other_mappings_are_dictionaries():
    assert load_spec(MappingProxyType(spec(model=MappingProxyType({"use": "gaussian", "mean": [0]})))).event == (1,)


def test_infinity_is_refused_as_a_number():
    with pytest.raises(Mistakes, match=r"step_size.*not .inf"):
        load_spec(spec(sampler={"use": "langevin", "step_size": np.inf}))


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ({"seed": 3j}, "seed: a value of type 'complex'"),
        ({"sampler": {"use": "langevin", "steps": {5}}}, "sampler.steps: a value of type 'set'"),
        ({"evaluate": [{"use": object()}]}, r"evaluate\[0\].use: a value of type 'object'"),
        ({"model": {"use": "gaussian", "mean": np.array([1j])}}, r"model.mean\[0\]: a value of type 'complex'"),
        ({"model": {"use": "gaussian", "mean": torch.zeros(2, device="meta")}}, "model.mean: a value of type 'Tensor'"),
        ({"model": {"use": "gaussian", "mean": torch.eye(2).to_sparse()}}, "model.mean: a value of type 'Tensor'"),
        ({"model": torch.nn.Linear}, r"model: a value of type 'type' .*pass an object: Linear\(\.\.\.\)"),
        ({"data": np.zeros((5, 2))}, "an array of type 'ndarray' is given; .*data=points"),
        ({"seed": np.longdouble(3)}, "seed: a value of type 'longdouble'"),
        ({"model": {("a", "b"): 1}}, r"model: key \('a', 'b'\) is not a string"),
    ],
)
def test_what_no_spec_can_say_is_refused_by_its_path(section, words):
    with pytest.raises(Mistakes, match=words):
        load_spec(spec(**section))


def test_a_dictionary_that_contains_itself_is_refused():
    endless = spec()
    endless["model"] = endless
    with pytest.raises(Mistakes, match="64 levels"):
        load_spec(endless)


def test_a_mistake_in_a_dictionary_has_a_place():
    with pytest.raises(Mistakes) as caught:
        load_spec(spec(sampler={"use": "langevin", "step_sise": np.float32(1)}))
    (mistake,) = caught.value.mistakes
    assert str(mistake.place) == "sampler.step_sise"
    assert str(caught.value) == (
        "sampler.step_sise E103 unknown parameter 'step_sise' of sampler 'langevin' (did you mean 'step_size'?)"
    )


@pytest.mark.parametrize(
    ("section", "path"),
    [
        ({"evaluate": ["rhat", {"use": "ess", "samples": True}]}, "evaluate[1].samples"),
        ({"evaluate": ["rhat", "es"]}, "evaluate[1]"),
        ({"model": {"use": "gaussian", "mean": [0, "x"]}}, "model.mean[1]"),
        ({"sampler": {"use": "hmcc"}}, "sampler.use"),
        ({"parts": {"a": "hmc"}}, "parts.a"),
        ({"files": {"a b.csv": 3}}, "files['a b.csv']"),
        ({"model": None}, "model"),
        ({"ebmkit": 1.0}, "ebmkit"),
        ({"sampler": "gibbs"}, "sampler"),  # does not fit the model
    ],
)
def test_a_mistake_in_a_dictionary_is_at_its_path(section, path):
    with pytest.raises(Mistakes) as caught:
        load_spec(spec(**section))
    assert [str(mistake.place) for mistake in caught.value.mistakes] == [path]


def test_what_a_dictionary_lacks_is_missing_in_the_dictionary():
    with pytest.raises(Mistakes) as caught:
        load_spec({"ebmkit": 1, "sampler": "exact"})
    assert str(caught.value.mistakes[0].place) == "the dictionary"


def test_a_mistake_in_a_base_of_a_dictionary_has_its_line(tmp_path):
    (tmp_path / "base.yaml").write_text("ebmkit: 1\nmodel: {use: gaussian, mean: [0], men: 3}\nsampler: exact\n")
    with pytest.raises(Mistakes) as caught:
        load_spec({"extends": str(tmp_path / "base.yaml")})
    assert str(caught.value.mistakes[0].place) == f"{tmp_path / 'base.yaml'}:2:35"


def test_pages_show_the_path_of_a_mistake_and_no_line():
    with pytest.raises(Mistakes) as caught:
        load_spec(spec(sampler={"use": "langevin", "step_sise": 1}))
    text = render(caught.value.mistakes, "text")
    assert " --> sampler.step_sise: did you mean 'step_size'?" in text.splitlines()
    assert "|" not in text
    assert json.loads(render(caught.value.mistakes, "json"))[0]["place"] == {"path": "sampler.step_sise"}
    assert render(caught.value.mistakes, "github").startswith("::error title=E103::")


def test_the_origin_of_a_value_of_a_dictionary_is_the_dictionary():
    assert re.search(r"^seed: 3 +# the dictionary$", resolved_yaml(load_spec(spec(seed=3))), re.MULTILINE)


def test_an_empty_dictionary_is_not_a_spec():
    with pytest.raises(Mistakes, match="ebmkit"):
        load_spec({})


@pytest.mark.parametrize("kind", [str, Path, lambda path: [path], lambda path: (str(path),)])
def test_one_plugin_file_needs_no_list(kind, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from ebmkit.api import Bregman, component\n\n\n@component('half')\nclass Half(Bregman):\n"
        '    """Half."""\n\n    def psi(self, u):\n        return u * u / 2\n'
    )
    plan = load_spec(spec(), plugins=kind(path))
    assert [loaded.plugin.namespace for loaded in plan.plugins] == ["mine"]


def test_one_change_needs_no_list():
    assert load_spec(spec(), sets="seed=7").spec.seed == 7
    assert load_spec(spec(seed=7), unsets="seed").spec.seed == 0


def test_a_truth_value_of_numpy_is_one():
    plan = load_spec(spec(sampler={"use": "exact"}, deterministic=np.bool_(False)))
    assert plan.spec.deterministic is False
