"""A number that is not finite, wherever it comes from, stops the run in the step that made it, and is named."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from ebmkit import load_spec
from ebmkit.engine.folder import checkpoint
from ebmkit.engine.folder.history import History
from ebmkit.engine.statistic import Statistic, Turn
from ebmkit.errors.running import ComponentFailed, Diverged
from ebmkit.errors.source import Source
from ebmkit.language.plan import Plan
from tests.drawn import resume, run

POISON = Path(__file__).with_name("poison.py")

#: Twelve steps with a checkpoint behind every third.
BASE: dict[str, Any] = {
    "ebmkit": 1,
    "name": "poisoned",
    "seed": 1,
    "device": "cpu",
    "data": {"use": "two_moons", "size": 64, "test_size": 32},
    "model": {"use": "mlp", "hidden": [4]},
    "objective": "poison.loss",
    "train": {"steps": 12, "batch_size": 16, "ema": 0.9, "optimizer": {"use": "adam", "lr": 0.001}},
    "sampler": {"use": "langevin", "steps": 3},
    "samples": 20,
    "samples_every": None,
    "checkpoint": {"every": 3, "keep": 9},
}

CHAINS = {"use": "mle", "sampler": {"use": "langevin", "steps": 3}, "init": "poison.memory"}


def train(**changes: Any) -> dict[str, Any]:
    return {"train": {**BASE["train"], **changes}}


def chain(**walk: Any) -> dict[str, Any]:
    return {"objective": {**CHAINS, "sampler": {"use": "poison.walk", **walk}}}


class Site(NamedTuple):
    """Where the number is planted; what the message says; at which words of the spec; and the last sound checkpoint."""

    name: str
    changes: dict[str, Any]
    message: str
    at: str
    saved: int
    help: str = ""
    #: Whether it is found in the final evaluation, which fails without stopping the run.
    final: bool = False


def loss(step: int, **poison: Any) -> dict[str, Any]:
    return {"objective": {"use": "poison.loss", "at": step, **poison}}


def net(step: int, **poison: Any) -> dict[str, Any]:
    return {"model": {"use": "poison.net", "at": step, **poison}}


def leap(step: int, **poison: Any) -> dict[str, Any]:
    return train(optimizer={"use": "poison.leap", "at": step, **poison})


FIRST, SECOND = "objective 'poison.loss': first became", "objective 'poison.loss': second became"
LOSS, NORM = "objective 'poison.loss': loss became", "objective 'poison.loss': gradient_norm became"
WEIGHT = "optimizer 'poison.leap': a weight is not finite"
ENERGY, WALK = "model 'poison.net': the energy is not finite", "sampler 'poison.walk':"

SITES = [
    # The loss and what comes with it, at the first step, in the middle, where a checkpoint is due, and at the last.
    Site("loss nan first", loss(1), f"{LOSS} nan at step 1", "poison.loss", 0),
    Site("loss inf middle", loss(7, value="inf"), f"{LOSS} inf at step 7", "poison.loss", 6),
    Site("loss -inf at a checkpoint", loss(6, value="-inf"), f"{LOSS} -inf at step 6", "poison.loss", 3),
    Site("loss nan last", loss(12), f"{LOSS} nan at step 12", "poison.loss", 9),
    Site("first metric", loss(1, where="first"), f"{FIRST} nan at step 1", "poison.loss", 0),
    Site("second metric", loss(6, where="second", value="inf"), f"{SECOND} inf at step 6", "poison.loss", 3),
    Site("metric last", loss(12, where="first", value="-inf"), f"{FIRST} -inf at step 12", "poison.loss", 9),
    Site("float64", {**loss(7), "dtype": "float64"}, f"{LOSS} nan at step 7", "poison.loss", 6),
    # Gradients of a loss that is finite.
    *(
        Site(
            f"gradient of {weight}",
            net(step, weight=weight, value=value),
            f"{NORM} {value} at step {step}",
            "poison.loss",
            saved,
            help=f"the gradient of '{weight}' of the model is not finite; all weights are finite",
        )
        for weight, step, value, saved in (
            ("first.weight", 1, "nan", 0),
            ("first.bias", 5, "nan", 3),
            ("last.weight", 9, "nan", 6),
            ("last.bias", 12, "inf", 9),
        )
    ),
    Site(
        "gradient that is clipped",
        {**net(7, weight="last.weight"), **train(clip_gradient=0.1)},
        f"{NORM} nan at step 7",
        "poison.loss",
        6,
        help="the gradient of 'last.weight' of the model is not finite",
    ),
    Site(
        "gradient of the extras",
        loss(4, where="offset"),
        f"{NORM} inf at step 4",
        "poison.loss",
        3,
        help="the gradient of 'offset' of the extras is not finite",
    ),
    # The energy of one point, under the objectives of ebmkit.
    Site("nce", {**net(7), "objective": "nce"}, f"{ENERGY} at step 7: nan at 1 of 80 states", "poison.net", 6),
    Site(
        "nce at -inf, which the loss alone would take for certainty",
        {**net(7, value="-inf"), "objective": "nce"},
        f"{ENERGY} at step 7: -inf at 1 of 80 states",
        "poison.net",
        6,
    ),
    Site(
        "bregman",
        {**net(3, value="inf"), "objective": "bregman"},
        f"{ENERGY} at step 3: inf at 1 of 32 states",
        "poison.net",
        0,
    ),
    Site(
        "mle",
        {**net(8, value="inf"), "objective": {**CHAINS, "init": "replay"}},
        f"{ENERGY} at step 8: inf at 1 of 32 states",
        "poison.net",
        6,
    ),
    Site(
        "denoising score matching",
        {**net(2, value="nan", weight="last.weight"), "objective": "denoising_score_matching"},
        "objective 'denoising_score_matching': gradient_norm became nan at step 2",
        "denoising_score_matching",
        0,
    ),
    # What the optimizer does to weights, the loss being finite.
    Site("weight first", leap(1), f"{WEIGHT} at step 1", "poison.leap", 0, help="'hidden.0.weight' of the model"),
    Site("weight nan", leap(6, index=1, value="nan"), f"{WEIGHT} at step 6", "poison.leap", 3, help="'hidden.0.bias'"),
    Site("weight last", leap(12, index=2), f"{WEIGHT} at step 12", "poison.leap", 9, help="'last.weight'"),
    Site(
        "weight of the extras", leap(7, index=-1), f"{WEIGHT} at step 7", "poison.leap", 6, help="'offset' of the ext"
    ),
    Site(
        "weight behind tanh, which hides it from the loss",
        {"model": {"use": "mlp", "hidden": [4], "activation": "tanh"}, **leap(7)},
        f"{WEIGHT} at step 7",
        "poison.leap",
        6,
    ),
    Site("learning rate", leap(8, where="rate", value="nan"), f"{WEIGHT} at step 8", "poison.leap", 6),
    Site(
        "learning rate that is too large",
        train(optimizer={"use": "sgd", "lr": 1e38}),
        "model 'mlp': the energy is not finite at step 2: nan at 16 of 16 states",
        "mlp",
        0,
    ),
    Site(
        "second stage",
        {"train": [{"steps": 5, "batch_size": 16}, {"steps": 7, "batch_size": 16, **leap(2)["train"]}]},
        f"{WEIGHT} at step 7",
        "poison.leap",
        6,
    ),
    Site(
        "state of the optimizer",
        leap(6, where="state"),
        "optimizer 'poison.leap': '0.last' of the optimizer is not finite after step 6",
        "poison.leap",
        3,
    ),
    # Chains, and what remembers them.
    Site("chain nan", chain(call=7), f"{WALK} the state of a chain is not finite at step 7", "poison.walk", 6),
    Site("chain first", chain(call=1, at=1), f"{WALK} the state of a chain is not finite at step 1", "poison.walk", 0),
    Site(
        "chain inf at its last step",
        chain(call=12, at=4, value="inf"),
        f"{WALK} the state of a chain is not finite at step 12",
        "poison.walk",
        9,
    ),
    Site(
        "acceptance", chain(call=6, at=4, where="acceptance"), f"{WALK} chain_acceptance became nan", "poison.walk", 3
    ),
    Site("v", chain(call=5, at=4, where="gradient", value="inf"), f"{WALK} v became inf at step 5", "poison.walk", 3),
    Site(
        "langevin that runs away",
        {"objective": {**CHAINS, "sampler": {"use": "langevin", "steps": 50, "step_size": 1e9}}},
        "sampler 'langevin': the state of a chain is not finite at step 1: nan at 16 of 16 states, found at step 4",
        "langevin",
        0,
    ),
    Site(
        "memory, found when it is used",
        {"objective": {**CHAINS, "init": {"use": "poison.memory", "at": 7}}},
        "init 'poison.memory': the start of a chain is not finite at step 8",
        "poison.memory",
        6,
        help="'positions', which the extras keeps from step to step, is not finite",
    ),
    Site(
        "memory, found when it is saved",
        {"objective": {**CHAINS, "init": {"use": "poison.memory", "at": 6, "value": "inf"}}},
        "objective 'mle': 'positions' of the extras is not finite after step 6, so no checkpoint was made",
        "mle",
        3,
    ),
    Site(
        "spectral vectors",
        {"model": {"use": "poison.normalised", "at": 7}},
        "model 'poison.normalised': the energy is not finite at step 7",
        "poison.normalised",
        6,
        help="'layer.u', which the model keeps from step to step, is not finite",
    ),
    # What objectives are made of.
    Site(
        "log density of the noise",
        {"objective": {"use": "nce", "noise": {"use": "poison.density", "at": 7}}},
        "noise 'poison.density': the log density is not finite at step 7: nan at 80 of 80 states",
        "poison.density",
        6,
    ),
    Site(
        "sample of the noise",
        {"objective": {"use": "nce", "noise": {"use": "poison.density", "where": "sample", "at": 4, "value": "inf"}}},
        "noise 'poison.density': the log density is not finite at step 4: -inf at 1 of 80 states",
        "poison.density",
        3,
    ),
    Site(
        "generator",
        {"objective": {"use": "bregman", "generator": "poison.generator"}},
        "objective 'bregman': gradient_norm became nan at step 1",
        "bregman",
        0,
    ),
    # What is measured and drawn.
    Site(
        "metric on the way",
        {"evaluate": [{"use": "poison.number", "at": 6, "every": 3}]},
        "metric 'poison.number': bad is nan after 6 training steps",
        "poison.number",
        3,
    ),
    Site(
        "metric at the end",
        {"evaluate": ["mmd", {"use": "poison.number", "at": 12, "value": "-inf"}]},
        "metric 'poison.number': bad is -inf after 12 training steps",
        "poison.number",
        12,
        final=True,
    ),
    Site(
        "samples at the end",
        {"sampler": {"use": "poison.walk", "call": 1, "value": "inf"}},
        f"{WALK} 1 of 20 samples are not finite, after 12 training steps",
        "poison.walk",
        12,
        final=True,
    ),
    Site(
        "energies on the way to samples",
        {"sampler": {"use": "poison.walk", "where": "energy", "call": 1, "at": 3}},
        f"{WALK} the mean energy of the chains is nan at their step 3, after 12 training steps",
        "poison.walk",
        12,
        final=True,
    ),
]


@pytest.fixture(autouse=True)
def _unused(undrawn):
    """Every run begins with a plugin that has not been used."""
    yield
    plugin = sys.modules.get("ebmkit_plugin_poison")
    if plugin:
        plugin.ENDED.clear()
        plugin.MEAN_AT.clear()
        plugin.PoisonedWalk.calls[0] = 0


def plan_of(changes: dict[str, Any]) -> Plan:
    """The plan of a spec that has a line for each section."""
    sections = {**BASE, **changes}
    text = "".join(f"{name}: {json.dumps(section)}\n" for name, section in sections.items())
    return load_spec(Source("poisoned.yaml", text), plugins=[str(POISON)])


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} was written")


def check_what_stays(folder: Path, experiment: str, saved: int) -> None:
    """The checkpoints up to step `saved` are whole, and nothing in the folder that holds numbers holds another."""
    found = checkpoint.found(folder / "checkpoints")
    assert [int(path.name.removeprefix("step-")) for path in found] == list(range(3, saved + 1, 3))
    for path in found:
        content = checkpoint.read(path, experiment)
        for tensors in content.tensors.values():
            assert all(bool(tensor.isfinite().all()) for tensor in tensors.values())
        json.loads((path / "state.json").read_text(), parse_constant=refuse)
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=refuse)
    assert not [path for path in folder.rglob(".*") if path.name != ".lock"]


def caught_in(site: Site, plan: Plan, runs_dir: Path) -> Diverged:
    """The error that stops the run, or that its evaluation reports."""
    if not site.final:
        with pytest.raises(Diverged) as caught:
            run(plan, runs_dir=runs_dir)
        return caught.value
    (failure,) = run(plan, runs_dir=runs_dir).failed
    assert isinstance(failure.error, Diverged)
    return failure.error


@pytest.mark.parametrize("site", SITES, ids=lambda site: site.name)
def test_it_stops_the_run_in_its_step_and_is_named(site, tmp_path):
    plan = plan_of(site.changes)
    error = caught_in(site, plan, tmp_path)
    assert site.message in error.message
    assert error.exit_status == 4
    assert error.place is not None
    assert error.place.source.line(error.place.line)[error.place.column - 1 :].startswith(f'"{site.at}"')
    assert site.help in error.help
    (folder,) = tmp_path.glob("*/*/")
    summary = json.loads((folder / "run.json").read_text())
    assert summary["status"] == ("finished" if site.final else "diverged")
    assert site.message in (summary["failed"][0]["reason"] if site.final else summary["error"])
    named = re.search(r"(?:at|after) (?:step )?(\d+)", error.message)
    assert named
    ended = sys.modules["ebmkit_plugin_poison"].ENDED
    assert int(named[1]) - len(ended) in (0, 1)  # the step that is named is the last one that began
    check_what_stays(folder, plan.hash, site.saved)


def test_forty_sites_and_more():
    assert len(SITES) >= 40
    assert len({site.name for site in SITES}) == len(SITES)


def test_a_running_mean_that_somebody_spoilt_is_not_saved(tmp_path):
    plan = plan_of({})
    sys.modules["ebmkit_plugin_poison"].MEAN_AT.append(6)
    message = "model 'mlp': 'last.bias' of the mean is not finite after step 6, so no checkpoint was made"
    with pytest.raises(Diverged, match=message):
        run(plan, runs_dir=tmp_path)
    (folder,) = tmp_path.glob("*/*/")
    check_what_stays(folder, plan.hash, 3)


def test_a_run_that_was_resumed_stops_as_the_first_one_did(tmp_path):
    plan, message = plan_of(loss(7)), re.escape(f"{LOSS} nan at step 7")
    with pytest.raises(Diverged, match=message):
        run(plan, runs_dir=tmp_path)
    (folder,) = tmp_path.glob("*/*/")
    with pytest.raises(Diverged, match=message):
        resume(plan, folder)
    check_what_stays(folder, plan.hash, 6)


@pytest.mark.parametrize(
    ("split", "value", "dtype", "shown"),
    [("train", "nan", "float32", "nan"), ("test", "-inf", "float64", "-inf"), ("train", 1e300, "float32", "inf")],
)
def test_points_that_are_not_finite_are_refused_before_there_is_a_run(tmp_path, split, value, dtype, shown):
    """The last one is finite in the file, and infinite in the precision of the run."""
    plan = plan_of({"data": {"use": "poison.points", "split": split, "value": value}, "dtype": dtype, "scale": "none"})
    message = rf"data 'poison\.points' raised ValueError: {split} point 5 is not finite: \[.*{re.escape(shown)}\]"
    with pytest.raises(ComponentFailed, match=message) as caught:
        run(plan, runs_dir=tmp_path)
    assert caught.value.exit_status == 3
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("lag", [0, 1])
def test_on_a_device_that_is_read_a_step_later_numbers_are_found_a_step_later(lag):
    """What is on its way is looked at before anything is saved."""
    told: list[tuple[str, int]] = []
    history = History(
        10, lambda step, values: None, lambda statistic, value, step: _tell(told, statistic, step), lag=lag
    )
    names = [Statistic("loss", ("objective",), Turn.LOSS), Statistic("first", ("objective",))]
    weights = Statistic("a weight", ("train", "optimizer"), Turn.WEIGHT, recorded=False)
    history.add(1, names, [torch.tensor(1.0), torch.tensor(2.0)])
    history.check_finite(1, weights, torch.tensor(1.0))
    if lag:
        history.add(2, names, [torch.tensor(1.0), torch.tensor(1.0)])
        history.check_finite(2, weights, torch.tensor(torch.inf))
        with pytest.raises(Diverged):
            history.state()
        assert told == [("a weight", 2)]
        assert history.series["loss"] == [(1, 1.0)]
    else:
        with pytest.raises(Diverged):
            history.check_finite(1, weights, torch.tensor(torch.inf))
        assert told == [("a weight", 1)]
    history._pending.clear()
    if lag:
        history.add(3, names, [torch.tensor(torch.nan), torch.tensor(1.0)])
        history.check_finite(3, weights, torch.tensor(torch.nan))
        with pytest.raises(Diverged):
            history.collect()
        assert told[-1] == ("loss", 3)  # of which the weight was made
    with pytest.raises(Diverged):
        history._collect(3, names, [torch.nan, torch.nan])
    assert told[-1] == ("first", 3)  # of which the loss was made


def _tell(told: list[tuple[str, int]], statistic: Statistic, step: int) -> Diverged:
    told.append((statistic.name, step))
    return Diverged(statistic.name)
