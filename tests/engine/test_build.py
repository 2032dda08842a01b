from __future__ import annotations

import pytest
import torch

from ebmkit.engine.build import build
from ebmkit.engine.process import find_device
from ebmkit.engine.working import unsound
from ebmkit.errors.running import ComponentFailed, EnvironmentLacks, OutOfMemory
from tests.drawn import run


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_parts_depend_on_the_seed_and_on_nothing_else(small, plan_of):
    torch.manual_seed(1)
    first = build(plan_of(small))
    torch.manual_seed(2)
    second = build(plan_of(small))
    assert same(first.model, second.model)
    assert first.train.equal(second.train)
    assert not first.train.equal(first.test)
    small["seed"] = 4
    third = build(plan_of(small))
    assert not same(first.model, third.model)
    assert not first.train.equal(third.train)


def test_a_run_leaves_global_randomness_alone(small, plan_of, tmp_path, undrawn):
    import random

    import numpy as np

    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    before = torch.random.get_rng_state(), random.getstate(), np.random.get_state()[1].copy()
    small["evaluate"] = ["sliced_wasserstein", "mmd"]
    run(plan_of(small), runs_dir=tmp_path)
    assert torch.random.get_rng_state().equal(before[0])
    assert random.getstate() == before[1]
    assert (np.random.get_state()[1] == before[2]).all()


@pytest.mark.parametrize("device", ["cuda", "cuda:7", "mps"])
def test_an_absent_device_is_named_at_its_line(small, plan_of, device):
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if there[device.split(":")[0]]:
        pytest.skip("this machine has one")
    small["device"] = device
    with pytest.raises(EnvironmentLacks, match=device) as caught:
        build(plan_of(small))
    assert device in caught.value.place.source.line(caught.value.place.line)
    assert "cpu" in caught.value.label


def test_a_spec_in_float64_does_not_run_on_mps(small, plan_of, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    small["device"] = "auto"
    assert find_device(plan_of(small)).type == "mps"
    small["dtype"] = "float64"
    assert find_device(plan_of(small)).type == "cpu"
    small["device"] = "mps"
    with pytest.raises(EnvironmentLacks, match="no numbers of type float64") as caught:
        find_device(plan_of(small))
    assert "mps" in caught.value.place.source.line(caught.value.place.line)


def test_small_networks_take_one_thread_unless_told_otherwise(small, plan_of):
    before = torch.get_num_threads()
    try:
        assert build(plan_of(small)).threads == torch.get_num_threads() == 1
        small["threads"] = 2
        assert build(plan_of(small)).threads == torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("section", "component", "said"),
    [
        ("model", "faulty.unbuildable", "model 'faulty.unbuildable' ran out of memory"),
        ("train", {"steps": 1, "optimizer": "faulty.stubborn"}, "optimizer 'faulty.stubborn' raised RuntimeError: no"),
    ],
)
def test_what_cannot_be_built_is_named_at_its_line_and_writes_nothing(
    small, plan_of, tmp_path, section, component, said
):
    small[section] = component
    with pytest.raises((ComponentFailed, OutOfMemory)) as caught:
        run(plan_of(small), runs_dir=tmp_path / "runs")
    assert caught.value.message == said
    assert "faulty." in caught.value.place.source.line(caught.value.place.line)
    assert caught.value.__cause__ is not None
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("section", "component", "who", "built", "promised"),
    [
        ("init", "faulty.listed", "init 'faulty.listed'", "list", "Starts"),
        ("init", {"use": "replay", "restart": "faulty.listed"}, "init 'faulty.listed'", "list", "Starts"),
        ("objective", {"use": "mle", "init": "faulty.listed"}, "init 'faulty.listed'", "list", "Starts"),
        ("objective", {"use": "nce", "noise": "faulty.modular"}, "noise 'faulty.modular'", "Identity", "Density"),
        (
            "objective",
            {"use": "conditional_nce", "noise": "faulty.pointless"},
            "noise 'faulty.pointless'",
            "Identity",
            "ConditionalDensity",
        ),
        ("model", "faulty.bare", "model 'faulty.bare'", "function", "Module"),
        (
            "model",
            {"use": "sum", "components": ["mlp", "faulty.bare"]},
            "model 'faulty.bare'",
            "function",
            "Module",
        ),
        ("train", {"steps": 1, "optimizer": "faulty.lazy"}, "optimizer 'faulty.lazy'", "NoneType", "Optimizer"),
    ],
)
def test_a_component_that_builds_another_type_is_named_at_its_line(
    small, plan_of, section, component, who, built, promised
):
    small[section] = component
    with pytest.raises(ComponentFailed) as caught:
        build(plan_of(small))
    expected = f"'build' returned an object of type {built}, but an instance of {promised} is expected"
    assert caught.value.message == f"{who}: {expected}"
    assert "faulty." in caught.value.place.source.line(caught.value.place.line)


@pytest.mark.parametrize(
    ("section", "component", "who"),
    [
        ("objective", {"use": "nce", "noise": "faulty.unready_noise"}, "noise 'faulty.unready_noise'"),
        (
            "objective",
            {"use": "nce", "noise": {"use": "faulty.unready_noise", "within": True}},
            "noise 'faulty.unready_noise'",
        ),
        ("objective", {"use": "mle", "init": "faulty.unready_start"}, "init 'faulty.unready_start'"),
        ("init", {"use": "replay", "restart": "faulty.unready_start"}, "init 'faulty.unready_start'"),
    ],
    ids=["noise", "module in a module", "init of the objective", "init in an init"],
)
def test_a_module_that_refuses_to_be_prepared_is_an_error_of_the_component_that_built_it(
    small, plan_of, section, component, who
):
    small[section] = component
    with pytest.raises(ComponentFailed) as caught:
        build(plan_of(small))
    assert caught.value.message == f"{who} raised ValueError: no 200 points, please"
    assert "faulty." in caught.value.place.source.line(caught.value.place.line)


def test_extras_of_another_type_are_an_error_of_the_objective(small, plan_of):
    small["objective"] = "faulty.spare"
    with pytest.raises(ComponentFailed) as caught:
        build(plan_of(small))
    expected = "'extras' returned an object of type list, but an instance of Module is expected"
    assert caught.value.message == f"objective 'faulty.spare': {expected}"


def test_a_component_learns_once_what_the_run_is_about_and_may_refuse_it(small, plan_of, diary):
    small["objective"] = {"use": "nce", "noise": "faulty.picky"}
    plan = plan_of(small)
    diary().clear()
    with pytest.raises(ComponentFailed) as caught:
        build(plan)
    assert caught.value.message == "noise 'faulty.picky' raised ValueError: there are 200 points"
    assert "faulty.picky" in caught.value.place.source.line(caught.value.place.line)
    (setting,) = diary()
    assert (setting.event, setting.space, len(setting.labels)) == ((2,), "real", 200)
    assert sum(parameter.numel() for parameter in setting.model.parameters()) == 33


class Masked(torch.nn.Module):
    """A network with a mask that is added, and infinite where nothing may pass."""

    def __init__(self, entry: float) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)
        self.register_buffer("mask", torch.tensor([0.0, entry]))


def test_buffers_may_be_infinite_and_weights_may_not():
    assert list(unsound(Masked(-torch.inf))) == []
    assert list(unsound(Masked(torch.nan))) == ["mask"]
    network = Masked(0.0)
    with torch.no_grad():
        network.layer.bias.fill_(torch.inf)
    assert list(unsound(network)) == ["layer.bias"]
