"""A user's table: names of columns, labels that are words or integers, and files with held-out rows."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from ebmkit.components.data.csv import Csv
from ebmkit.components.data.npz import Npz
from ebmkit.components.data.tensor_file import TensorFile
from tests.components.oracles import generator

FLOWERS = "length,width,species\n" + "".join(
    f"{row},{row / 2},{('setosa', 'virginica', 'big, blue')[row % 3]}\n".replace("big, blue", '"big, blue"')
    for row in range(30)
)


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text(FLOWERS)


def test_words_are_numbered_in_sorted_order():
    data = Csv(labels="species")
    assert data.traits().labelled
    assert data.event() == (2,)
    assert data.coordinate_names() == ("length", "width")
    assert data.class_names() == ("big, blue", "setosa", "virginica")
    assert data.class_count() == 3
    for split in ("train", "test"):
        x, y = data.load(split, generator(0))
        assert y.tolist() == [(1, 2, 0)[int(row) % 3] for row in x[:, 0]]
    assert Csv(labels=2, columns=("width",)).coordinate_names() == ("width",)
    assert not Csv(columns=(0, 1)).traits().labelled


@pytest.mark.parametrize("text", ["0,1\n1,0\n2,3\n3,1\n", "a,k\n0,1.0\n1,0.0\n2,3.0\n3,1.0\n"])
def test_integers_stay_as_they_are(text):
    Path("data.csv").write_text(text)
    data = Csv(labels=1)
    assert data.class_names() is None
    assert data.class_count() == 4
    parts = [data.load(split, generator(0)) for split in ("train", "test")]
    found = {int(x): int(y) for part in parts for x, y in zip(part.x, part.y, strict=True)}
    assert found == {0: 1, 1: 0, 2: 3, 3: 1}


def test_a_column_without_a_name_has_its_position():
    Path("data.csv").write_text(",a,\n0,1,2\n1,2,3\n")  # as a data frame with its index is written
    assert Csv().coordinate_names() == ("x0", "a", "x2")
    Path("data.csv").write_text("0,1\n1,2\n")
    assert Csv().coordinate_names() is None


@pytest.mark.parametrize(
    ("text", "parameters", "words"),
    [
        ("a,k\n1,x\n2,\n", {"labels": "k"}, "no label in line 3"),
        ("a,k\n1,0\n2,-1\n", {"labels": "k"}, "label '-1' in line 3: labels are integers from 0 on, or words"),
        ("a,k\n1,0\n2,1.5\n", {"labels": "k"}, "label '1.5' in line 3"),
        ("a,k\n1,0\n2,nan\n", {"labels": "k"}, "label 'nan' in line 3"),
        ("a,k\n1,x\n2,y\n", {"labels": "kind"}, "no columns 'kind'; its columns are a, k"),
        ("a,k\n1,x\n2,y\n", {"labels": "k", "columns": ("a", "k")}, "'columns' lists it too"),
        ("k\nx\ny\n", {"labels": "k"}, "no column in addition to the labels"),
        (
            "a,k\n1,x\n2,y\n",
            {},
            "'x' in line 2, column 1: not a finite number; choose 'columns' without it, or 'labels'",
        ),
        ("a,k\n" + "".join(f"1,row{n}\n" for n in range(10_001)), {"labels": "k"}, "more than 10,000 different labels"),
    ],
)
def test_labels_that_are_not_usable(text, parameters, words):
    Path("data.csv").write_text(text)
    with pytest.raises(ValueError, match=words):
        Csv(**parameters).load("train", generator(0))


def test_held_out_rows_of_another_file():
    Path("test.csv").write_text("species,width,length\nvirginica,0.5,7\nsetosa,1.5,8\n")  # in another order
    data = Csv(labels="species", test_path="test.csv")
    assert data.files() == (Path("data.csv"), Path("test.csv"))
    assert (data.point_count("train"), data.point_count("test")) == (30, 2)
    train, test = (data.load(split, generator(0)) for split in ("train", "test"))
    assert len(train.x) == 30
    assert test.x.tolist() == [[7.0, 0.5], [8.0, 1.5]]
    assert test.y.tolist() == [2, 1]
    Path("test.csv").write_text("species,width,length\nlilac,0.5,7\n")
    with pytest.raises(ValueError, match=r"'test.csv' has the label 'lilac' in line 2, but those of training rows are"):
        data.load("test", generator(0))
    with pytest.raises(ValueError, match="lilac"):  # before anything is loaded
        data.class_count()
    Path("test.csv").write_text("1,2,3\n")
    Path("data.csv").write_text("1,2\n3,4\n")
    with pytest.raises(ValueError, match=r"'data.csv' has 2 columns of numbers, but 'test.csv' 3"):
        Csv(test_path="test.csv").event()


def test_held_out_arrays_of_another_file():
    train, test = torch.randn(7, 3, generator=generator(0)), torch.randn(2, 3, generator=generator(1))
    np.savez("train.npz", x=train.numpy(), y=np.arange(7))
    np.savez("test.npz", x=test.numpy(), y=np.arange(2))
    np.save("train.npy", train.numpy())
    save_file({"x": test}, "test.safetensors")
    for data in (
        Npz(path="train.npz", test_path="test.npz", y="y"),
        TensorFile(path="train.npy", test_path="test.safetensors"),
    ):
        assert len(data.files()) == 2
        for split, wanted in (("train", train), ("test", test)):
            points = data.load(split, generator(0))
            assert torch.equal(points.x, wanted)
            assert points.y is None or points.y.tolist() == list(range(len(wanted)))
            assert data.point_count(split) == len(wanted)
    np.savez("test.npz", x=test[:, :2].numpy(), y=np.arange(2))
    with pytest.raises(ValueError, match=r"points of shape \(3,\), but 'test.npz' of shape \(2,\)"):
        Npz(path="train.npz", test_path="test.npz").event()


def test_training_rows_cannot_be_held_out():
    for cls, name in ((Csv, "data.csv"), (Npz, "data.npz"), (TensorFile, "data.npy")):
        with pytest.raises(ValueError, match="'test_path' is the file of the training rows"):
            cls(path=name, test_path=name)
