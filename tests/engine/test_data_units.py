"""Training takes place in the space of `scale`; everything that is shown is in the units of the data."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from click.testing import CliRunner

import ebmkit
from ebmkit import load_spec
from ebmkit.cli import group
from ebmkit.engine.build import build
from ebmkit.errors.base import EbmkitError, Mistakes
from tests.drawn import resume, run

SPEC = {
    "ebmkit": 1,
    "name": "own",
    "device": "cpu",
    "model": {"use": "mlp", "hidden": [8]},
    "objective": "nce",
    "train": {"steps": 20, "batch_size": 32},
    "sampler": {"use": "langevin", "steps": 5},
    "samples": 40,
    "evaluate": [{"use": "sliced_wasserstein", "samples": 40}],
}
SCORE = {
    **SPEC,
    "model": {"use": "mlp_score", "hidden": [8], "schedule": "vp"},
    "objective": {"use": "sde_score_matching", "schedule": "vp"},
    "sampler": {"use": "reverse_sde", "steps": 50, "schedule": "vp"},
}


def blobs(n=200, d=2, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.integers(0, 2, size=(n, 1)) * 3.0
    # Multiples of 2^-12, so that the shifts and factors of the tests do not round.
    return np.round((centres + rng.standard_normal((n, d)) @ (np.eye(d) + 0.3)) * 4096) / 4096


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(x, name="own.npz"):
        np.savez(tmp_path / name, x=x)
        return {"use": "npz", "path": name}

    return write


def finished(spec, data, tmp_path, **changes):
    record = run(load_spec({**spec, "data": data, **changes}), runs_dir=tmp_path / "runs")
    return ebmkit.open_run(record.folder)


def sample(opened, *words):
    return CliRunner().invoke(group, ["sample", str(opened.folder), *words])


@pytest.mark.parametrize("spec", [SPEC, SCORE], ids=["energy", "score"])
@pytest.mark.parametrize(("factor", "offset"), [(2.0**-20, 2.0**-8), (2.0**20, 2.0**30)])
def test_other_units_change_the_outputs_by_their_map_and_nothing_else(spec, factor, offset, file, tmp_path, undrawn):
    x = blobs()
    one = finished(spec, file(x), tmp_path)
    two = finished(spec, file(factor * x + offset, "other.npz"), tmp_path)
    weights = zip(one.view.parts.model.parameters(), two.view.parts.model.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in weights)
    assert one.view.parts.train.equal(two.view.parts.train)
    assert torch.allclose(factor * one.samples + offset, two.samples, rtol=1e-14, atol=1e-12 * factor)
    assert two.results["sliced_wasserstein"] == pytest.approx(factor * one.results["sliced_wasserstein"], rel=1e-9)
    if spec is SPEC:
        shift = 2 * np.log(factor)
        energies = one.view.energy(one.view.data("test")) + shift
        assert torch.allclose(two.view.energy(two.view.data("test")), energies, atol=1e-5)
        scores = one.view.score(one.view.data("test")) / factor
        assert torch.allclose(two.view.score(two.view.data("test")), scores, rtol=1e-5, atol=1e-6 / factor)


def test_densities_integrate_to_one_in_the_units_of_the_data(file, tmp_path, undrawn):
    changes = {"evaluate": ["log_likelihood"], "objective": "exact_mle"}
    x = blobs(400)
    one = finished(SPEC, file(x), tmp_path, **changes)
    two = finished(SPEC, file(1000 + 1e-3 * x, "far.npz"), tmp_path, **changes)
    gap = two.results["log_likelihood"] - one.results["log_likelihood"]
    assert gap == pytest.approx(-2 * np.log(1e-3), abs=1e-4)  # log |dz/dx|
    assert two.results["log_normaliser"] == pytest.approx(one.results["log_normaliser"], abs=1e-4)


def test_the_module_of_a_run_takes_the_units_of_the_data(file, tmp_path, undrawn):
    opened = finished(SPEC, file(100 + 0.01 * blobs()), tmp_path)
    x = opened.view.data("test")
    assert x.dtype == torch.float64
    assert torch.equal(opened.model(x).detach(), opened.view.energy(x))
    assert 90 < float(opened.samples.min()) < float(opened.samples.max()) < 110
    inputs = x[:5].clone().requires_grad_()
    (slope,) = torch.autograd.grad(opened.model(inputs).sum(), inputs)
    assert torch.allclose(-slope, opened.view.score(x[:5]), rtol=1e-4)


def test_a_score_network_takes_the_units_of_the_data(file, tmp_path, undrawn):
    opened = finished(SCORE, file(100 + 0.01 * blobs()), tmp_path)
    x, level = opened.view.data("test")[:5], torch.tensor(0.5)
    assert torch.allclose(opened.model(x, level), opened.view.score(x, 0.5))


def test_a_run_continues_with_the_units_that_it_began_with(file, tmp_path, undrawn):
    spec = {**SPEC, "data": file(7 + blobs()), "checkpoint": {"every": 5}}
    whole = run(load_spec(spec), runs_dir=tmp_path / "whole")
    from ebmkit.engine.limit import Limit

    part = run(load_spec(spec), runs_dir=tmp_path / "part", limit=Limit(steps=10))
    resume(load_spec(spec), part.folder)
    one, two = (torch_file(record.folder / "samples/samples.safetensors") for record in (whole, part))
    assert one.equal(two)
    saved = part.folder / "checkpoints/step-000020/units.safetensors"
    assert saved.is_file()


def torch_file(path):
    from safetensors.torch import load_file

    return load_file(path)["x"]


def test_long_chains_are_kept_in_the_units_of_the_data(file, tmp_path, undrawn):
    changes = {"sampler": {"use": "mala", "step_size": 0.1}, "chains": {"count": 4, "warmup": 0, "burn_in": 5}}
    opened = finished(SPEC, file(1000 + 1e-3 * blobs()), tmp_path, **changes)
    x = opened.view.draws.x
    assert 999 < float(x.min()) < float(x.max()) < 1001
    energy = opened.view.energy(x.flatten(0, 1)).view(x.shape[:2])
    assert torch.allclose(energy, opened.view.draws.seen["energy"].to(energy), atol=1e-3)


def test_denoising_and_inpainting_take_the_units_of_the_data(file, tmp_path, undrawn):
    opened = finished(SCORE, file(1000 + 10 * blobs()), tmp_path)
    x = 1000 + 10 * blobs(6, seed=1)
    np.savez(tmp_path / "known.npz", x=x, mask=np.array([1, 0]))
    assert sample(opened, "--inpaint", "known.npz", "--out", "filled.npz").exit_code == 0
    filled = np.load(tmp_path / "filled.npz")["x"]
    assert (filled[:, 0] == x[:, 0]).all()
    assert 900 < filled[:, 1].min() < filled[:, 1].max() < 1100
    assert sample(opened, "--denoise", "known.npz", "--sigma", "0.3", "--out", "clean.npz").exit_code == 0
    clean = np.load(tmp_path / "clean.npz")["x"]
    assert 900 < clean.min() < clean.max() < 1100
    assert not np.array_equal(clean, x)


def test_known_coordinates_need_columns_that_are_scaled_one_by_one(file, tmp_path, undrawn):
    opened = finished(SCORE, file(blobs()), tmp_path, scale="whiten")
    np.savez(tmp_path / "known.npz", x=blobs(6), mask=np.array([1, 0]))
    done = sample(opened, "--inpaint", "known.npz", "--out", "filled.npz")
    assert done.exit_code == 2
    assert "train it with 'scale: standardize'" in " ".join(done.stderr.split())


AUTO = {
    "files": ({}, "whiten"),
    "a network that is conditioned on noise": (SCORE, "standardize"),
    "toys": ({"data": "two_moons"}, "none"),
    "images": ({"data": "digits", "objective": "mle"}, "none"),
    "no training": ({"data": None, "model": {"use": "gaussian", "mean": [0, 0]}, "train": None}, "none"),
    "levels of grey": ({"data": {"use": "npz", "path": "grey.npz", "dequantize": 4}}, "none"),
    "noise in the units of the data": (
        {"objective": {"use": "nce", "noise": {"use": "uniform", "low": -9, "high": 9}}},
        "none",
    ),
    "a model in the units of the data": ({"model": {"use": "gaussian", "mean": [0, 0]}}, "none"),
}


@pytest.mark.parametrize("case", AUTO)
def test_what_auto_means(case, file):
    data = file(blobs())
    file(np.tile([0, 3], (50, 1)), "grey.npz")
    changes, expected = AUTO[case]
    spec = {**SPEC, "data": data, **{key: value for key, value in changes.items() if key != "evaluate"}}
    del spec["evaluate"]
    spec = {key: value for key, value in spec.items() if value is not None}
    if "train" not in spec:
        del spec["objective"]
    plan = load_spec(spec)
    assert plan.spec.scale == expected
    assert str(plan.origins["scale",]).startswith("auto: ")


WRONG = {
    "E205": {"scale": "whiten", "data": None, "train": None, "objective": None, "evaluate": None},
    "E201": {"scale": "whiten", "data": {"use": "from_model", "model": "ising"}, "model": "boltzmann"},
    "E209": {"scale": "range", "model": {"use": "gaussian", "mean": [0, 0]}},
}


@pytest.mark.parametrize("code", WRONG)
def test_a_scale_that_cannot_be_is_refused_at_its_line(code, file):
    spec = {**SPEC, "data": file(blobs()), **WRONG[code]}
    spec = {key: value for key, value in spec.items() if value is not None}
    with pytest.raises((Mistakes, EbmkitError)) as caught:
        load_spec(spec)
    mistakes = caught.value.mistakes if isinstance(caught.value, Mistakes) else [caught.value]
    assert code in {mistake.code for mistake in mistakes}


def test_a_constant_column_is_named_at_the_data(file):
    x = blobs(d=3)
    x[:, 1] = 4.5
    with pytest.raises(EbmkitError, match=r"column 1 .* is 4\.5 in every training row"):
        build(load_spec({**SPEC, "data": file(x)}))


def test_a_constant_column_is_named_as_its_table_does(file, tmp_path):
    rows = "\n".join(f"{k},7,{k % 3}" for k in range(40))
    (tmp_path / "table.csv").write_text(f"age,sex,income\n{rows}\n")
    with pytest.raises(EbmkitError, match=r"column 'sex' is 7 in every training row"):
        build(load_spec({**SPEC, "data": {"use": "csv", "path": "table.csv"}}))


def test_the_log_and_the_report_say_which_space(file, tmp_path):
    data = file(np.array([100.0, 5.0]) + blobs() * [1, 0.01])
    record = run(load_spec({**SPEC, "data": data}), runs_dir=tmp_path / "runs")
    for text in ((record.folder / "log.txt").read_text(), (record.folder / "report.html").read_text()):
        assert "whiten: mean 101." in text
        assert "no correlations" in text


def test_pixels_that_never_vary_are_refused_before_the_run():
    spec = {**SPEC, "data": "digits", "objective": "mle", "scale": "standardize"}
    with pytest.raises(Mistakes, match="coordinates that are the same in every point"):
        load_spec(spec)
