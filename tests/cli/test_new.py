"""`ebmkit new spec`."""

from click.testing import CliRunner

from ebmkit.cli import group
from ebmkit.language.load import load_spec
from tests.cli.typed import ebmkit
from tests.language.specs import SMALL


def test_new_spec_changes_one_place_of_an_alias_as_set_does(tmp_path):
    path, new = tmp_path / "spec.yaml", tmp_path / "new.yaml"
    path.write_text(
        "ebmkit: 1\nmodel: mlp\ndata: two_moons\nobjective: {use: mle, sampler: &s {use: langevin, steps: 10}}\n"
        "sampler: *s\ntrain: {steps: 5}\n"
    )
    ebmkit("new", "spec", str(new), "--from", str(path), "--set", "sampler.steps=99")
    assert load_spec(new).hash == load_spec(path, sets=["sampler.steps=99"]).hash


def test_new_spec_in_another_folder_still_finds_its_base(tmp_path):
    (tmp_path / "base.yaml").write_text(SMALL)
    (tmp_path / "child.yaml").write_text("extends: base.yaml\nseed: 1\n")
    new = tmp_path / "deep" / "new.yaml"
    done = CliRunner().invoke(group, ["new", "spec", str(new), "--from", str(tmp_path / "child.yaml")])
    assert done.exit_code == 2 or load_spec(new)


def test_new_spec_reads_standard_input_once(tmp_path):
    new = tmp_path / "new.yaml"
    ebmkit("new", "spec", str(new), "--from", "-", input=SMALL)
    assert new.read_text() == SMALL


def test_new_spec_unsets_before_it_sets(tmp_path):
    path, new = tmp_path / "spec.yaml", tmp_path / "new.yaml"
    path.write_text(SMALL + "seed: 1\n")
    ebmkit("new", "spec", str(new), "--from", str(path), "--unset", "seed", "--set", "seed=2")
    assert load_spec(new).spec.seed == 2


def test_new_spec_keeps_the_line_ends_of_its_base(tmp_path):
    path, new = tmp_path / "spec.yaml", tmp_path / "new.yaml"
    path.write_bytes(SMALL.replace("\n", "\r\n").encode())
    ebmkit("new", "spec", str(new), "--from", str(path), "--set", "seed=2")
    assert b"\r\n" in new.read_bytes()
    assert b"\n" not in new.read_bytes().replace(b"\r\n", b"")
