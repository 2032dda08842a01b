"""What can be counted before anything is built: parameters, points, labels and states of chains."""

import dataclasses

import numpy as np
import pytest

from ebmkit.components.data.headers import npz_integers
from ebmkit.components.data.rows import row_count, rows_of
from ebmkit.contracts.kinds import Data
from ebmkit.language.load import load_spec
from ebmkit.registry.loading import Plugins
from ebmkit.registry.registry import Registry
from tests.language.specs import mistakes_of

FEW = "ebmkit: 1\ndata: {use: two_moons, size: %s, test_size: 50}\nmodel: mlp\nobjective: %s\ntrain: {steps: 1}\n"


@pytest.mark.parametrize("objective", ["mle", "score_matching", "stein", "{use: nce, learn_log_z: false}"])
def test_there_must_be_something_to_train(tmp_path, objective):
    text = f"ebmkit: 1\ndata: two_moons\nmodel: ring\nobjective: {objective}\ntrain: {{steps: 1}}\n"
    (mistake,) = mistakes_of(text, tmp_path)
    assert (mistake.code, mistake.place.line, mistake.other.line) == ("E209", 3, 4)
    assert mistake.message.startswith("there is nothing to train: model 'ring' has no trainable parameters")


def test_parameters_of_the_objective_are_something_to_train():
    spec = {"ebmkit": 1, "data": "two_moons", "model": "ring", "objective": "nce", "train": {"steps": 1}}
    assert load_spec(spec)


def test_parameters_are_counted_through_compositions(tmp_path):
    sums = "{use: sum, components: [ring, {use: tempered, model: %s, temperature: 2.0}]}"
    text = "ebmkit: 1\ndata: two_moons\nmodel: %s\nobjective: mle\ntrain: {steps: 1}\n"
    (mistake,) = mistakes_of(text % sums % "banana", tmp_path)
    assert mistake.message.startswith("there is nothing to train: model 'sum'")
    path = tmp_path / "spec.yaml"
    path.write_text(text % sums % "mlp")
    assert load_spec(path)


PLUGIN = """
from ebmkit.api import Model, Objective, component, torch


@component("fixed")
class Fixed(Model):
    def event(self):
        return (2,)

    def parameter_count(self, event):
        return {count}

    def build(self, event):
        raise AssertionError("not before it is run")


@component("unknown")
class Unknown(Objective):
    def extras(self, event, data):
        raise AssertionError("not before it is run")

    def loss(self, model, batch, context):
        raise AssertionError("not before it is run")


@component("plain")
class Plain(Objective):
    def loss(self, model, batch, context):
        raise AssertionError("not before it is run")
"""


@pytest.mark.parametrize(
    ("count", "objective", "refused"),
    [
        ("0", "plain", "nothing to train"),
        ("None", "plain", ""),
        ("0", "unknown", ""),
        ("3", "plain", ""),
        ("1 / 0", "plain", "cannot count its parameters: ZeroDivisionError"),
        ("'many'", "plain", "counts its parameters by a str, not by a whole number"),
    ],
)
def test_a_plugin_announces_its_parameters_or_is_not_asked(tmp_path, count, objective, refused):
    plugin = tmp_path / "lab.py"
    plugin.write_text(PLUGIN.replace("{count}", count))
    path = tmp_path / "spec.yaml"
    path.write_text(f"ebmkit: 1\ndata: two_moons\nmodel: lab.fixed\nobjective: lab.{objective}\ntrain: {{steps: 1}}\n")
    if refused:
        (mistake,) = mistakes_of(path.read_text(), tmp_path, plugins=[str(plugin)])
        assert refused in mistake.message
    else:
        assert load_spec(path, plugins=[str(plugin)])


@pytest.mark.parametrize(
    ("size", "objective", "said"),
    [
        (2, "nce", "noise 'gaussian' is fitted to at least 3 training points, but data 'two_moons' has 2"),
        (1, "{use: nce, noise: parzen}", "noise 'parzen' is fitted to at least 2 training points"),
        (8, "{use: nce, noise: gaussian_mixture}", "noise 'gaussian_mixture' is fitted to at least 9 training points"),
        (1, "{use: nce, noise: uniform}", "noise 'uniform' is fitted to at least 2"),
        (1, "flow_ce", "noise 'flow' is fitted to at least 2"),
        (1, "adversarial", "noise 'generator' is fitted to at least 2"),
        (1, "conditional_nce", "noise 'conditional_gaussian' is fitted to at least 2"),
    ],
)
def test_noise_is_not_fitted_to_too_few_points(tmp_path, size, objective, said):
    (mistake,) = mistakes_of(FEW % (size, objective), tmp_path)
    assert mistake.code == "E209"
    assert mistake.message.startswith(said)
    assert mistake.place.line == 4


def test_noise_is_not_fitted_to_data_without_a_density(tmp_path):
    line = "ebmkit: 1\ndata: {use: line, angle: %s}\nmodel: mlp\nobjective: {use: nce, noise: %s}\ntrain: {steps: 1}\n"
    (mistake,) = mistakes_of(line % (45, "gaussian"), tmp_path)
    assert "vary in every direction" in mistake.message
    (mistake,) = mistakes_of(line % (0, "parzen"), tmp_path)
    assert "vary in every coordinate" in mistake.message
    path = tmp_path / "spec.yaml"
    path.write_text(line % (45, "parzen"))
    assert load_spec(path)


def test_a_scale_of_the_data_needs_two_points_and_is_refused_once(tmp_path):
    text = "ebmkit: 1\nparts: {levels: geometric}\ndata: {use: two_moons, size: 1}\n"
    text += "model: {use: mlp_score, schedule: $levels}\nsampler: {use: annealed_langevin, schedule: $levels}\n"
    (mistake,) = mistakes_of(text, tmp_path)
    assert "largest distance of training points, but data 'two_moons' has one" in mistake.message


@pytest.mark.parametrize("fraction", [0.001, 0.2, 0.5, 0.9, 0.999])
def test_rows_are_counted_as_they_are_split(fraction):
    for n in (2, 3, 10, 1797):
        for split in ("train", "test"):
            counted = row_count(split, n, fraction)
            if counted:
                assert counted == len(rows_of(split, n, fraction))
            else:
                with pytest.raises(ValueError, match="none of"):
                    rows_of(split, n, fraction)


def test_a_file_without_training_rows_is_refused(tmp_path):
    (tmp_path / "rows.csv").write_text("1,2\n")
    head = f"ebmkit: 1\ndata: {{use: csv, path: {tmp_path}/rows.csv}}\n"
    text = head + "model: mlp\nobjective: mle\ntrain: {steps: 1}\n"
    (mistake,) = mistakes_of(text, tmp_path)
    assert (mistake.code, mistake.message) == ("E210", "data 'csv' has no training points")
    (tmp_path / "rows.csv").write_text("1,2\n3,4\n")
    (mistake,) = mistakes_of(text, tmp_path)
    assert "a single training point, which has no spread to scale by" in mistake.message


def test_labels_beyond_the_classes_of_a_model_are_refused_with_both_places(tmp_path):
    labels = np.array([0, 1, 2, 1, 0], dtype=">i2")
    np.savez(tmp_path / "rows.npz", x=np.arange(10.0).reshape(5, 2), y=labels)
    assert npz_integers(str(tmp_path / "rows.npz"), "y") == (0, 1, 2, 1, 0)
    text = f"ebmkit: 1\ndata: {{use: npz, path: {tmp_path}/rows.npz, y: y}}\n"
    text += "model: {use: classifier, classes: %s}\nobjective: jem\ntrain: {steps: 1, batch_size: 2}\n"
    (mistake,) = mistakes_of(text % 2, tmp_path)
    assert (mistake.code, mistake.place.line, mistake.other.line) == ("E209", 3, 2)
    assert mistake.message == "data 'npz' has labels 0 to 2, but model 'classifier' takes 0 to 1"
    path = tmp_path / "spec.yaml"
    path.write_text(text % 3)
    assert load_spec(path)


SAMPLING = "ebmkit: 1\ndata: {use: two_moons, size: %s, test_size: %s}\nmodel: mlp\nsampler: langevin\nevaluate: [%s]\n"


def test_metrics_need_points_draws_and_training(tmp_path):
    (mistake,) = mistakes_of(SAMPLING % (9, 9, "loss_curve"), tmp_path)
    assert mistake.message == "metric 'loss_curve' reads what training recorded, but there is no 'train:'"
    for sizes in ((1, 9), (9, 1)):
        (mistake,) = mistakes_of(SAMPLING % (*sizes, "mmd"), tmp_path)
        assert mistake.message.startswith("metric 'mmd' needs at least 2")
    chains = "chains: {count: 4}\nsamples: %s\n"
    (mistake,) = mistakes_of(SAMPLING % (9, 9, "rhat") + chains % 12, tmp_path)
    assert mistake.message.startswith(
        "metric 'rhat' needs at least 4 states of every chain, but 12 samples of 4 chains"
    )
    assert mistake.help == "set 'samples' to at least 16"
    path = tmp_path / "spec.yaml"
    path.write_text(SAMPLING % (2, 2, "rhat, mmd") + chains % 16)
    assert load_spec(path)


def test_most_built_in_data_know_their_size():
    entries = [entry.cls for entry in Registry(Plugins()).entries("data")]
    made = [cls() for cls in entries if dataclasses.fields(cls)[0].name != "path"]
    assert len([data for data in made if data.point_count("train") and isinstance(data, Data)]) == len(made) >= 10
