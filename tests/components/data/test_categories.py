"""Data of categories: windows of a text, tables of words, and integers of arrays."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open

from ebmkit.components.data.categorical_csv import CategoricalCsv
from ebmkit.components.data.from_model import FromModel
from ebmkit.components.data.npz import Npz
from ebmkit.components.data.text import Text
from ebmkit.components.models.potts import Potts
from ebmkit.errors import Mistakes
from ebmkit.language.load import load_spec
from ebmkit.storage.export import write_samples
from ebmkit.storage.headings import Headings
from ebmkit.testing import check_component
from tests.components.oracles import generator

SENTENCE = ("the cat sat on the mat.\n" * 20)[:-1]  # the file has the last end of a line, too
TABLE = "colour,size,count\n" + "".join(
    f"{('red', 'green', 'blue')[row % 3]},{('S', 'L')[row % 2]},{(10, 9, 2)[row % 3]}\n" for row in range(30)
)


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.txt").write_text(SENTENCE + "\n")
    Path("data.csv").write_text(TABLE)


def read(names, x):
    return ["".join(names[unit][int(k)] for unit, k in enumerate(row)) for row in x.tolist()]


def test_windows_of_a_text_are_those_of_its_parts():
    data = Text(length=5, step=3, test_fraction=0.25)
    assert data.event() == (5,)
    assert data.category_names() == (tuple("\n .acehmnost"),) * 5
    assert data.category_count() == 12
    train, test = SENTENCE[:359], SENTENCE[359:]
    for split, text in (("train", train), ("test", test)):
        x = data.load(split, generator(0)).x
        assert x.dtype == torch.get_default_dtype()
        expected = [text[start : start + 5] for start in range(0, len(text) - 4, 3)]
        assert read(data.category_names(), x) == expected
        assert data.point_count(split) == len(expected)
    assert data.traits().space == "categorical"


def test_an_alphabet_gives_the_numbers():
    data = Text(length=1, alphabet="ts.mnohecaTZ \n")
    assert data.category_count() == len(data.alphabet)
    x = data.load("train", generator(0)).x
    assert data.alphabet[int(x[0, 0])] == "t"
    assert float(x[0, 0]) == 0


def test_a_text_of_another_encoding_of_lines_and_letters():
    Path("data.txt").write_bytes(("\ufeff" + "ää\r\nöß𝄞\r\n" * 9).encode())
    data = Text(length=6)
    assert data.category_names()[0] == tuple(sorted("ä\nöß𝄞"))
    assert read(data.category_names(), data.load("train", generator(0)).x)[0] == "ää\nöß𝄞"


def test_a_text_is_read_again_if_it_changed():
    data = Text(length=3)
    assert data.category_count() == 12
    Path("data.txt").write_text("xyz" * 30)
    assert data.category_count() == 3


@pytest.mark.parametrize(
    ("text", "parameters", "words"),
    [
        (SENTENCE, {"length": 97}, "'data.txt' has 96 held-out characters, but a window has 97"),
        ("ab", {"length": 2}, "'data.txt' has 0 held-out characters"),
        ("aaaaaaaaaaaa", {"length": 2}, "1 different characters, but at least 2"),
        ("ab" * 20 + "z", {"length": 2}, "'data.txt' contains 'z', which the training part does not"),
        ("ab" * 20, {"length": 2, "alphabet": "bc"}, "'data.txt' contains 'a', which 'alphabet' does not"),
        (b"\xff\xfe ab", {"length": 2}, "'data.txt' is not text in UTF-8 at byte 0"),
        ("ab" * 20, {"length": 2, "test_path": "more.txt"}, "there is no file 'more.txt'"),
    ],
)
def test_a_text_that_cannot_be_used(text, parameters, words):
    Path("data.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=words):
        Text(**parameters).event()


def test_a_letter_counts_once_in_an_alphabet():
    with pytest.raises(ValueError, match="'alphabet' has 'a' twice"):
        Text(alphabet="abca")
    with pytest.raises(ValueError, match="'test_path' is the file of the training rows"):
        Text(test_path="data.txt")


def test_held_out_text_of_another_file():
    Path("more.txt").write_text("mat\n\n")
    data = Text(length=2, test_path="more.txt")
    assert read(data.category_names(), data.load("test", generator(0)).x) == ["ma", "at"]
    assert len(data.load("train", generator(0)).x) == len(SENTENCE) - 1
    Path("more.txt").write_text("zoo")
    with pytest.raises(ValueError, match=r"'more.txt' contains 'z', which the training part does not"):
        data.event()


def test_words_of_a_table_are_numbered_by_column():
    data = CategoricalCsv()
    assert data.event() == (3,)
    assert data.coordinate_names() == ("colour", "size", "count")
    assert data.category_names() == (("blue", "green", "red"), ("L", "S"), ("2", "9", "10"))  # integers by size
    assert data.category_count() == 3
    parts = [data.load(split, generator(0)).x for split in ("train", "test")]
    assert [len(x) for x in parts] == [data.point_count("train"), data.point_count("test")]
    assert sum(map(len, parts)) == 30
    found = {tuple(row) for x in parts for row in x.tolist()}
    assert found == {(2, 1, 2), (1, 0, 1), (0, 1, 0), (2, 0, 2), (1, 1, 1), (0, 0, 0)}
    assert CategoricalCsv(columns=("count", 0)).category_names() == (("2", "9", "10"), ("blue", "green", "red"))


def test_a_table_without_a_header():
    Path("data.csv").write_text("a;b\nb;b\n" * 10)
    data = CategoricalCsv(header=False, delimiter=";")
    assert data.coordinate_names() is None
    assert data.category_names() == (("a", "b"), ("b",))
    assert data.point_count("train") + data.point_count("test") == 20


@pytest.mark.parametrize(
    ("table", "parameters", "words"),
    [
        ("a,b\nx,\n", {}, "has no word in line 2, column 1"),
        ("a,b\nx,y\nz\n", {}, "has 2 columns in its first line, but 1 in line 3"),
        ("a\n", {}, "has no rows"),
        ("a\nx\nx\n", {}, "a single category in every column"),
        ("a\nx\ny\n", {"columns": ("c",)}, "has no columns 'c'; its columns are a"),
        ("a\n" + "".join(f"w{row}\n" for row in range(10_001)), {}, "more than 10,000 different words"),
        ("a\nx\ny\n", {"test_path": "test.csv"}, "'test.csv' has 'z' in line 3, but training rows have x, y"),
    ],
)
def test_a_table_that_cannot_be_used(table, parameters, words):
    Path("data.csv").write_text(table)
    Path("test.csv").write_text("a\nx\nz\n")
    with pytest.raises(ValueError, match=words):
        CategoricalCsv(**parameters).event()


def test_integers_of_an_array():
    x = np.arange(60).reshape(10, 1, 2, 3) % 4
    np.savez("data.npz", x=x.astype(np.int8))
    data = Npz(categories=4)
    assert (data.event(), data.category_count(), data.traits().space) == ((1, 2, 3), 4, "categorical")
    found = data.load("train", generator(0)).x
    assert found.dtype == torch.float32
    assert found.unique().tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match=r"row 0, column 0, 1, 0 \(counted from 0\): 3.0 is not one of the categories"):
        Npz(categories=3).load("train", generator(0))
    with pytest.raises(ValueError, match="'categories' and 'dequantize' are two meanings of integers"):
        Npz(categories=4, dequantize=4)


def test_data_of_a_model_have_its_categories():
    data = FromModel(model=Potts(shape=(2, 2), categories=5), size=50, test_size=20)
    assert (data.category_count(), data.traits().space) == (5, "categorical")
    assert set(data.load("train", generator(0)).x.unique().tolist()) <= {0, 1, 2, 3, 4}


@pytest.mark.parametrize(
    "data", [Text(length=4, test_fraction=0.23), CategoricalCsv(), FromModel(model=Potts(), size=300, test_size=99)]
)
def test_they_obey_the_laws(data):
    check_component(data)


# Names -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [True, False])
def test_names_go_along_with_samples(shared):
    categories = (("a", "b", "c"),) * 2 if shared else (("a", "b", "c"), ("x", "y"))
    x = torch.tensor([[0.0, 1.0], [2.0, 0.0], [1.0, 2.0]])
    headings = Headings(("one", "two"), categories=categories)
    for suffix in ("csv", "npz", "safetensors", "npy"):
        write_samples(Path(f"out.{suffix}"), x, headings=headings)
    last = "b,c" if shared else "b,2"  # a category that this column does not have
    second = ("b", "a") if shared else ("y", "x")
    assert Path("out.csv").read_text() == f"one,two\na,{second[0]}\nc,{second[1]}\n{last}\n"
    kept = np.load("out.npz", allow_pickle=False)
    assert kept["x"].tolist() == x.tolist()
    expected = ["a", "b", "c"] if shared else [["a", "b", "c"], ["x", "y", ""]]
    assert kept["categories"].tolist() == expected
    with safe_open("out.safetensors", framework="pt") as file:
        names = json.loads(file.metadata()["names"])
    assert names["categories"] == ([["a", "b", "c"]] if shared else [["a", "b", "c"], ["x", "y"]])


SPEC = {
    "ebmkit": 1,
    "data": {"use": "text", "path": "data.txt", "length": 4},
    "model": {"use": "categorical_boltzmann", "categories": 12},
    "objective": "pseudo_likelihood",
    "train": {"steps": 2, "batch_size": 16},
}


def test_data_and_model_have_the_same_number_of_categories():
    load_spec(SPEC)
    with pytest.raises(Mistakes, match="data 'text' has 12 categories, but model 'categorical_boltzmann' has 11"):
        load_spec({**SPEC, "model": {"use": "categorical_boltzmann", "categories": 11}})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"model": {"use": "rbm", "hidden": 3}},
            "data 'text' has categorical states, but model 'rbm' has binary states",
        ),
        ({"data": {"use": "digits", "binarize": "binary"}}, "data 'digits' has binary states, but model"),
        ({"sampler": "langevin"}, "sampler 'langevin' needs real states, but model 'categorical_boltzmann' has"),
        ({"objective": "nce"}, "objective 'nce' needs binary, real or spin states, but model"),
        ({"evaluate": ["mmd"]}, "metric 'mmd' needs binary, real or spin states, but model"),
        ({"scale": "standardize"}, "'scale: standardize' is for real states, but data 'text' has categorical ones"),
        ({"data": {"use": "text", "path": "nowhere.txt"}}, "there is no file 'nowhere.txt'"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_runs(change, says):
    with pytest.raises(Mistakes, match=says):
        load_spec(SPEC | change)
