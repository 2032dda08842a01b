"""What modifies samples or data that a run shares ends the run, instead of changing what follows."""

from __future__ import annotations

import pytest
import torch

import ebmkit
from ebmkit.api import Metric, component, hookimpl
from ebmkit.engine import shared_tensors
from ebmkit.engine.shared_tensors import SharedTensors
from ebmkit.errors.running import ComponentFailed

#: What the second metric sees.
SEEN = []


@component("radius")
class Radius(Metric):
    needs = frozenset({"samples"})

    def results(self):
        return ("radius",)

    def measure(self, view):
        SEEN.append(view.samples(50).clone())
        return {"radius": float(SEEN[-1].norm(dim=1).mean())}


@component("tenfold")
class Tenfold(Radius):
    of: str = "samples"

    def results(self):
        return ("tenfold",)

    def measure(self, view):
        if self.of == "samples":
            view.samples(50).mul_(10)
        elif self.of == "numpy":
            view.samples(40).numpy()[:] *= 10
        elif self.of == "data":
            view.data("train").mul_(10)
        elif self.of == "points as the network sees them":
            view.scaled.data("train").mul_(10)
        elif self.of == "before it raises":
            view.samples(50).mul_(10)
            raise ValueError("no")
        else:
            view.samples(50).clone().mul_(10)
        return {"tenfold": 1.0}


EXPRESSIONS = {
    "samples": "view.samples(50)",
    "numpy": "view.samples(40)",
    "data": "view.data('train')",
    "points as the network sees them": "view.scaled.data('train')",
    "before it raises": "view.samples(50)",
}


@pytest.mark.parametrize("of", EXPRESSIONS)
def test_a_metric_that_modifies_what_is_shared_is_named_at_its_line(small, tmp_path, of):
    small |= {"evaluate": [Tenfold(of=of), Radius()], "scale": "standardize"}
    with pytest.raises(ComponentFailed) as caught:
        ebmkit.run(small, runs_dir=tmp_path)
    expression = EXPRESSIONS[of]
    said = f"'measure' of metric 'notebook.tenfold' modified {expression} in place: work on a copy"
    assert caught.value.message == said
    assert caught.value.place.path.startswith("evaluate[0]")


def test_a_copy_may_be_modified_and_the_next_metric_sees_the_samples(small, tmp_path):
    SEEN.clear()
    record = ebmkit.run(small | {"evaluate": [Radius(), Tenfold(of="copy")]}, runs_dir=tmp_path)
    ebmkit.run(small | {"evaluate": [Tenfold(of="copy"), Radius()]}, runs_dir=tmp_path)
    assert not record.failed
    assert SEEN[0].equal(SEEN[1])


@hookimpl
def ebmkit_step_ended(view, step):
    if step == 3:
        view.data("train").add_(1)


def test_a_hook_that_modifies_data_ends_the_run(small, tmp_path):
    with pytest.raises(ComponentFailed, match=r"^hook 'ebmkit_step_ended' of .* modified view\.data\('train'\)"):
        ebmkit.run(small, runs_dir=tmp_path, plugins=[ebmkit_step_ended])


def test_tensors_too_large_for_a_copy_are_found_by_their_version(monkeypatch):
    monkeypatch.setattr(shared_tensors, "COMPARED", 10)
    whole, shared = torch.zeros(20), SharedTensors(watching=True)
    shared.hand_out("first half", whole[:10])
    shared.hand_out("whole", whole)
    assert not shared.modified()
    whole[15] = 1.0
    assert shared.modified() == "first half"  # they share memory, and torch counts the changes of both together


def test_what_was_copied_is_restored():
    x, shared = torch.zeros(5), SharedTensors(watching=True)
    shared.hand_out("x", x)
    x.numpy()[2] = 3.0
    assert shared.modified() == "x"
    assert x.equal(torch.zeros(5))


@pytest.mark.parametrize("tensor", [torch.tensor([1.0, torch.nan]), torch.tensor(torch.nan), torch.tensor([True])])
def test_what_was_not_touched_is_not_modified_even_if_it_is_no_number(tensor):
    shared = SharedTensors(watching=True)
    shared.hand_out("x", tensor)
    assert shared.modified() == ""
    tensor.numpy()[...] = 0
    assert shared.modified() == "x"
