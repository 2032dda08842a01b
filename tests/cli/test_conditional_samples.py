"""Samples of one class of a classifier, against closed forms; and the documented examples, as they are written."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import torch

import ebmkit
from ebmkit.engine.sampling import view_of
from tests.cli.typed import ebmkit as typed
from tests.components.oracles import assert_follows, assert_mean, normal_cdf

pytestmark = pytest.mark.usefixtures("undrawn")

#: With linear logits, p(x | y) is N(s^2 w_y, s^2 I) for a base of scale s.
SCALE = 1.5
LINEAR = f"""\
ebmkit: 1
name: linear
device: cpu
data: {{use: two_moons, size: 64, test_size: 64}}
model: {{use: classifier, classes: 2, hidden: [], base_scale: {SCALE}}}
objective: {{use: jem, sampler: {{use: langevin, steps: 2}}}}
train: {{steps: 3, batch_size: 32}}
sampler: {{use: hmc, steps: 8, step_size: 0.6, leapfrog_steps: 4}}
samples: 50
"""
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def jem(tmp_path_factory):
    """A classifier with linear logits, hardly trained, as a joint energy-based model."""
    home = tmp_path_factory.mktemp("jem")
    (home / "linear.yaml").write_text(LINEAR)
    with pytest.MonkeyPatch.context() as patch:
        from ebmkit.report import drawing

        patch.setattr(drawing, "draw_run", lambda view, record: None)
        return ebmkit.run(str(home / "linear.yaml"), runs_dir=home / "runs").folder


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def centre(run, label):
    """The mean of p(x | y)."""
    weight = view_of(ebmkit.load_spec(run / "resolved.yaml"), run).parts.evaluated.last.weight
    return SCALE**2 * weight[label].detach().double()


def is_of_class(x, mean):
    standard = (torch.as_tensor(x).double() - mean) / SCALE
    assert_follows([(column, normal_cdf) for column in standard.T])
    assert_mean(standard, 0.0)


def test_a_condition_draws_from_the_density_of_its_class(jem, here):
    drawn = {}
    for label in (0, 1):
        typed("sample", str(jem), "--condition", str(label), "-n", "3000", "--out", f"{label}.npz")
        kept = np.load(f"{label}.npz")
        assert (kept["y"] == label).all()
        is_of_class(kept["x"], centre(jem, label))
        drawn[label] = torch.as_tensor(kept["x"])
    assert (centre(jem, 0) - centre(jem, 1)).norm() > 0.5  # the two laws differ by more than the tests would let pass
    assert np.array_equal(ebmkit.open_run(jem).sample(3000, label=1), drawn[1])


def test_without_a_condition_the_mixture_of_all_classes_is_drawn(jem):
    run = ebmkit.open_run(jem)
    x = run.sample(3000)
    logits = run.model.logits(x.float()).detach()
    weights = torch.stack([centre(jem, label) for label in (0, 1)]).square().sum(1) / (2 * SCALE**2)
    shares = (weights + run.model.last.bias.detach().double()).softmax(0)
    assert_mean(logits.softmax(1).double(), shares)


def test_long_chains_are_conditioned_too(jem, here):
    words = ["--set", "chains={count: 500, warmup: 0, burn_in: 8, thin: 4}", "--condition", "1", "-n", "3000"]
    words += ["--unset", "sampler.steps"]
    typed("sample", str(jem), *words, "--out", "x.npz")
    kept = np.load("x.npz")
    assert (kept["y"] == 1).all()
    x = torch.as_tensor(kept["x"]).view(500, 6, 2)
    assert_mean(x.mean(1).double(), centre(jem, 1))  # draws of one chain depend on each other
    is_of_class(x[:, -1], centre(jem, 1))


@pytest.mark.parametrize(
    "sampler",
    [
        "{use: nuts, steps: 6, step_size: 0.6, max_depth: 3}",
        "{use: parallel_tempering, steps: 12, sampler: {use: mala, step_size: 1.0}, temperatures: [1.0, 2.0]}",
    ],
)
def test_samplers_that_evaluate_other_numbers_of_states(jem, here, sampler):
    typed("sample", str(jem), "--set", f"sampler={sampler}", "--condition", "1", "-n", "1000", "--out", "x.npz")
    is_of_class(np.load("x.npz")["x"], centre(jem, 1))


def test_a_class_is_denoised_by_its_own_score(jem, here):
    y = torch.randn(7, 2)
    np.savez("noisy.npz", x=y.numpy())
    typed("sample", str(jem), "--denoise", "noisy.npz", "--sigma", "0.5", "--condition", "1", "--out", "x.npy")
    score = (centre(jem, 1) - y.double()) / SCALE**2
    assert np.load("x.npy") == pytest.approx((y + 0.25 * score).numpy(), abs=1e-5)


@pytest.mark.parametrize("label", [-1, 2])
def test_a_label_that_no_class_has_is_refused(jem, here, label):
    said = typed("sample", str(jem), "--condition", str(label), "--out", "x.npz", status=2).stderr
    assert f"there is no label {label}: labels are 0 to 1" in " ".join(said.split())
    with pytest.raises(ValueError, match=f"there is no label {label}"):
        ebmkit.open_run(jem).sample(3, label=label)
    assert not Path("x.npz").exists()


EXACT = """
from ebmkit.api import Model, component

@component("pair")
class Pair(Model):
    \"\"\"A mixture of two classes that can be drawn exactly, without regard to the class.\"\"\"

    offers = frozenset({"energy", "gradient", "logits", "sample_exact"})

    def event(self):
        return (2,)

    def build(self, event):
        raise NotImplementedError
"""


def test_a_sampler_that_does_not_know_the_class_is_refused_by_name(here):
    Path("mine.py").write_text(EXACT)
    Path("pair.yaml").write_text("ebmkit: 1\nmodel: mine.pair\nsampler: exact\n")
    said = typed("sample", "pair.yaml", "--plugin", "mine.py", "--condition", "1", "--out", "x.npz", status=2).stderr
    assert "sampler 'exact' needs 'sample_exact', which the energy of one class does not offer" in " ".join(
        said.split()
    )


def test_the_documented_examples_work_as_they_are_written(here):
    """Each command and the Python code that writes its file, on a smaller run of the same spec."""
    small = ["train={steps: 2, batch_size: 16}", "sampler.steps=3", "samples=20", "evaluate=[]", "expect=[]"]
    small += ["model.channels=8", "model.multipliers=[1]", "samples_every=null", "device=cpu"]
    words = [word for change in small for word in ("--set", change)]
    run = typed("run", "gallery/conditional-digits", "--quiet", *words).stdout.strip()
    page = (DOCS / "commands.md").read_text()
    (code,) = re.findall(r"```python\n([^`]*half\.npz[^`]*)```", page)
    named = re.search(r'"(runs/conditional-digits/[^"]*)"', code)[1]
    Path("write.py").write_text(code.replace(named, run))
    _run_file("write.py")
    known = dict(np.load("half.npz"))
    np.savez("noisy.npz", x=known["x"] + 0.3, y=known["y"])
    commands = re.findall(r"^    (ebmkit sample RUN .*?)(?:  #.*)?$", (DOCS / "scores.md").read_text(), re.MULTILINE)
    assert len(commands) == 3
    table = re.findall(r"^\| `(ebmkit sample RUN --inpaint [^`]*)`", page, re.MULTILINE)
    assert len(table) == 1
    for command in (*commands, *table):
        _, *words = shlex.split(command.replace("RUN", run))
        typed(*words)
    whole, upper = np.load("whole.npz"), np.s_[:, :, :4]
    assert np.array_equal(whole["x"][upper], known["x"][upper])
    assert np.array_equal(whole["y"], known["y"])
    assert (np.load("threes.npz")["y"] == 3).all()


def _run_file(path):
    import runpy

    runpy.run_path(path)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({}, "model 'unet_score' takes labels, but 'half.npz' contains no array 'y'"),
        ({"y": np.zeros(5, dtype=int)}, "'y' of shape (5,)"),
        ({"y": np.zeros(3)}, "expected 3 integers"),
        ({"y": np.array([0, 1, 10])}, "there is no label 10: labels are 0 to 9"),
    ],
)
def test_labels_in_a_file_are_checked(here, arrays, words):
    from ebmkit.engine.conditioning import read_condition

    np.savez("half.npz", x=np.zeros((3, 1, 8, 8)), mask=np.ones((1, 8, 8)), **arrays)
    with pytest.raises(ValueError, match=re.escape(words)):
        read_condition(Path("half.npz"), ebmkit.load_spec("gallery/conditional-digits"))
