"""`ebmkit sample`: files from runs and from specs, and runs from specs that need no training."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import ebmkit
from ebmkit.cli import group
from ebmkit.errors.running import EnvironmentLacks
from tests.patience import PATIENCE

pytestmark = pytest.mark.usefixtures("undrawn")

SPEC = """\
ebmkit: 1
name: drawn
device: cpu
model: {use: gaussian, mean: [1.0, 2.0]}
sampler: {use: metropolis, scale: 1.5}
samples: 40
"""
CHAINS = "chains: {count: 4, burn_in: 5}\n"


def invoke(*words, status=0):
    result = CliRunner().invoke(group, [str(word) for word in words], prog_name="ebmkit")
    assert result.exit_code == status, result.output
    return result


@pytest.fixture
def specs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("long.yaml").write_text(SPEC + CHAINS)
    Path("ends.yaml").write_text(SPEC.replace("scale", "steps: 3, scale"))
    Path("trained.yaml").write_text(SPEC + "data: two_moons\nobjective: nce\ntrain: {steps: 1}\n")
    return tmp_path


def test_a_spec_is_carried_out_as_run_does(specs):
    folder = Path(invoke("sample", "long.yaml", "--quiet").stdout.strip())
    assert folder.parent == Path("runs/drawn")
    run = Path(invoke("run", "long.yaml", "--quiet", "--runs-dir", "others").stdout.strip())
    for name in ("chains/x.safetensors", "chains/tuning.safetensors", "resolved.yaml"):
        assert (folder / name).read_bytes() == (run / name).read_bytes(), name
    assert (folder / "report.html").is_file()


def test_how_many_and_which_seed_can_be_said(specs):
    folder = Path(
        invoke("sample", "long.yaml", "-n", 80, "--seed", 7, "--quiet", "--set", "chains.count=8").stdout.strip()
    )
    summary = json.loads((folder / "run.json").read_text())
    assert summary["seed"] == 7
    resolved = (folder / "resolved.yaml").read_text()
    assert "samples: 80" in resolved
    assert "count: 8" in resolved
    invoke("sample", folder, "--out", "again.npy", "--quiet")
    invoke("sample", folder, "-n", 12, "--out", "few.npy")
    invoke("sample", folder, "--out", "other.npy", "--seed", 8)
    again, few, other = (np.load(f"{name}.npy") for name in ("again", "few", "other"))
    assert (again.shape, few.shape) == ((80, 2), (12, 2))
    assert not np.array_equal(again, other)


def test_the_spec_says_how_many_by_default_and_the_file_is_flat(specs):
    said = invoke("sample", "ends.yaml", "--out", "x.npy", "--plot", "x.png")
    assert np.load("x.npy").shape == (40, 2)
    assert "40 samples  x.npy" in said.stdout
    assert Path("x.png").stat().st_size > 10_000
    assert not Path("runs").exists()
    assert "chains:" not in said.output
    long = invoke("sample", "long.yaml", "--out", "y.npz")
    assert np.load("y.npz")["x"].shape == (40, 2)
    assert "chains: R-hat at most" in long.stderr
    assert "warning: the bulk ESS is" in long.stderr
    assert invoke("sample", "long.yaml", "--out", "z.npz", "--quiet").output == ""


def test_chains_are_written_for_arviz(specs):
    invoke("sample", "long.yaml", "--out", "draws.zarr")
    invoke("sample", "long.yaml", "--out", "flat.npy")
    content = (Path("draws.zarr") / "posterior" / "x" / "0.0.0").read_bytes()
    assert np.array_equal(np.frombuffer(content, "<f4").reshape(40, 2), np.load("flat.npy"))
    assert (
        "draws.zarr exists; --force overwrites it"
        in invoke("sample", "long.yaml", "--out", "draws.zarr", status=2).stderr
    )
    invoke("sample", "long.yaml", "-n", 20, "--out", "draws.zarr", "--force")
    assert len((Path("draws.zarr") / "posterior" / "x" / "0.0.0").read_bytes()) == len(content) // 2


def test_chains_of_a_run_are_not_run_again(specs):
    """Only if something else is asked for."""
    folder = Path(invoke("run", "long.yaml", "--no-report", "--quiet").stdout.strip())
    invoke("sample", folder, "--out", "kept.npy")
    invoke("sample", folder, "-n", 40, "--out", "drawn.npy")
    kept, drawn = np.load("kept.npy"), np.load("drawn.npy")
    assert np.array_equal(kept, drawn)
    column = folder / "chains" / "x.safetensors"
    column.write_bytes(column.read_bytes()[: -kept.nbytes] + bytes(kept.nbytes))
    invoke("sample", folder, "--out", "zeros.npy")
    assert not np.load("zeros.npy").any()


def test_a_run_is_opened_as_arviz_has_it(specs, arviz, monkeypatch):
    folder = Path(invoke("run", "long.yaml", "--no-report", "--quiet").stdout.strip())
    run = ebmkit.open_run(folder)
    found = run.to_arviz()
    assert found.groups() == ["posterior", "sample_stats"]
    assert np.array_equal(found.posterior["x"].values.reshape(40, 2), run.samples.numpy())
    ends = Path(invoke("run", "ends.yaml", "--no-report", "--quiet").stdout.strip())
    with pytest.raises(ValueError, match="has no 'chains:'"):
        ebmkit.open_run(ends).to_arviz()
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(EnvironmentLacks, match=r"to_arviz\(\) needs ArviZ") as caught:
        run.to_arviz()
    assert caught.value.help == "pip install 'ebmkit-core[arviz]'"


def test_chains_are_written_for_older_arviz(specs):
    invoke("sample", "long.yaml", "--out", "draws.json")
    invoke("sample", "long.yaml", "--out", "flat.npy")
    written = json.loads(Path("draws.json").read_text())
    x = np.array(written["posterior"]["x"], dtype=np.float32)
    assert x.shape == (4, 10, 2)
    assert np.array_equal(x.reshape(40, 2), np.load("flat.npy"))
    assert np.array(written["sample_stats"]["acceptance_rate"]).shape == (4, 10)


def test_ends_of_chains_are_not_taken_for_draws_of_one(specs):
    refused = invoke("sample", "ends.yaml", "--out", "draws.zarr", status=2).stderr
    assert "has no 'chains:'" in refused
    assert "chains: {count: 4}" in refused
    assert not Path("draws.zarr").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["trained.yaml"], "must be trained first"),
        (["trained.yaml", "--out", "x.npy"], "must be trained first"),
        (["long.yaml", "--plot", "x.png"], "--plot goes with --out"),
        (["long.yaml", "--out", "x.txt"], "must end in one of"),
        (["long.yaml", "--out", "long.yaml"], "must end in one of"),
        (["long.yaml", "--out", "x.npy", "--plot", "x.jpg"], "must end in .png"),
        (["long.yaml", "--out", "there.npy"], "--force overwrites it"),
        (["long.yaml", "--out", "x.npy", "-n", "0"], "-n"),
        (["long.yaml", "--set", "chains.cuont=3"], "count"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(specs, words, told):
    Path("there.npy").write_bytes(b"")
    assert told in invoke("sample", *words, status=2).stderr
    assert not Path("runs").exists()
    assert not Path("x.npy").exists()


def test_the_folder_of_a_run_needs_a_file_to_write(specs):
    folder = invoke("sample", "long.yaml", "--quiet").stdout.strip()
    assert "for its samples with --out" in invoke("sample", folder, status=2).stderr


def test_a_run_can_be_sampled_otherwise_than_it_was(specs):
    folder = invoke("sample", "long.yaml", "--quiet").stdout.strip()
    refused = invoke("sample", folder, "--out", "x.npy", "--set", "seed=3", status=2).stderr
    assert "another 'seed'" in refused
    assert "sampler, init, chains, samples" in refused
    assert not Path("x.npy").exists()
    invoke("sample", folder, "--out", "few.npy", "--set", "samples=4")
    assert len(np.load("few.npy")) == 4
    invoke("sample", folder, "--out", "other.npy", "--set", "sampler=exact", "--unset", "chains")
    invoke("sample", folder, "--out", "same.npy")
    assert not np.array_equal(np.load("other.npy")[:50], np.load("same.npy")[:50])


def test_claims_count_here_too(specs):
    Path("claim.yaml").write_text(SPEC + CHAINS + "evaluate: [rhat]\nexpect: [{metric: rhat_max, below: 0.5}]\n")
    assert "E304" in invoke("sample", "claim.yaml", "--quiet", status=6).stderr


def test_there_is_a_template(specs):
    assert "ebmkit sample mine.yaml" in invoke("new", "spec", "mine.yaml", "--from", "sampling").output
    assert "ok" in invoke("validate", "mine.yaml").output
    assert "ebmkit run yours.yaml" in invoke("new", "spec", "yours.yaml").output


# What samples are given: a label, a part of each, or noise.

EXACT = """\
ebmkit: 1
name: exact
device: cpu
parts: {noise: {use: vp}}
model: {use: noised_mixture, schedule: $noise, means: [[-2.0, -1.0], [2.0, 1.0]], covariances: [0.04]}
sampler: {use: reverse_sde, schedule: $noise, steps: 40}
samples: 9
"""
LEVELS = EXACT.replace("use: vp", "use: geometric, sigma_max: 8.0, sigma_min: 0.05, count: 8").replace(
    "reverse_sde, schedule: $noise, steps: 40", "annealed_langevin, schedule: $noise, steps_per_level: 25"
)
LABELLED = """\
ebmkit: 1
name: labelled
device: cpu
parts: {sigmas: {use: geometric, sigma_max: 4.0, sigma_min: 0.1, count: 4}}
data: {use: two_moons, size: 64, test_size: 64}
model: {use: mlp_score, schedule: $sigmas, hidden: [8], classes: 2}
objective: {use: noise_conditional_score_matching, schedule: $sigmas}
train: {steps: 5, batch_size: 32}
sampler: {use: annealed_langevin, schedule: $sigmas, steps_per_level: 2}
samples: 20
samples_every: null
"""


@pytest.fixture
def given(specs):
    Path("exact.yaml").write_text(EXACT)
    Path("levels.yaml").write_text(LEVELS)
    Path("labelled.yaml").write_text(LABELLED)
    x = np.array([[-2.1, np.nan], [1.9, np.nan], [2.2, np.inf]])
    np.savez("known.npz", x=x, mask=np.array([1, 0]))
    np.savez("noisy.npz", x=np.array([[-1.0, 0.5], [3.0, 1.0], [0.1, 0.2]]))
    return specs


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A labelled model, hardly trained."""
    from ebmkit import experiment

    home = tmp_path_factory.mktemp("trained")
    (home / "labelled.yaml").write_text(LABELLED)
    with pytest.MonkeyPatch.context() as patch:
        from ebmkit.report import drawing

        patch.setattr(drawing, "draw_run", lambda view, record: None)
        return experiment.run(str(home / "labelled.yaml"), runs_dir=home / "runs").folder


@pytest.mark.parametrize("spec", ["exact.yaml", "levels.yaml"])
@pytest.mark.parametrize("denoise", [True, False])
def test_what_is_known_comes_out_as_it_was_and_the_rest_fits(given, spec, denoise):
    invoke("sample", spec, "--inpaint", "known.npz", "--out", "x.npz", "--set", f"sampler.denoise={denoise}".lower())
    x, known = np.load("x.npz")["x"], np.load("known.npz")["x"]
    assert np.array_equal(x[:, 0], known[:, 0].astype(np.float32))
    # The other coordinate follows from the mode: -1 or 1, with a deviation of 0.2 and 0.05 of noise.
    assert np.abs(x[:, 1] - np.array([-1, 1, 1])).max() < 1.2


def test_known_states_are_taken_in_turn_and_may_have_a_mask_each(given):
    mask = np.array([[True, False], [False, True], [True, True]])
    known = np.array([[-2.0, 9.0], [9.0, 1.0], [2.0, 0.5]])
    np.savez("each.npz", x=known, mask=mask)
    invoke("sample", "exact.yaml", "--inpaint", "each.npz", "-n", 7, "--out", "x.npy")
    x = np.load("x.npy")
    rows = np.arange(7) % 3
    assert x.shape == (7, 2)
    assert np.array_equal(x[mask[rows]], known[rows][mask[rows]].astype(np.float32))
    assert not (x == 9).any()
    np.savez("one.npz", x=np.array([-2.0, 0.0], dtype=np.float16), mask=mask[0])
    invoke("sample", "exact.yaml", "--inpaint", "one.npz", "--out", "y.npy")
    assert np.load("y.npy").shape == (1, 2)


def test_images_are_filled_in_too(given):
    means = [[0.0] * 16, [1.0] * 16]
    Path("images.yaml").write_text(
        f"ebmkit: 1\ndevice: cpu\nparts: {{noise: vp}}\nsamples: 4\nsampler: {{use: reverse_sde, schedule: $noise, "
        f"steps: 20}}\nmodel: {{use: noised_mixture, schedule: $noise, means: {means}, covariances: [0.01], "
        "shape: [1, 4, 4]}\n"
    )
    mask = np.zeros((1, 4, 4))
    mask[:, :2] = 1
    known = np.stack([np.zeros((1, 4, 4)), np.ones((1, 4, 4))])
    np.savez("half.npz", x=known, mask=mask)
    invoke("sample", "images.yaml", "--inpaint", "half.npz", "--out", "x.npz", "--plot", "x.png")
    x = np.load("x.npz")["x"]
    assert np.array_equal(x[:, :, :2], known[:, :, :2])
    assert np.abs(x - known).max() < 0.7
    assert Path("x.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("sigma", [0.3, 1.5])
@pytest.mark.parametrize("spec", ["exact.yaml", "levels.yaml", "plain.yaml"])
def test_denoising_gives_the_mean_of_clean_states(given, spec, sigma):
    """Of a mixture with components N(m, c I), by Bayes' rule; a plain model is one of noised states."""
    means, c = np.array([[-2.0, -1.0], [2.0, 1.0]]), 0.04
    Path("plain.yaml").write_text(
        "ebmkit: 1\ndevice: cpu\nsampler: langevin\nmodel: {use: gaussian_mixture, means: [[-2, -1], [2, 1]], "
        f"covariances: [{c + sigma**2}]}}\n"
    )
    said = invoke(
        "sample", spec, "--denoise", "noisy.npz", "--sigma", sigma, "--out", "x.npz", "--set", "dtype=float64"
    )
    assert "3 denoised states  x.npz" in said.stdout
    y = np.load("noisy.npz")["x"]
    apart = y[:, None] - means
    odds = np.exp(-(apart**2).sum(-1) / (2 * (c + sigma**2)))
    odds /= odds.sum(1, keepdims=True)
    clean = (odds[:, :, None] * (means + c / (c + sigma**2) * apart)).sum(1)
    assert np.load("x.npz")["x"] == pytest.approx(clean, abs=1e-6)


def test_the_label_reaches_the_network(given, run):
    import torch

    from ebmkit.engine.sampling import view_of
    from ebmkit.language.load import load_spec

    for label in (0, 1):
        invoke("sample", run, "--condition", label, "-n", 6, "--out", f"{label}.npy")
        invoke("sample", run, "--denoise", "noisy.npz", "--sigma", 0.5, "--condition", label, "--out", f"d{label}.npy")
    invoke("sample", run, "--inpaint", "known.npz", "--condition", 1, "--out", "filled.npy")
    zero, one = np.load("0.npy"), np.load("1.npy")
    assert zero.shape == (6, 2)
    assert not np.array_equal(zero, one)
    view = view_of(load_spec(str(run / "resolved.yaml")), run)
    y = torch.tensor(np.load("noisy.npz")["x"], dtype=torch.float32)
    for label in (0, 1):
        with torch.no_grad():
            score = view.parts.evaluated.score(y, torch.tensor(0.5), torch.tensor([label] * 3))
        assert np.load(f"d{label}.npy") == pytest.approx((y + 0.25 * score).numpy(), abs=1e-6)


def test_pictures_show_what_was_given_and_what_became_of_it(given):
    np.savez("line.npz", x=np.array([0.5, 1.0, 2.0]))
    one = "model={use: gaussian, mean: [0.0]}"
    invoke("sample", "exact.yaml", "--inpaint", "known.npz", "--out", "a.npz", "--plot", "a.png")
    invoke("sample", "exact.yaml", "--denoise", "noisy.npz", "--sigma", "0.5", "--out", "b.npz", "--plot", "b.png")
    words = ["--set", one, "--set", "sampler=langevin", "--unset", "parts"]
    invoke("sample", "exact.yaml", "--denoise", "line.npz", "--sigma", 0.5, "--out", "c.npz", "--plot", "c.png", *words)
    assert np.load("c.npz")["x"] == pytest.approx(np.array([[0.375], [0.75], [1.5]]))
    for name in "abc":
        assert Path(f"{name}.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["exact.yaml", "--inpaint", "known.npz"], "--inpaint needs --out"),
        (["exact.yaml", "--condition", "0", "--out", "x.npz"], "takes no labels and is no classifier"),
        (["RUN", "--condition", "2", "--out", "x.npz"], "there is no label 2: labels are 0 to 1"),
        (["RUN", "--condition", "-1", "--out", "x.npz"], "there is no label -1"),
        (["RUN", "--condition", "one", "--out", "x.npz"], "one"),
        (["RUN", "--denoise", "noisy.npz", "--sigma", "0.5", "--out", "x.npz"], "takes labels"),
        (["ends.yaml", "--inpaint", "known.npz", "--out", "x.npz"], "sampler 'metropolis' of ends.yaml does not"),
        (["exact.yaml", "--inpaint", "none.npz", "--out", "x.npz"], "there is no file"),
        (["exact.yaml", "--inpaint", "exact.yaml", "--out", "x.npz"], "is damaged"),
        (["exact.yaml", "--inpaint", "noisy.npz", "--out", "x.npz"], "contains no array 'mask'; it contains x"),
        (["exact.yaml", "--inpaint", "wide.npz", "--out", "x.npz"], "'x' of shape (3, 3); expected (N, 2)"),
        (["exact.yaml", "--inpaint", "mask.npz", "--out", "x.npz"], "'mask' of shape (2, 2); expected (2,) or (3, 2)"),
        (["exact.yaml", "--inpaint", "nan.npz", "--out", "x.npz"], "state 1 of 'x' (counted from 0) is not finite"),
        (["exact.yaml", "--inpaint", "nans.npz", "--out", "x.npz"], "values in 'mask' that are not finite"),
        (["exact.yaml", "--inpaint", "nowhere.npz", "--out", "x.npz"], "true nowhere"),
        (["exact.yaml", "--inpaint", "objects.npz", "--out", "x.npz"], "pickles, which are never read"),
        (["exact.yaml", "--inpaint", "empty.npz", "--out", "x.npz"], "'x' of shape (0, 2)"),
        (["exact.yaml", "--inpaint", "known.npz", "--out", "x.json"], "has no 'chains:'"),
        (["exact.yaml", "--denoise", "noisy.npz", "--out", "x.npz"], "--denoise and --sigma must be given together"),
        (["exact.yaml", "--sigma", "1", "--out", "x.npz"], "--denoise and --sigma must be given together"),
        (["exact.yaml", "--denoise", "noisy.npz", "--sigma", "0", "--out", "x.npz"], "not a positive number"),
        (["exact.yaml", "--denoise", "noisy.npz", "--sigma", "nan", "--out", "x.npz"], "not a positive number"),
        (["exact.yaml", "--denoise", "noisy.npz", "--sigma", "500", "--out", "x.npz"], "outside the range"),
        (["exact.yaml", "--denoise", "nan.npz", "--sigma", "1", "--out", "x.npz"], "is not finite"),
        (["exact.yaml", "--denoise", "wide.npz", "--sigma", "1", "--out", "x.npz"], "expected (N, 2)"),
        (["exact.yaml", "--denoise", "noisy.npz", "--sigma", "1", "-n", "3", "--out", "x.npz"], "applies to samples"),
        (["exact.yaml", "--denoise", "noisy.npz", "--sigma", "1", "--out", "x.json"], "--denoise runs none"),
        (
            ["exact.yaml", "--denoise", "noisy.npz", "--sigma", "1", "--inpaint", "known.npz", "--out", "x.npz"],
            "cannot be combined",
        ),
        (["spins.yaml", "--denoise", "noisy.npz", "--sigma", "1", "--out", "x.npz"], "needs a score"),
    ],
)
def test_what_is_given_wrongly_is_told_and_nothing_is_written(given, run, words, told):
    mask, x = np.array([True, False]), np.ones((3, 2))
    Path("spins.yaml").write_text("ebmkit: 1\nmodel: {use: ising, shape: [3, 3]}\nsampler: gibbs\n")
    np.savez("wide.npz", x=np.ones((3, 3)), mask=mask)
    np.savez("mask.npz", x=x, mask=np.array([mask, mask]))
    np.savez("nan.npz", x=np.array([[1.0, 1.0], [np.nan, 1.0]]), mask=mask)
    np.savez("nans.npz", x=x, mask=np.array([1.0, np.nan]))
    np.savez("nowhere.npz", x=x, mask=np.zeros(2))
    np.savez("objects.npz", x=np.array([{}, {}]), mask=mask)
    np.savez("empty.npz", x=np.ones((0, 2)), mask=mask)
    before = sorted(Path().iterdir())
    result = invoke("sample", *(run if word == "RUN" else word for word in words), status=2)
    assert told in " ".join(result.stderr.split())
    assert sorted(Path().iterdir()) == before


def test_an_interrupted_inpainting_leaves_no_file(given):
    words = ["sample", "exact.yaml", "--inpaint", "known.npz", "--out", "x.npz", "--plot", "x.png"]
    program = (
        "import os, signal\nfrom ebmkit.cli import main\n"
        "from ebmkit.components.samplers.reverse_sde import ReverseSDE\n"
        "step = ReverseSDE.step\n"
        "def interrupted(self, energy, state, rng):\n"
        "    if state.step == 20: os.kill(os.getpid(), signal.SIGINT)\n"
        "    return step(self, energy, state, rng)\n"
        f"ReverseSDE.step = interrupted\nimport sys\nsys.argv = ['ebmkit', *{words}]\nmain()\n"
    )
    before = sorted(Path().iterdir())
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(Path().iterdir()) == before


def test_sample_knows_the_formats_that_can_be_written():
    from ebmkit.cli.sample import FLAT
    from ebmkit.storage.export import FORMATS

    assert tuple(FORMATS) == FLAT
