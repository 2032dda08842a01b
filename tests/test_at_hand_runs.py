"""Runs with code and data at hand: complete, interrupted and resumed, opened."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import ebmkit
from ebmkit.api import Sampler, StepInfo, component
from ebmkit.cli.common import load_plan
from ebmkit.components.models import MLP
from ebmkit.engine import session
from ebmkit.engine.folder.reproduction import compare
from ebmkit.engine.limit import Limit
from ebmkit.errors.base import Mistakes
from ebmkit.errors.running import ComponentFailed, Drifted
from ebmkit.language.text import parse, read
from ebmkit.language.unpackaged import resume_in_python
from ebmkit.registry.loading import Plugins
from tests.language.test_given_data import Table
from tests.registry.test_at_hand import Position

X = np.random.default_rng(0).normal(size=(300, 2)) @ [[1.0, 0.5], [0.0, 1.0]]


@component("drift")
class Drift(Sampler):
    """Unadjusted Langevin dynamics."""

    traces = frozenset({"energy"})

    steps: int = 5
    step_size: float = 0.01

    def init(self, energy, x, rng):
        return Position(x)

    def step(self, energy, state, rng):
        value, gradient = energy.value_and_grad(state.x)
        xi = torch.empty_like(state.x).normal_(generator=rng)
        return Position(state.x - self.step_size * gradient + (2 * self.step_size) ** 0.5 * xi), StepInfo(energy=value)


def network(seed=0):
    torch.manual_seed(seed)
    layers = [torch.nn.Linear(2, 8), torch.nn.SiLU(), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 1)]
    return torch.nn.Sequential(*layers, torch.nn.Flatten(0))


def spec(**sections):
    return {
        "ebmkit": 1,
        "model": MLP(hidden=(4,)),
        "objective": {"use": "mle", "sampler": {"use": "notebook.drift", "steps": 3}},
        "train": {"steps": 6, "batch_size": 50},
        "samples": 40,
        "device": "cpu",
        **sections,
    }


def interrupted_and_not(spec, tmp_path, plugins, data=X):
    """A run that pauses after three steps and is resumed, and one that does not."""
    whole = ebmkit.run(spec, plugins=plugins, data=data, runs_dir=tmp_path / "whole", report=False)
    plan = ebmkit.load_spec(spec, plugins=plugins, data=data)
    paused = session.run(plan, runs_dir=tmp_path / "paused", limit=Limit(steps=3))
    assert paused.status == "paused"
    return whole.folder, paused.folder


def test_a_class_and_an_array_resume_bit_for_bit(tmp_path):
    whole, paused = interrupted_and_not(spec(), tmp_path, Drift)
    assert ebmkit.resume(paused, plugins=[Drift], report=False).status == "finished"
    assert all(compare(whole, paused).values())


def test_a_network_resumes_bit_for_bit_from_any_of_its_kind(tmp_path):
    """Its weights and running means are in the run folder, so that those of the network passed again do not matter."""
    net = network()
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    of_network = spec(model=net, objective="nce", sampler=Drift(), train={"steps": 6, "batch_size": 50, "ema": 0.9})
    whole, paused = interrupted_and_not(of_network, tmp_path, (), X.astype(np.float32))
    ebmkit.resume(paused, plugins=[Drift, network(seed=1)], report=False)
    assert all(compare(whole, paused).values())
    assert all(torch.equal(net.state_dict()[name], tensor) for name, tensor in before.items())  # a copy was trained
    trained = ebmkit.open_run(paused, plugins=[network(seed=2), Drift]).model
    assert trained(torch.zeros(3, 2, dtype=torch.float64)).shape == (3,)


def test_a_killed_run_that_saved_nothing_starts_with_the_same_weights(tmp_path):
    net = network()
    plan = ebmkit.load_spec(spec(model=net, objective="nce", sampler=Drift()), data=X)
    whole = session.run(plan, runs_dir=tmp_path / "whole")
    killed = session.run(plan, runs_dir=tmp_path / "killed", limit=Limit(steps=1))
    for saved in (killed.folder / "checkpoints").iterdir():
        for file in saved.iterdir():
            file.unlink()
        saved.rmdir()
    ebmkit.resume(killed.folder, plugins=[network(seed=5), Drift], report=False)
    assert all(compare(whole.folder, killed.folder).values())


def test_another_network_is_refused_before_anything_is_written(tmp_path):
    of_network = spec(model=network(), objective="nce", sampler=Drift())
    folder = ebmkit.run(of_network, data=X, runs_dir=tmp_path, report=False).folder
    other = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Flatten(0))
    with pytest.raises(ComponentFailed, match=r"model 'notebook.sequential' .*does not have the weights of 'weights-"):
        ebmkit.resume(folder, plugins=[other, Drift])
    alike = network()
    alike[1] = torch.nn.Tanh()
    with pytest.raises(Drifted, match=r"plugins\.notebook\.sha256"):
        ebmkit.resume(folder, plugins=[alike, Drift])


def test_the_lock_says_that_the_code_was_not_packaged(tmp_path):
    folder = ebmkit.run(spec(), plugins=Drift, data=X, runs_dir=tmp_path, report=False).folder
    lock = parse(read(str(folder / "lock.yaml"))).plain()
    assert lock["plugins"]["notebook"]["distribution"] is None
    assert lock["plugins"]["notebook"]["version"] == "unpackaged"
    assert len(lock["plugins"]["notebook"]["sha256"]) == 64
    assert lock["unpackaged"] == {"notebook": "Drift"}
    assert [name for name in lock["data"] if (folder / name).is_file()] == list(lock["data"]) != []


@pytest.mark.parametrize(
    ("plugins", "name", "words"),
    [
        (Drift, "notebook.drift", r"objects of a notebook or script: define them again, and pass plugins=\[Drift\]"),
        ({"mine": [Drift]}, "mine.drift", r"define them again, and pass plugins=\{'mine': \[Drift\]\}"),
    ],
)
def test_a_run_says_how_its_code_is_passed(tmp_path, plugins, name, words):
    of = spec(objective="nce", sampler={"use": name, "steps": 2})
    folder = ebmkit.run(of, plugins=plugins, data=X, runs_dir=tmp_path, report=False).folder
    for function in (ebmkit.open_run, ebmkit.resume):
        with pytest.raises(Mistakes, match=words):
            function(folder)
    assert ebmkit.open_run(folder, plugins=plugins).samples.shape == (40, 2)


def test_a_run_with_a_plugin_file_says_how_it_is_passed(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from ebmkit.api import Bregman, component\n\n\n@component('half')\nclass Half(Bregman):\n"
        '    """Half."""\n\n    def psi(self, u):\n        return u * u / 2\n'
    )
    of = spec(objective={"use": "bregman", "generator": "mine.half"}, sampler="hmc")
    folder = ebmkit.run(of, plugins=tmp_path / "mine.py", data=X, runs_dir=tmp_path, report=False).folder
    with pytest.raises(Mistakes, match=r"add --plugin mine.py, or in Python plugins=\['mine.py'\]"):
        ebmkit.open_run(folder)


def test_the_names_of_a_table_go_to_the_samples(tmp_path):
    table = Table(X, ["height", "weight"])
    folder = ebmkit.run(spec(objective="nce", sampler="hmc"), data=table, runs_dir=tmp_path, report=False).folder
    assert ebmkit.open_run(folder).view.names.headings.coordinates == ("height", "weight")
    assert b"height" in (folder / "samples/samples.safetensors").read_bytes()


def test_a_plan_has_its_plugins_and_data_already():
    plan = ebmkit.load_spec(spec(), plugins=Drift, data=X)
    with pytest.raises(ValueError, match="pass them to load_spec"):
        ebmkit.run(plan, data=X)
    with pytest.raises(ValueError, match="pass them to load_spec"):
        ebmkit.run(plan, plugins=Drift)


def test_what_a_notebook_shows_is_short(tmp_path):
    chains = {"sampler": "notebook.drift", "chains": {"count": 2, "burn_in": 1}}
    plan = ebmkit.load_spec(spec(objective="nce", **chains, evaluate=["moments"]), plugins=Drift, data=X)
    record = ebmkit.run(plan, runs_dir=tmp_path, report=False)
    run = ebmkit.open_run(record.folder, plugins=Drift)
    assert repr(plan) == (
        f"Plan('experiment', data npz, model mlp, objective nce, sampler drift, 6 steps, hash {plan.hash[:8]})"
    )
    assert repr(record).startswith(f"Record('{record.folder}', finished, step 6, mean(x0) ")
    assert repr(run.view.draws) == "Draws(2 chains of 20 draws of (2,), with energy)"
    assert repr(run) == f"Run('{record.folder}', finished, step 6)"
    assert "<th>mean(x0)</th>" in run._repr_html_()


def test_a_run_hands_out_the_side_networks(tmp_path):
    folder = ebmkit.run(
        spec(objective={"use": "stein", "width": 4}, sampler="hmc"), data=X, runs_dir=tmp_path, report=False
    ).folder
    run = ebmkit.open_run(folder)
    critic, trace = run.extras.rival(torch.zeros(3, 2))
    assert (critic.shape, trace.shape) == ((3, 2), (3,))
    assert not run.extras.training
    saved = load_file(folder / "checkpoints/step-000006/extras.safetensors")
    assert all(torch.equal(saved[name], tensor) for name, tensor in run.extras.state_dict().items())


def test_a_run_that_stops_says_how_python_resumes_it(tmp_path):
    plan = ebmkit.load_spec(spec(), plugins=Drift, data=X)
    folder = session.run(plan, runs_dir=tmp_path, limit=Limit(steps=3)).folder
    assert f"to continue:  ebmkit.resume('{folder}', plugins=[Drift])" in (folder / "log.txt").read_text()
    with pytest.raises(Mistakes, match=r"pass plugins=\[Drift\]"):  # what the command line shows
        load_plan(str(folder / "resolved.yaml"), (), (), ())


@pytest.mark.parametrize(
    ("plugins", "words"),
    [
        ({"mine": [Drift]}, "plugins={'mine': [Drift]}"),
        ([Drift, json], "plugins=[json, Drift]"),
        ({"mine": Drift, "json": json}, "plugins={'json': [json], 'mine': [Drift]}"),
    ],
)
def test_namespaces_and_modules_are_passed_again_as_they_were(plugins, words):
    loaded = Plugins(plugins).loaded.values()
    assert resume_in_python(Path("run"), loaded) == f"ebmkit.resume('run', {words})"


SCRIPT = '''
import os, signal, sys
from typing import Any, NamedTuple

import numpy as np
import torch

import ebmkit
from ebmkit.api import Sampler, StepInfo, component
from ebmkit.components.objectives import MLE

steps = 0


class Position(NamedTuple):
    x: Any


@component("drift")
class Drift(Sampler):
    """Noisy gradient descent. It kills the process in its 11th step, if this is asked for."""

    steps: int = 3

    def init(self, energy, x, rng):
        return Position(x)

    def step(self, energy, state, rng):
        global steps
        steps += 1
        if sys.argv[1] == "die" and steps == 11:
            os.kill(os.getpid(), signal.SIGKILL)
        value, gradient = energy.value_and_grad(state.x)
        xi = torch.empty_like(state.x).normal_(generator=rng)
        return Position(state.x - 0.01 * gradient + 0.1 * xi), StepInfo(energy=value)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        layers = [torch.nn.Linear(2, 8), torch.nn.SiLU(), torch.nn.Dropout(0.3), torch.nn.Linear(8, 1)]
        self.layers = torch.nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x).squeeze(-1) + 0.1 * (x**2).sum(-1)


torch.manual_seed(0)
spec = {"ebmkit": 1, "model": Net(), "objective": MLE(sampler=Drift()), "train": {"steps": 6, "batch_size": 20}}
spec |= {"samples": 20, "samples_every": None, "device": "cpu", "checkpoint": {"every": 1}}
if sys.argv[1] == "resume":
    torch.manual_seed(1)
    print(ebmkit.resume(sys.argv[2], plugins=[Drift, Net()], report=False).folder)
else:
    points = np.random.default_rng(0).normal(size=(100, 2))
    print(ebmkit.run(spec, data=points, runs_dir=sys.argv[2], report=False).folder)
'''


@pytest.mark.long  # three processes; the tests above pause and resume in one
def test_a_script_that_is_killed_resumes_bit_for_bit(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)

    def script(*words):
        return subprocess.run([sys.executable, "script.py", *words], cwd=tmp_path, capture_output=True, text=True)

    whole = script("run", "whole")
    assert whole.returncode == 0, whole.stderr
    assert script("die", "killed").returncode == -signal.SIGKILL
    (killed,) = (tmp_path / "killed/experiment").iterdir()
    assert (killed / "checkpoints").is_dir()
    resumed = script("resume", str(killed))
    assert resumed.returncode == 0, resumed.stderr
    assert all(compare(tmp_path / whole.stdout.strip(), killed).values())
