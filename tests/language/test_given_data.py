"""Arrays, tensors and tables as the data of a spec."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from ebmkit.errors.base import Mistakes
from ebmkit.language.load import load_spec

X = np.random.default_rng(0).normal(size=(60, 2))


def spec(**sections):
    return {
        "ebmkit": 1,
        "model": {"use": "mlp", "hidden": [4]},
        "objective": "nce",
        "train": {"steps": 2},
        "sampler": "hmc",
        **sections,
    }


class Table:
    """What a DataFrame of pandas and of polars have in common."""

    def __init__(self, x, columns):
        self.x, self.columns = np.asarray(x), columns

    def to_numpy(self):
        return self.x

    def __getitem__(self, name):
        return Column(self.x[:, self.columns.index(name)])


class Column:
    def __init__(self, values):
        self.values = values

    def to_numpy(self):
        return self.values


def loaded(plan, split="train"):
    return plan.spec.data.load(split, torch.Generator())


@pytest.mark.parametrize(
    "data",
    [X, torch.tensor(X), X.tolist(), Table(X, ["a", "b"]), torch.tensor(X, requires_grad=True), X.astype(">f8")],
    ids=lambda data: type(data).__name__,
)
def test_every_form_of_points_arrives_as_it_was(data):
    plan = load_spec(spec(), data=data)
    assert plan.event == (2,)
    both = torch.cat([loaded(plan, split).x for split in ("train", "test")]).double()
    assert sorted(both.tolist()) == sorted(X.tolist())


def test_the_names_of_columns_go_to_the_coordinates():
    assert load_spec(spec(), data=Table(X, ["height", "größe"])).spec.data.coordinate_names() == ("height", "größe")
    assert load_spec(spec(), data=X).spec.data.coordinate_names() is None


def test_columns_of_several_types_are_numbers():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"age": range(60), "smokes": [True, False] * 30, "height": X[:, 0]})
    data = load_spec(spec(), data=table).spec.data
    assert data.coordinate_names() == ("age", "smokes", "height")
    rows = torch.cat([data.load(split, torch.Generator()).x for split in ("train", "test")])
    assert sorted(rows[:, 0].tolist()) == list(range(60))
    assert rows[:, 1].sum() == 30


def test_half_precision_of_torch_arrives():
    assert load_spec(spec(), data=torch.ones(9, 3, dtype=torch.bfloat16)).event == (3,)


def test_labels_are_integers_or_words():
    words = np.where(X[:, 0] > 0, "warm", "cold")
    data = load_spec(spec(), data=(X, words)).spec.data
    assert data.class_names() == ("cold", "warm")
    split = data.load("train", torch.Generator())
    assert torch.equal(split.y, (split.x[:, 0] > 0).long())
    assert load_spec(spec(), data=(X, Column((X[:, 0] > 0).astype(np.int32)))).spec.data.class_count() == 2


def test_parameters_of_the_data_of_a_spec_stay_but_another_component_does_not(tmp_path):
    data = load_spec(spec(data={"test_fraction": 0.5}), data=X).spec.data
    assert (data.component_name, data.test_fraction) == ("npz", 0.5)
    assert load_spec(spec(data={"use": "two_moons", "noise": 0.2}), data=X).spec.data.component_name == "npz"
    (tmp_path / "mine.yaml").write_text("ebmkit: 1\nextends: quickstart\nmodel: {use: mlp, hidden: [4]}\n")
    assert load_spec(tmp_path / "mine.yaml", data=X[:, :1], unsets="expect").event == (1,)


def test_the_hash_of_a_plan_depends_on_the_points():
    one, other = load_spec(spec(), data=X), load_spec(spec(), data=X + 1)
    assert one.hash != other.hash
    assert one.hash == load_spec(spec(), data=X.copy()).hash


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("points", "an array of <U6 has no points"),
        (np.array([1j, 2j]), "an array of complex128 has no points"),
        (np.array([{}, {}]), "an array of object has no points"),
        (Table([["1", "a"], ["2", "b"]], ["one", "two"]), "column 'one' is not numeric"),
        ((X, X), r"labels of shape \(60, 2\) for 60 points"),
        ((X, X[:, 0]), "labels are integers or words, not float64"),
        (X[:1], "too few points"),
        ([[1.0], [2.0, 3.0]], "list is not an array"),
        (torch.zeros(3, 3, device="meta"), "is not an array"),
    ],
)
def test_what_has_no_points_is_refused_by_a_sentence(data, words):
    with pytest.raises(Mistakes, match=words) as caught:
        load_spec(spec(), data=data)
    assert str(caught.value.mistakes[0].place).startswith("data")


def test_the_file_of_the_points_lasts_as_long_as_its_data():
    plan = load_spec(spec(), data=X)
    (file,), data = plan.enclosed.files.values(), plan.spec.data
    del plan
    assert len(data.load("test", torch.Generator()).x) > 0
    del data
    assert not file.parent.exists()


def test_points_of_numpy_need_no_torch():
    program = (
        "import sys, numpy, ebmkit\n"
        "spec = {'ebmkit': 1, 'model': 'mlp', 'objective': 'nce', 'train': {'steps': 2}, 'sampler': 'hmc'}\n"
        "plan = ebmkit.load_spec(spec, data=numpy.eye(9, 2) + numpy.eye(2)[[0, 1] * 4 + [1]])\n"
        "print(plan.event, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(2,) False"
