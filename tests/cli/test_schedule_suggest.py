"""`ebmkit schedule suggest`: noise levels for the data of a spec."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from ebmkit.cli import group
from ebmkit.language.load import load_spec

BARE = "ebmkit: 1\ndevice: cpu\ndata: {use: two_moons, size: 400}\nmodel: mlp\n"
NCSN = """\
ebmkit: 1
device: cpu
parts: {sigmas: {use: linear, sigma_max: 1.0, sigma_min: 0.001, count: 5}}
data: {use: two_moons, size: 400}
model: {use: mlp_score, schedule: $sigmas, hidden: [8]}
objective: {use: noise_conditional_score_matching, schedule: $sigmas}
train: {steps: 2}
sampler: {use: annealed_langevin, schedule: $sigmas}
"""


def invoke(*words, status=0):
    result = CliRunner().invoke(group, ["schedule", "suggest", *map(str, words)], prog_name="ebmkit")
    assert result.exit_code == status, result.output
    return result


@pytest.fixture(autouse=True)
def specs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("bare.yaml").write_text(BARE)
    Path("ncsn.yaml").write_text(NCSN)
    return tmp_path


def test_data_and_any_model_will_do():
    told = invoke("bare.yaml").stdout
    assert "two_moons: 400 training points of 2 coordinates" in told
    assert "the largest distance between two of them" in told
    assert "which is close enough" in told
    assert "the spec" not in told
    assert sorted(Path().iterdir()) == [Path("bare.yaml"), Path("ncsn.yaml")]


def test_numbers_are_those_of_the_data_and_the_seed():
    found = json.loads(invoke("bare.yaml", "--json").stdout)
    x = load_points("bare.yaml")
    largest = np.sqrt(((x[:, None] - x[None]) ** 2).sum(-1)).max()
    assert found["sigma_max"] == float(f"{largest:.3g}")
    assert found["spec"] == []
    other = json.loads(invoke("bare.yaml", "--json", "--set", "seed=1").stdout)
    assert other["sigma_max"] != found["sigma_max"]


def test_what_is_printed_can_be_pasted(tmp_path):
    found = json.loads(invoke("bare.yaml", "--json").stdout)
    fragment = found["fragment"]
    assert invoke("bare.yaml").stdout.strip().endswith(fragment)
    rest = [line for line in NCSN.splitlines() if not line.startswith(("parts:", "sampler:"))]
    (tmp_path / "pasted.yaml").write_text("\n".join([*rest, fragment]))
    plan = load_spec("pasted.yaml")
    told = invoke("pasted.yaml").stdout
    assert "close to the proposal" in told
    assert plan.spec.sampler.schedule is plan.spec.model.schedule
    assert found["levels"] == pytest.approx(plan.spec.model.schedule.levels().tolist())


def test_levels_that_a_spec_has_are_compared():
    told = invoke("ncsn.yaml").stdout
    assert "linear: 1 to 0.001 in 5 levels" in told
    assert "far modes are not connected" in told
    assert "finer than the data resolve" in told
    assert "levels 0.251 and 0.001 are too far apart" in told
    found = json.loads(invoke("ncsn.yaml", "--json").stdout)
    (own,) = found["spec"]  # one, though three parts of the spec have it
    assert own["levels"] == pytest.approx(np.linspace(1, 0.001, 5))
    assert len(own["overlaps"]) == 4
    assert len(own["differs"]) == 3
    assert "constant" in invoke("ncsn.yaml", "--set", "parts.sigmas={use: constant, sigma: 0.5}").stdout


@pytest.mark.parametrize("schedule", ["vp", "ve", "cosine"])
def test_processes_are_compared_too(schedule):
    words = [f"parts.sigmas={schedule}", "objective={use: sde_score_matching, schedule: $sigmas}"]
    words.append("sampler={use: reverse_sde, schedule: $sigmas}")
    told = invoke("ncsn.yaml", *(word for change in words for word in ("--set", change))).stdout
    assert f"the spec   {schedule}: " in told


def test_images_have_the_published_noise():
    found = json.loads(invoke("bare.yaml", "--set", "data={use: digits, dequantize: true}", "--json").stdout)
    assert found["coordinates"] == 64
    assert found["sigma_min"] == 0.02
    assert "as published for images" in found["rule"]


def test_data_in_other_units_are_told_to_be_standardized():
    rng = np.random.default_rng(0)
    np.savez("far.npz", x=rng.normal(1000, 1, (100, 3)))
    far = ("bare.yaml", "--set", "data={use: npz, path: far.npz}", "--set")
    told = invoke(*far, "scale=none").stdout
    assert told.count("set 'scale: standardize'") == 2
    assert "chains start around 0" in told
    assert "standardize" not in invoke(*far, "scale=standardize").stdout


def test_a_picture_is_drawn_and_not_overwritten():
    first = invoke("ncsn.yaml", "--plot", "new/levels.png")
    assert "picture  new/levels.png" in first.stderr
    picture = Path("new/levels.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert "--force overwrites it" in invoke("bare.yaml", "--plot", "new/levels.png", status=2).stderr
    assert Path("new/levels.png").read_bytes() == picture
    invoke("bare.yaml", "--plot", "new/levels.png", "--force")
    assert Path("new/levels.png").read_bytes() != picture


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["bare.yaml", "--plot", "x.jpg"], "must end in .png"),
        (["none.yaml"], "none.yaml"),
        (["bare.yaml", "--set", "data.sise=3"], "size"),
        (["bare.yaml", "--unset", "data"], "data"),
        (["bare.yaml", "--unset", "data", "--set", "model={use: gaussian, mean: [0, 0]}"], "has no 'data:'"),
        (["bare.yaml", "--set", "data={use: npz, path: same.npz}"], "all training points are equal"),
        (["bare.yaml", "--set", "data={use: npz, path: broken.npz}"], "not finite"),
    ],
)
def test_mistakes_are_told_and_nothing_is_written(words, told):
    np.savez("same.npz", x=np.ones((10, 2)))
    np.savez("broken.npz", x=np.full((10, 2), np.nan))
    before = sorted(Path().iterdir())
    picture = [] if "--plot" in words else ["--plot", "y.png"]
    result = CliRunner().invoke(group, ["schedule", "suggest", *words, *picture], prog_name="ebmkit")
    assert result.exit_code in (2, 3)
    assert told in result.stderr
    assert "Traceback" not in result.output
    assert sorted(Path().iterdir()) == before


def test_binary_data_are_refused():
    words = ["data={use: from_model, model: {use: ising, shape: [3, 3]}}", "model={use: ising, shape: [3, 3]}"]
    told = invoke("bare.yaml", *(word for change in words for word in ("--set", change)), status=2).stderr
    assert "Gaussian noise needs real data" in told


def test_help_comes_without_torch():
    program = (
        "import sys\nfrom ebmkit.cli import group\ntry:\n    group(['schedule', 'suggest', '--help'])\n"
        "except SystemExit:\n    print([name for name in ('torch', 'numpy', 'matplotlib') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def load_points(spec):
    from ebmkit.engine.rng import Streams

    plan = load_spec(spec, idle=True)
    return plan.spec.data.load("train", Streams(plan.spec.seed, "cpu").generator("data/train")).x.numpy()
