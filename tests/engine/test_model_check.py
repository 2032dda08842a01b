"""The one evaluation of the model that precedes training and chains."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import ebmkit
from ebmkit import load_spec
from ebmkit.engine.build import build
from ebmkit.engine.dry_run import dry_run
from ebmkit.errors.running import ComponentFailed

SCORES, STEPS = "noise_conditional_score_matching", {"steps": 2}
POINTS = torch.randn(50, 2, generator=torch.Generator().manual_seed(0))

#: Every objective that trains a wrong shape towards something else, or fails at a place of its own.
OBJECTIVES = ["nce", "mle", "bregman", "denoising_score_matching", "sliced_score_matching"]


def network(*last):
    return nn.Sequential(nn.Linear(2, 8), nn.SiLU(), nn.Linear(8, 1), *last)


def spec_of(model, objective="nce"):
    return {"ebmkit": 1, "model": model, "objective": objective, "train": {"steps": 2, "batch_size": 8}}


class Scalar(nn.Module):
    def forward(self, x):
        return (x**2).sum()


class AlongTheBatch(nn.Module):
    """For two states of two numbers, its shape would be right."""

    def forward(self, x):
        return (x**2).sum(0)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_column_of_energies_is_refused_before_training(objective, tmp_path):
    with pytest.raises(ComponentFailed) as caught:
        ebmkit.run(spec_of(network(), objective), data=POINTS, runs_dir=tmp_path)
    error = caught.value
    assert "returned shape (4, 1) for states of shape (4, 2) in float32" in error.message
    assert "a tensor of shape (4,), one energy for each state, is expected" in error.message
    assert "torch.nn.Flatten(0)" in error.message
    assert error.place.path.startswith("model")
    assert not list(tmp_path.iterdir())


def test_what_the_message_says_helps(tmp_path):
    record = ebmkit.run(spec_of(network(nn.Flatten(0))), data=POINTS, runs_dir=tmp_path)
    assert not record.failed


@pytest.mark.parametrize(("model", "shape"), [(Scalar(), r"\(\)"), (AlongTheBatch(), r"\(2,\)")])
def test_a_sum_over_states_is_refused(model, shape, tmp_path):
    with pytest.raises(ComponentFailed, match=rf"returned shape {shape} .*flatten\(1\)\.sum\(1\)"):
        ebmkit.run(spec_of(model), data=POINTS, runs_dir=tmp_path)


def test_no_axis_of_a_state_is_taken_for_the_states(tmp_path):
    points = torch.randn(50, 4, generator=torch.Generator().manual_seed(0))
    with pytest.raises(ComponentFailed, match=r"returned shape \(4,\) for states of shape \(5, 4\)"):
        ebmkit.run(spec_of(AlongTheBatch()), data=points, runs_dir=tmp_path)


def test_an_input_of_the_wrong_size_is_an_error_of_the_model(tmp_path):
    with pytest.raises(ComponentFailed, match=r"^model '.*' raised RuntimeError: mat1 .* for states of shape \(4, 2\)"):
        ebmkit.run(spec_of(nn.Sequential(nn.Linear(3, 1), nn.Flatten(0))), data=POINTS, runs_dir=tmp_path)


def test_chains_without_training_are_preceded_by_it(tmp_path):
    spec = {"ebmkit": 1, "model": {"use": network(), "shape": [2]}, "sampler": "langevin"}
    with pytest.raises(ComponentFailed, match=r"returned shape \(4, 1\)"):
        ebmkit.run(spec, runs_dir=tmp_path)


PLUGIN = '''
from ebmkit.api import Model, component, torch


@component("column")
class Column(Model):
    """Energies as a column.

    Example: model: {use: planted.column}
    """

    def build(self, event):
        return torch.nn.Linear(event[0], 1)
'''


def test_a_dry_run_reports_it_at_the_line_of_the_model(tmp_path):
    plugin, spec = tmp_path / "planted.py", tmp_path / "spec.yaml"
    plugin.write_text(PLUGIN)
    spec.write_text("ebmkit: 1\ndata: two_moons\nmodel: planted.column\nobjective: nce\ntrain: {steps: 2}\n")
    with pytest.raises(ComponentFailed, match=r"^the energy of model 'planted.column' .*returned shape") as caught:
        dry_run(load_spec(spec, plugins=[str(plugin)]))
    assert caught.value.place.line == 3


class Counts(nn.Module):
    """It counts its evaluations in two buffers, one in place and one anew."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.Dropout(), nn.Linear(8, 1))
        self.register_buffer("in_place", torch.zeros(()))
        self.register_buffer("again", torch.zeros(()), persistent=False)

    def forward(self, x):
        self.in_place += 1
        self.again = self.again + 1
        return self.layers(x).squeeze(1) + 0 * torch.rand(len(x))


def test_model_and_random_streams_are_left_alone():
    model = Counts()
    model.layers[1].eval()
    before = {name: of.clone() for name, of in model.named_buffers()}
    state = torch.random.get_rng_state()
    plan = load_spec({**spec_of(model), "data": {"use": "two_moons", "size": 50}})
    built = build(plan).model
    assert torch.random.get_rng_state().equal(state)
    assert all(of.equal(before[name]) for name, of in built.named_buffers())
    assert all(part.training for part in built.modules())  # the copy that is trained begins in this mode
    assert all(parameter.requires_grad for parameter in built.parameters())


@pytest.mark.parametrize(
    "spec",
    [
        {"data": "two_moons", "model": {"use": "mlp_score", "hidden": [8]}, "objective": SCORES, "train": STEPS},
        {"data": "two_moons", "model": {"use": "mlp_potential", "hidden": [8]}, "objective": SCORES, "train": STEPS},
        {"data": "digits", "model": {"use": "classifier", "hidden": [8]}, "objective": "jem", "train": STEPS},
        {"model": {"use": "rbm", "shape": [4], "hidden": 3}, "sampler": "gibbs"},
        {"model": {"use": "potts", "shape": [3, 3], "categories": 3}, "sampler": "gibbs"},
    ],
)
def test_models_of_all_kinds_pass(spec):
    build(load_spec({"ebmkit": 1, **spec}))


def test_a_score_of_the_wrong_shape_is_refused(monkeypatch):
    from ebmkit.components.models.nets.noised_network import NoisedScore

    right = NoisedScore.score
    monkeypatch.setattr(NoisedScore, "score", lambda *given: right(*given).sum(1))
    spec = {"data": "two_moons", "model": {"use": "mlp_score", "hidden": [8]}, "objective": SCORES, "train": STEPS}
    with pytest.raises(ComponentFailed, match=r"^the score of model 'mlp_score' returned shape \(4,\)"):
        build(load_spec({"ebmkit": 1, **spec}))
