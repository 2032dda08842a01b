"""Zarr stores of draws: what is written is what the specification says, and what zarr, xarray and ArviZ open."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from math import prod
from pathlib import Path

import numpy as np
import pytest
import torch

from ebmkit.errors.running import StorageFailed
from ebmkit.storage import zarr as stores
from ebmkit.storage.export import write_draws
from tests.diagnostics.chains import normal
from tests.storage.test_export import seen


def read(folder: Path) -> np.ndarray:
    """An array, by the specification: chunks in C order, the last ones longer than what is in the array."""
    about = json.loads((folder / ".zarray").read_text())
    assert (about["zarr_format"], about["order"], about["compressor"], about["filters"]) == (2, "C", None, None)
    shape, chunks = about["shape"], about["chunks"]
    whole = np.zeros([-(-side // chunk) * chunk for side, chunk in zip(shape, chunks, strict=True)], about["dtype"])
    counts = [range(total // chunk) for total, chunk in zip(whole.shape, chunks, strict=True)]
    for place in itertools.product(*counts):
        content = (folder / ".".join(map(str, place))).read_bytes()
        assert len(content) == prod(chunks) * whole.dtype.itemsize
        at = tuple(slice(k * chunk, (k + 1) * chunk) for k, chunk in zip(place, chunks, strict=True))
        whole[at] = np.frombuffer(content, about["dtype"]).reshape(chunks)
    return whole[tuple(map(slice, shape))]


@pytest.mark.parametrize(
    ("event", "dtype", "chunk"),
    [
        ((3,), torch.float32, 1000),
        ((3,), torch.float32, stores.CHUNK),
        ((1,), torch.float64, 400),
        ((1, 4, 4), torch.float64, 3000),
        ((2, 2), torch.bfloat16, 1),
    ],
    ids=str,
)
def test_what_was_written_is_read_by_the_specification(tmp_path, monkeypatch, event, dtype, chunk):
    monkeypatch.setattr(stores, "CHUNK", chunk)
    x, stats = normal(3, 41, *event).to(dtype), seen(3, 41, dtype)
    store = tmp_path / "new" / "draws.zarr"
    write_draws(store, x.transpose(0, 1).contiguous().transpose(0, 1), stats)  # as it is mapped from a run
    exact = torch.float32 if dtype == torch.bfloat16 else dtype
    found = read(store / "posterior/x")
    assert torch.from_numpy(found.copy()).equal(x.to(exact))
    assert torch.from_numpy(read(store / "sample_stats/lp").copy()).equal(-stats["energy"].to(exact))
    assert read(store / "sample_stats/diverging").dtype == bool
    axes = json.loads((store / "posterior/x/.zattrs").read_text())["_ARRAY_DIMENSIONS"]
    assert axes == ["chain", "draw", *(f"x_dim_{axis}" for axis in range(len(event)))]
    for axis, side in zip(axes, x.shape, strict=True):
        assert read(store / "posterior" / axis).tolist() == [*range(side)]
    metadata = json.loads((store / ".zmetadata").read_text())["metadata"]
    files = {str(path.relative_to(store)) for path in store.rglob(".z*")} - {".zmetadata"}
    assert metadata == {name: json.loads((store / name).read_text()) for name in files}


def test_a_store_is_replaced_as_a_whole_and_nothing_else_is(tmp_path):
    store, other = tmp_path / "draws.zarr", tmp_path / "other.zarr"
    write_draws(store, normal(2, 50, 2), {})
    write_draws(store, normal(2, 5, 2, seed=1), {})
    assert read(store / "posterior/x").shape == (2, 5, 2)
    assert not (store / "posterior/x/0.1.0").exists()
    other.mkdir()
    (other / "mine.txt").write_text("mine")
    with pytest.raises(StorageFailed, match=r"other\.zarr: a folder that is not a Zarr store"):
        write_draws(other, normal(2, 5, 2), {})
    assert (other / "mine.txt").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["draws.zarr", "other.zarr"]


def test_what_cannot_be_written_leaves_the_old_store(tmp_path, monkeypatch):
    store = tmp_path / "draws.zarr"
    write_draws(store, normal(2, 50, 2), {})

    def full(values):
        raise StorageFailed("No space left on device")

    monkeypatch.setattr(stores, "_numpy", full)
    with pytest.raises(StorageFailed, match="No space"):
        write_draws(store, normal(2, 5, 2), {})
    assert read(store / "posterior/x").shape == (2, 50, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["draws.zarr"]


def test_xarray_opens_it_and_appends_to_it(tmp_path, monkeypatch):
    pytest.importorskip("zarr")
    import xarray

    monkeypatch.setattr(stores, "CHUNK", 1000)
    x, stats = normal(3, 90, 2, 2), seen(3, 90, torch.float64)
    store = tmp_path / "draws.zarr"
    write_draws(store, x[:, :60], {name: of[:, :60] for name, of in stats.items()})
    tree = xarray.open_datatree(store, engine="zarr")
    assert set(tree.children) == {"posterior", "sample_stats"}
    assert torch.from_numpy(tree["posterior/x"].values).equal(x[:, :60])
    assert tree["posterior/x"].dims == ("chain", "draw", "x_dim_0", "x_dim_1")
    assert not tree["sample_stats/diverging"].isnull().any()
    further = xarray.Dataset(
        {"x": (tree["posterior/x"].dims, x[:, 60:].numpy())}, coords={"chain": range(3), "draw": range(60, 90)}
    )
    further.to_zarr(store, group="posterior", append_dim="draw", consolidated=False, zarr_format=2)
    again = xarray.open_zarr(store, group="posterior", consolidated=False)
    assert torch.from_numpy(again["x"].values).equal(x)
    assert again["draw"].values.tolist() == [*range(90)]


ARVIZ = """
import json, sys, arviz
tree = arviz.from_zarr(sys.argv[1])
table = arviz.summary(tree, round_to="none")
columns = {name: [float(value) for value in table[name]] for name in ("mean", "r_hat", "ess_bulk")}
print(json.dumps({"version": arviz.__version__, "groups": sorted(tree.children), **columns}))
"""


def test_the_current_arviz_opens_it(tmp_path, current_arviz):
    """Its figures of the store are ours of the draws."""
    from ebmkit.diagnostics.ess import ess_bulk
    from ebmkit.diagnostics.rhat import rhat

    x = normal(4, 500, 3)
    write_draws(tmp_path / "draws.zarr", x, seen(4, 500, torch.float64))
    command = [current_arviz, "-c", ARVIZ, str(tmp_path / "draws.zarr")]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1])
    print(found["version"], file=sys.stderr)
    assert int(found["version"].split(".")[0]) >= 1
    torch.testing.assert_close(torch.tensor(found["mean"], dtype=torch.float64), x.mean((0, 1)))
    torch.testing.assert_close(torch.tensor(found["r_hat"], dtype=torch.float64), rhat(x), rtol=1e-6, atol=0)
    torch.testing.assert_close(torch.tensor(found["ess_bulk"], dtype=torch.float64), ess_bulk(x), rtol=1e-6, atol=0)


def test_coordinates_have_the_names_of_columns(tmp_path):
    x = normal(2, 5, 2)
    write_draws(tmp_path / "draws.zarr", x, {}, ("length", "größe"))
    assert read(tmp_path / "draws.zarr/posterior/x_dim_0").tolist() == ["length", "größe"]
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("zarr")
    with xarray.open_zarr(tmp_path / "draws.zarr", group="posterior", consolidated=False) as opened:
        assert opened["x_dim_0"].values.tolist() == ["length", "größe"]
