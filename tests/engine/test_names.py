"""Coordinates are called what the data call them, or else the model."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors import safe_open

import ebmkit
from ebmkit import load_spec
from ebmkit.engine.names import Names
from ebmkit.errors.base import EbmkitError

PLUGIN = '''
from ebmkit.api import Model, component, torch


@component("posterior")
class Posterior(Model):
    """A standard Gaussian whose coordinates have names."""

    names: tuple[str, ...] = ("mu", "theta[1]")

    def event(self):
        return (2,)

    def coordinate_names(self):
        return self.names

    def build(self, event):
        class Square(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("place", torch.zeros(1))

            def forward(self, x):
                return x.square().sum(1) / 2

        return Square()
'''

NAMES = ("mu", "theta[1]")


@pytest.fixture
def plan_of(tmp_path):
    (tmp_path / "named.py").write_text(PLUGIN)

    def plan(model="named.posterior", **more):
        spec = {"ebmkit": 1, "device": "cpu", "model": model, "sampler": "mala", "samples": 40, **more}
        return load_spec(spec, plugins=[str(tmp_path / "named.py")])

    return plan


def test_names_of_the_model_are_in_pictures_files_and_for_arviz(plan_of, tmp_path):
    record = ebmkit.run(plan_of(chains={"count": 2}, evaluate=["rhat"]), runs_dir=tmp_path / "runs", report=False)
    view = ebmkit.open_run(record.folder, plugins=[str(tmp_path / "named.py")]).view
    assert view.names.shown == NAMES
    assert view.names.coordinate(1) == "theta[1]"
    assert view.mixing.largest("rhat")[1] in (*NAMES, "energy")
    assert any(name in (record.folder / "log.txt").read_text() for name in NAMES)
    from ebmkit.storage.export import arviz_names, write_samples

    assert arviz_names(view.names.headings.coordinates)["coords"] == {"x_dim_0": list(NAMES)}
    write_samples(tmp_path / "x.npz", view.samples(4), headings=view.names.headings)
    assert np.load(tmp_path / "x.npz")["columns"].tolist() == list(NAMES)


def test_samples_of_a_run_are_stored_with_the_names(plan_of, tmp_path):
    record = ebmkit.run(plan_of(), runs_dir=tmp_path / "runs", report=False)
    with safe_open(record.folder / "samples/samples.safetensors", framework="np") as file:
        assert json.loads(file.metadata()["names"])["columns"] == list(NAMES)


@pytest.mark.parametrize(
    "model",
    [
        {"use": "tempered", "model": "named.posterior", "temperature": 2.0},
        {"use": "sum", "components": ["ring", "named.posterior"]},
    ],
)
def test_compositions_keep_them(plan_of, model):
    assert Names(plan_of(model)).shown == NAMES


def test_those_of_the_data_come_first(plan_of, tmp_path):
    (tmp_path / "table.csv").write_text("height,weight\n" + "1,2\n3,4\n5,7\n" * 20)
    plan = plan_of(data={"use": "csv", "path": str(tmp_path / "table.csv")})
    assert Names(plan).shown == ("height", "weight")


def test_a_wrong_number_of_names_is_an_error_at_the_model(plan_of):
    with pytest.raises(EbmkitError, match=r"named\.posterior.*names 3 coordinates, but states are \(2,\)"):
        Names(plan_of({"use": "named.posterior", "names": ["a", "b", "c"]})).headings  # noqa: B018
