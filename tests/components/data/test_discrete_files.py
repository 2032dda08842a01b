"""Files whose numbers are units of two values: read unchanged, and anything else refused at its row and column."""

from __future__ import annotations

import numpy as np
import pytest

import ebmkit
from ebmkit.components.data.csv import Csv
from ebmkit.components.data.npz import Npz
from ebmkit.components.data.tensor_file import TensorFile
from ebmkit.errors.base import Mistakes
from tests.components.oracles import generator

UNITS = {"binary": (0, 1), "spin": (-1, 1)}
KINDS = {"csv": Csv, "npz": Npz, "tensor_file": TensorFile}


def write(kind, x):
    """Rows in the current folder, under the name that a data set has by default."""
    if kind == "csv":
        np.savetxt("data.csv", x, delimiter=",", fmt="%g", header="a,b,c", comments="")
    elif kind == "npz":
        np.savez("data.npz", x=x)
    else:
        np.save("data.npy", x)


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("values", UNITS)
@pytest.mark.parametrize("kind", KINDS)
def test_units_are_read_unchanged(kind, values):
    x = np.random.default_rng(0).choice(UNITS[values], (40, 3)).astype("i1")
    write(kind, x)
    data = KINDS[kind](values=values)
    assert data.traits().space == values
    rows = np.concatenate([data.load(split, generator(0)).x.numpy() for split in ("train", "test")])
    assert rows.dtype.kind == "f"
    assert sorted(map(tuple, rows)) == sorted(map(tuple, x))


@pytest.mark.parametrize(("values", "wrong"), [("binary", 2), ("binary", -1), ("binary", 0.5), ("spin", 0)])
@pytest.mark.parametrize("kind", KINDS)
def test_other_numbers_are_refused_at_their_row(kind, values, wrong):
    x = np.random.default_rng(0).choice(UNITS[values], (40, 3)).astype("f4")
    x[17, 1] = wrong
    write(kind, x)
    with pytest.raises(ValueError, match=rf"row 17, column 1 .*{wrong:.1f} is neither .* units are '{values}'"):
        KINDS[kind](values=values).load("train", generator(0))


def test_units_have_no_grey_levels():
    with pytest.raises(ValueError, match="'dequantize' is for a density of grey levels"):
        Npz(values="binary", dequantize=2)


def test_a_boltzmann_machine_learns_a_table_of_units(tmp_path):
    rng = np.random.default_rng(0)
    cause = rng.random((400, 1)) < 0.5
    write("csv", (rng.random((400, 3)) < np.where(cause, 0.9, 0.1)).astype("i1"))
    data = {"use": "csv", "path": str(tmp_path / "data.csv"), "values": "binary"}
    spec = {"ebmkit": 1, "name": "units", "data": data, "samples": 200, "samples_every": None}
    spec |= {"model": {"use": "rbm", "hidden": 2}, "objective": "exact_mle", "train": {"steps": 300}}
    spec |= {"evaluate": ["log_likelihood"]}
    run = ebmkit.run(spec, runs_dir=tmp_path / "runs", report=False)
    # Independent columns have -3 log 2 = -2.08 nats, the law that drew them -1.57 (by a sum over both causes).
    assert -1.8 < run.results["log_likelihood"] < -1.4
    assert (run.folder / "samples").is_dir()
    with pytest.raises(Mistakes, match="binary"):
        ebmkit.load_spec({**spec, "model": {"use": "rbm", "hidden": 2, "values": "spin"}})
