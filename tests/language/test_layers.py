"""extends, merging, and flags."""

import pytest

from ebmkit.errors import EbmkitError, Mistakes
from ebmkit.errors.source import Source
from ebmkit.language.layers import compose, open_spec
from tests.language.specs import SMALL, mistakes_of

SPEC = "ebmkit: 1\nmodel: mlp\nobjective: {use: nce, noise: {use: gaussian, inflate: 2.0}}\nevaluate: [mmd, ess]\n"


def changed(*sets, unsets=()):
    return compose(Source("spec.yaml", SPEC), sets, unsets).plain()


def files(folder, **texts):
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)
    return compose(open_spec(str(folder / "child.yaml")))


def test_mappings_merge_deeply_and_lists_replace(tmp_path):
    root = files(
        tmp_path,
        base="ebmkit: 1\ntrain: {steps: 10, optimizer: {use: adam, lr: 1.0}}\nevaluate: [mmd, ess]\n",
        child="extends: base.yaml\ntrain: {optimizer: {lr: 2.0}}\nevaluate: [mmd]\n",
    )
    assert root.plain() == {
        "ebmkit": 1,
        "train": {"steps": 10, "optimizer": {"use": "adam", "lr": 2.0}},
        "evaluate": ["mmd"],
    }


def test_a_changed_use_drops_the_old_parameters(tmp_path):
    root = files(
        tmp_path, base="model: {use: mlp, hidden: [3]}\n", child="extends: base.yaml\nmodel: {use: conv, depth: 2}\n"
    )
    assert root.plain() == {"model": {"use": "conv", "depth": 2}}


def test_parameters_can_be_added_to_a_bare_name(tmp_path):
    root = files(tmp_path, base="sampler: langevin\n", child="extends: base.yaml\nsampler: {steps: 5}\n")
    assert root.plain() == {"sampler": {"use": "langevin", "steps": 5}}


def test_places_point_into_the_file_that_says_it(tmp_path):
    root = files(tmp_path, base="a: {x: 1}\nb: 2\n", child="# a comment\nextends: base.yaml\na: {y: 3}\n")
    a = root.value["a"].value
    assert a["x"].place.source.name.endswith("base.yaml")
    assert (a["x"].place.line, a["x"].place.column) == (1, 8)
    assert a["y"].place.source.name.endswith("child.yaml")
    assert (a["y"].place.line, a["y"].place.column) == (3, 8)


def test_extends_finds_packaged_specs_by_name(tmp_path):
    root = files(tmp_path, child="extends: quickstart\nseed: 7\n")
    assert root.plain()["seed"] == 7
    assert root.plain()["model"]["use"] == "mlp"


@pytest.mark.parametrize(
    ("texts", "word"),
    [
        ({"child": "extends: nowhere.yaml\n"}, "no spec"),
        ({"child": "extends: child.yaml\n"}, "circular"),
        ({"child": "extends: other.yaml\n", "other": "extends: child.yaml\n"}, "circular"),
        ({"child": "extends: [a, b]\n"}, "one other spec"),
        ({"child": "extends: quickstrat\n"}, "no spec"),
    ],
)
def test_extends_that_leads_nowhere(tmp_path, texts, word):
    with pytest.raises(EbmkitError, match=word) as caught:
        files(tmp_path, **texts)
    assert caught.value.code == "E012"
    assert caught.value.place.line == 1


def test_a_link_that_leads_nowhere_is_not_suggested(tmp_path):
    (tmp_path / "base.yaml").symlink_to("base.yaml")
    with pytest.raises(EbmkitError, match=r"there is no spec 'base\.yaml'") as caught:
        files(tmp_path, child="extends: base.yaml\n")
    assert "base.yaml" not in caught.value.label


def test_set_reaches_nested_values_and_positions():
    assert changed("objective.noise.inflate=3.0")["objective"]["noise"]["inflate"] == 3.0
    assert changed("evaluate.1={use: ess, every: 5}")["evaluate"][1] == {"use": "ess", "every": 5}
    assert changed("model.hidden=[1, 2]")["model"] == {"use": "mlp", "hidden": [1, 2]}
    assert changed("train.steps=7")["train"] == {"steps": 7}


def test_set_of_use_drops_the_old_parameters():
    assert changed("objective.use=mle")["objective"] == {"use": "mle"}
    assert changed("objective.use=nce")["objective"]["noise"]["inflate"] == 2.0


def test_append_and_unset():
    assert changed("evaluate+=rhat")["evaluate"] == ["mmd", "ess", "rhat"]
    assert changed("trackers+=jsonl")["trackers"] == ["jsonl"]
    assert changed(unsets=["evaluate.0"])["evaluate"] == ["ess"]
    assert "model" not in changed(unsets=["model"])


def test_later_flags_win():
    assert changed("seed=1", "seed=2")["seed"] == 2


@pytest.mark.parametrize(
    ("flag", "column"),
    [("seed", 1), ("=3", 1), ("a..b=1", 3), ("evaluate.9=1", 10), ("ebmkit.x=1", 8), ("seed=", 5), ("model+=x", 1)],
)
def test_flags_that_make_no_sense_are_placed(flag, column):
    with pytest.raises(Mistakes) as caught:
        changed(flag)
    (mistake,) = caught.value.mistakes
    assert (mistake.code, str(mistake.place)) == ("E013", f"--set[1]:1:{column}")


def test_a_value_of_a_flag_knows_its_column():
    tree = compose(Source("spec.yaml", SPEC), ["objective.noise={use: gaussian, inflate: x}"], [])
    assert str(tree.follow(["objective", "noise", "inflate"]).place) == "--set[1]:1:42"


def test_a_chain_of_16_bases_is_read_and_one_of_17_is_not(tmp_path):
    (tmp_path / "0.yaml").write_text("ebmkit: 1\n")
    for n in range(1, 18):
        (tmp_path / f"{n}.yaml").write_text(f"extends: {n - 1}.yaml\n")
    assert compose(open_spec(str(tmp_path / "16.yaml"))).plain() == {"ebmkit": 1}
    with pytest.raises(EbmkitError, match="more than 16"):
        compose(open_spec(str(tmp_path / "17.yaml")))


def test_a_merged_mapping_stands_where_it_was_changed(tmp_path):
    (tmp_path / "base.yaml").write_text("ebmkit: 1\nmodel: mlp\n")
    (tmp_path / "child.yaml").write_text("extends: base.yaml\nseed: 1\n")
    root = compose(open_spec(str(tmp_path / "child.yaml")))
    assert root.place.source.name.endswith("child.yaml")  # `spec.yaml` of a run folder is this file's text


def test_a_file_wins_over_a_packaged_spec_of_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quickstart").write_text(SMALL)
    assert open_spec("quickstart").text == SMALL


def test_a_misspelt_base_is_answered_with_its_neighbour(tmp_path):
    (tmp_path / "common.yaml").write_text(SMALL)
    (mistake,) = mistakes_of("extends: comon.yaml\n", tmp_path)
    assert mistake.label == "did you mean 'common.yaml'?"
