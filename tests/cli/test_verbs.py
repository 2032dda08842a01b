"""The torch-free verbs, as a user calls them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from ebmkit.cli import VERBS
from ebmkit.language.text import MAX_BYTES
from tests.cli.typed import ebmkit
from tests.language.specs import SMALL

WRONG = "ebmkit: 1\nmodel: {use: mlp, hiden: [3]}\ndata: two_moons\nsampler: langevin\n"


@pytest.fixture
def wrong(tmp_path):
    path = tmp_path / "wrong.yaml"
    path.write_text(WRONG)
    return str(path)


def test_help_names_every_verb():
    shown = ebmkit("--help").output
    for verbs in VERBS.values():
        for verb in verbs:
            assert f"\n  {verb} " in shown


@pytest.mark.parametrize("verb", [verb for verbs in VERBS.values() for verb in verbs])
def test_every_verb_has_help(verb):
    assert "Usage: ebmkit" in ebmkit(verb, "--help").output


def test_a_misspelt_verb_is_answered():
    assert "Did you mean 'validate'?" in ebmkit("validte", status=2).output


def test_list_as_json_is_an_array_of_objects():
    rows = json.loads(ebmkit("list", "--json").stdout)
    assert {"kind": "model", "name": "mlp", "plugin": "ebmkit"}.items() <= rows[
        [r["name"] for r in rows].index("mlp")
    ].items()
    assert all(row["summary"] for row in rows)
    assert {row["kind"] for row in json.loads(ebmkit("list", "sampler", "--json").stdout)} == {"sampler"}


def test_show_prints_formula_parameters_reference_and_example():
    shown = ebmkit("show", "sampler", "langevin").output
    for words in ("x' = x - step_size dE/dx", "step_size: a number, greater than 0", "Reference", "Example"):
        assert words in shown
    assert json.loads(ebmkit("show", "sampler", "langevin", "--json").stdout)["parameters"][0]["name"] == "steps"


def test_show_of_a_kind_prints_its_contract():
    shown = ebmkit("show", "sampler").output
    for words in (
        "step(energy: Energy, state: Any, rng: Generator) -> tuple[State, StepInfo]    (required)",
        "The initial state of chains at `x (B, *event)`.",
        "host_syncs: int = 0",
        "class StepInfo(NamedTuple):",
    ):
        assert words in shown
    contract = json.loads(ebmkit("show", "bregman", "--json").stdout)
    assert [each["declaration"] for each in contract["methods"] if each["required"]] == ["psi(u: Tensor) -> Tensor"]


def test_show_of_an_unknown_name_suggests():
    assert "did you mean 'langevin'?" in ebmkit("show", "sampler", "langevn", status=2).stderr


def test_validate_says_ok_and_all_mistakes_of_all_files(wrong):
    assert "quickstart: ok" in ebmkit("validate", "quickstart").stdout
    other = Path(wrong).with_name("other.yaml")
    other.write_text(WRONG)
    done = ebmkit("validate", "quickstart", wrong, str(other), status=2)
    assert "quickstart: ok" in done.stdout
    assert done.stderr.count("error[E103]") == 2


def test_validate_reads_standard_input():
    assert "<stdin>:2:19" in ebmkit("validate", "-", input=WRONG, status=2).stderr


def test_the_forms_of_errors(wrong):
    (mistake,) = json.loads(ebmkit("validate", wrong, "--format", "json", status=2).stdout)
    assert mistake["place"]["line"] == 2
    assert ebmkit("validate", wrong, "--format", "github", status=2).stdout.startswith(f"::error file={wrong},line=2,")
    assert json.loads(ebmkit("validate", "quickstart", "--format", "json").stdout) == []


def test_a_traceback_is_shown_only_when_asked_for(wrong):
    assert "Traceback" not in ebmkit("validate", wrong, status=2).stderr
    program = (
        f"from ebmkit.cli import main; import sys; sys.argv = ['ebmkit', 'validate', {wrong!r}, '--debug']; main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 2
    assert "Traceback" in done.stderr


def test_a_traceback_is_shown_once(tmp_path):
    (tmp_path / "broken.py").write_text("raise OSError('no luck')")
    program = (
        "from ebmkit.cli import main; import sys; "
        f"sys.argv = ['ebmkit', 'list', '--plugin', {str(tmp_path / 'broken.py')!r}, '--debug']; main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 3, done.stderr
    assert done.stderr.count("\nOSError: no luck") == 1, done.stderr


def test_resolve_writes_every_default_and_its_origin():
    shown = ebmkit("resolve", "quickstart", "--set", "seed=5").stdout
    assert "--set[1]:1:6" in shown
    assert "default of model 'mlp'" in shown
    asked = json.loads(ebmkit("resolve", "quickstart", "--json").stdout)
    assert asked["resolved"]["train"]["batch_size"] == 256
    assert asked["origins"]["train.batch_size"] == "default"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("train.optimizer.lr", ["0.003", "quickstart.yaml:", "learning rate"]),
        ("train.batch_size", ["256", "default", "data points per step"]),
        ("model.activation", ["silu", "default of model 'mlp'"]),
        ("evaluate[0].directions", ["256", "default of metric"]),
        ("name", ["quickstart", "the file's name"]),
    ],
)
def test_why(path, words):
    shown = ebmkit("resolve", "quickstart", "--why", path).output
    assert all(word in shown for word in words), shown


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("", "not a path"),
        ("train..steps", "not a path"),
        ("model.hidden[7]", "has 2 items"),
        ("objective.noise.mean.x", "is null"),
    ],
)
def test_why_of_what_is_not_there(path, words):
    assert words in ebmkit("resolve", "quickstart", "--why", path, status=2).output


def test_defaults_inside_defaults_have_no_place():
    shown = ebmkit("resolve", "quickstart", "--set", "objective=mle", "--why", "objective.init.restart.use").output
    assert "default of init 'replay'" in shown


def test_a_kind_is_suggested():
    assert "did you mean 'sampler'?" in ebmkit("list", "samplers", status=2).output
    assert "ebmkit show sampler langevin" in ebmkit("show", "langevin", "x", status=2).output


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colour_can_be_turned_off(wrong, monkeypatch, variable, value):
    """On a real terminal, which is what a pseudo-terminal is."""
    import os
    import pty

    def shown(environment):
        reader, writer = pty.openpty()
        command = [sys.executable, "-m", "ebmkit", "validate", wrong]
        subprocess.run(command, stderr=writer, env={**os.environ, **environment}, check=False)
        os.close(writer)
        return os.read(reader, 10_000)

    assert b"\x1b[1;31merror" in shown({"TERM": "xterm"})
    assert b"\x1b" not in shown({"TERM": "xterm", variable: value})


def test_why_of_nothing_suggests():
    assert "Did you mean 'steps'?" in ebmkit("resolve", "quickstart", "--why", "train.stps", status=2).output


def test_schema_accepts_right_specs_and_refuses_wrong_ones(tmp_path):
    from ebmkit.language import packaged
    from ebmkit.language.layers import open_spec
    from ebmkit.language.text import parse

    out = tmp_path / "schema.json"
    ebmkit("schema", "--out", str(out))
    validator = jsonschema.Draft202012Validator(json.loads(out.read_text()))
    validator.check_schema(validator.schema)
    for name in packaged.names():
        assert list(validator.iter_errors(parse(open_spec(name)).plain())) == []
    right = parse(open_spec("quickstart")).plain()
    for section, value in (
        ("model", "mpl"),
        ("model", {"use": "mlp", "hiden": [1]}),
        ("seed", -1),
        ("train", {"stps": 1}),
    ):
        assert list(validator.iter_errors({**right, section: value})), (section, value)


def test_new_spec_keeps_comments_and_applies_changes(tmp_path):
    from ebmkit.language import packaged

    path = tmp_path / "mine.yaml"
    original = packaged.find("quickstart").read_text()
    ebmkit("new", "spec", str(path))
    assert path.read_text() == original
    ebmkit("new", "spec", str(path), status=2)
    ebmkit("new", "spec", str(path), "--force", "--set", "train.steps=77", "--unset", "expect")
    changed = path.read_text()
    assert "steps: 77" in changed
    assert "expect:" not in changed
    untouched = [line for line in original.splitlines() if "#" in line and "expect" not in line]
    assert all(line in changed.splitlines() for line in untouched)
    assert "ok" in ebmkit("validate", str(path)).stdout


def test_new_spec_refuses_a_senseless_change_and_writes_nothing(tmp_path):
    path = tmp_path / "mine.yaml"
    assert "E101" in ebmkit("new", "spec", str(path), "--set", "trian.steps=7", status=2).stderr
    assert not path.exists()


def test_explain():
    assert "no such parameter" in ebmkit("explain", "e103").output
    assert "E001" in ebmkit("explain").output
    ebmkit("explain", "E999", status=2)


def test_doctor_finds_this_installation_sound():
    rows = json.loads(ebmkit("doctor", "--json").stdout)
    assert {row["subject"]: row["verdict"] for row in rows}["torch"] == "ok"


def test_why_follows_a_reference_to_what_is_shared(tmp_path):
    spec = tmp_path / "shared.yaml"
    spec.write_text(
        "ebmkit: 1\nparts:\n  sigmas: {use: geometric, count: 7}\ndata: two_moons\n"
        "model: {use: mlp_score, schedule: $sigmas}\nsampler: {use: annealed_langevin, schedule: $sigmas}\n"
    )
    shown = ebmkit("resolve", str(spec), "--why", "model.schedule.count").output
    assert "model.schedule.count = 7" in shown
    assert "shared.yaml:3:35" in shown
    assert "number of levels" in shown
    shown = ebmkit("resolve", str(spec), "--why", "sampler.schedule.sigma_min").output
    assert "default of schedule 'geometric'" in shown


def test_standard_input_has_the_same_bound():
    assert "E002" in ebmkit("validate", "-", input=b"#" * (MAX_BYTES + 1), status=2).stderr


def test_a_folder_does_not_hide_a_packaged_spec(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quickstart").mkdir()
    ebmkit("validate", "quickstart")


def test_why_explains_the_parameter_of_a_part_and_not_a_section_of_the_same_name(tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text(SMALL + "parts: {m: {use: mmd, samples: 500}}\nevaluate: [$m]\n")
    assert "saved in the run folder" not in ebmkit("resolve", str(path), "--why", "parts.m.samples").output


def test_a_device_flag_wins_and_is_blamed_under_its_own_name(tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text(SMALL)
    done = ebmkit("run", str(path), "--set", "device=cpu", "--device", "nonsense", status=2)
    assert "--> --device:1:8" in done.stderr


def test_only_verbs_that_exist_are_mentioned():
    root = Path(__file__).parents[2] / "ebmkit"
    texts = [*root.rglob("*.py"), *root.parent.glob("docs/*.md"), *root.parent.glob("*.md")]
    mentioned = {
        (verb, path.name)
        for path in texts
        for verb in re.findall(r"[`']ebmkit ([a-z]+)", path.read_text(encoding="utf-8"))
    }
    known = {verb for verbs in VERBS.values() for verb in verbs}
    assert {verb for verb, _ in mentioned} >= {"run", "list", "validate"}
    assert [(verb, file) for verb, file in mentioned if verb not in known] == []
