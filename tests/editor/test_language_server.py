"""What an editor makes of `ebmkit schema`, asked of the real yaml-language-server (npm) over stdio."""

from __future__ import annotations

import functools
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.editor.lsp import LanguageServer, Mark
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "yaml-language-server"
VERSION = "1.25.0"

#: Where a component may stand, as (kind, text); `|` is the cursor.
PLACES = {
    "data": ("data", "data: {use: |}"),
    "model": ("model", "model: {use: |}"),
    "model, block": ("model", "model:\n  use: |"),
    "objective": ("objective", "objective: {use: |}"),
    "objective, block": ("objective", "objective:\n  use: |"),
    "sampler": ("sampler", "sampler: {use: |}"),
    "sampler, other parameters after": ("sampler", "sampler: {use: |, steps: 5}"),
    "init": ("init", "init: {use: |}"),
    "objective.sampler": ("sampler", "objective:\n  use: mle\n  sampler: {use: |}"),
    "objective.sampler, block": ("sampler", "objective:\n  use: mle\n  sampler:\n    use: |"),
    "objective.init": ("init", "objective:\n  use: mle\n  init: {use: |}"),
    "objective.noise": ("noise", "objective:\n  use: nce\n  noise: {use: |}"),
    "train.optimizer": ("optimizer", "train:\n  steps: 5\n  optimizer: {use: |}"),
    "train.optimizer, block": ("optimizer", "train:\n  steps: 5\n  optimizer:\n    use: |"),
    "evaluate": ("metric", "evaluate:\n  - {use: |}"),
    "evaluate, block": ("metric", "evaluate:\n  - use: |"),
    "evaluate, second": ("metric", "evaluate:\n  - mmd\n  - use: |"),
    "trackers": ("tracker", "trackers:\n  - use: |"),
    "model, bare": ("model", "model: |"),
    "objective.sampler, bare": ("sampler", "objective:\n  use: mle\n  sampler: |"),
    "train.optimizer, bare": ("optimizer", "train:\n  steps: 5\n  optimizer: |"),
}

#: A misspelt parameter between bars.
MISSPELT = {
    "of a sampler": "sampler: {use: langevin, |step_sise|: 0.1}",
    "of a sampler, block": "sampler:\n  use: langevin\n  |step_sise|: 0.1",
    "of a nested sampler": "objective:\n  use: mle\n  sampler: {use: langevin, steps: 5, |step_sise|: 0.1}",
    "of an optimizer": "train:\n  steps: 5\n  optimizer: {use: adam, |learning_rate|: 0.1}",
    "of a metric": "evaluate:\n  - mmd\n  - {use: sliced_wasserstein, |sampels|: 10}",
    "of a shared part": "parts:\n  walk: {use: langevin, |step_sise|: 0.1}\nsampler: $walk",
    "of a section": "train: {steps: 5, |batchsize|: 10}",
    "of a section of a component": "model: {use: conv, layers: [{channels: 8}, {|chanels|: 8}]}",
    "of the spec": "|sede|: 3",
}

HEAD = "ebmkit: 1\nname: test\n"


@functools.cache
def ebmkit(*arguments: str) -> Any:
    """What a verb prints as JSON."""
    command = [str(Path(sys.executable).with_name("ebmkit")), *arguments]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout)


def spec(text: str) -> str:
    return HEAD + ("" if text.startswith("model") else "model: mlp\n") + text + "\n"


def cut(text: str) -> tuple[str, list[tuple[int, int]]]:
    """A text without its bars, and the lines and columns where they stood."""
    pieces = text.split("|")
    before = ["".join(pieces[: n + 1]) for n in range(len(pieces) - 1)]
    return "".join(pieces), [(b.count("\n") + 1, len(b) - b.rfind("\n")) for b in before]


@pytest.fixture(scope="session")
def command() -> list[str]:
    """How to start the server, which is installed on first use."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("node and npm are not installed")
    home = ROOT / ".cache" / PACKAGE / VERSION
    if not home.exists():
        home.parent.mkdir(parents=True, exist_ok=True)
        # Built aside and moved into place: several workers may come here at once, or one be killed midway.
        with tempfile.TemporaryDirectory(dir=home.parent) as aside:
            install = [npm, "install", "--no-audit", "--no-fund", "--fetch-retries=1", f"{PACKAGE}@{VERSION}"]
            Path(aside, "new").mkdir()
            try:
                done = subprocess.run(
                    [*install, "--prefix", "."],
                    cwd=Path(aside, "new"),
                    capture_output=True,
                    text=True,
                    timeout=120,
                )
            except subprocess.TimeoutExpired:
                pytest.skip(f"npm install {PACKAGE}@{VERSION} did not end in 120 s")
            if done.returncode != 0:
                errors = [line for line in done.stderr.splitlines() if line.startswith("npm error")]
                pytest.skip(f"npm install {PACKAGE}@{VERSION} failed: {' '.join(errors[:2])}")
            try:
                Path(aside, "new").rename(home)
            except OSError:
                assert home.exists()
    return [node, str(home / "node_modules" / PACKAGE / "bin" / PACKAGE), "--stdio"]


@pytest.fixture(scope="session")
def schema() -> dict[str, Any]:
    return ebmkit("schema")


@pytest.fixture(scope="module")
def editor(
    command: list[str], schema: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LanguageServer]:
    folder = tmp_path_factory.mktemp("specs")
    (folder / "ebmkit.language.schema.json").write_text(json.dumps(schema))
    settings = {
        "schemas": {(folder / "ebmkit.language.schema.json").as_uri(): "*.yaml"},
        "schemaStore": {"enable": False},
        "validate": True,
        "completion": True,
        "hover": True,
    }
    with LanguageServer(command, folder, {"yaml": settings}) as server:
        yield server


@pytest.mark.parametrize(("kind", "text"), PLACES.values(), ids=PLACES)
def test_use_offers_every_registered_name(editor: LanguageServer, kind: str, text: str) -> None:
    text, [(line, column)] = cut(spec(text))
    offered = editor.open(text).completions(line, column)
    # In a bare place the server offers what the schema calls the default too, written out.
    assert set(offered) - {"Default value"} == {entry["name"] for entry in ebmkit("list", kind, "--json")}


def test_parameters_of_the_chosen_component_are_offered(editor: LanguageServer) -> None:
    text, [(line, column)] = cut(spec("sampler:\n  use: langevin\n  st|"))
    assert {"steps", "step_size"} <= set(editor.open(text).completions(line, column))


@pytest.mark.parametrize("text", MISSPELT.values(), ids=MISSPELT)
def test_a_misspelt_parameter_is_marked_at_its_place(editor: LanguageServer, text: str) -> None:
    word = text.split("|")[1]
    text, [(line, column), (_, end)] = cut(spec(text))
    marks = editor.open(text).marks
    assert [(mark.line, mark.column, mark.end_column) for mark in marks] == [(line, column, end)]
    assert word in marks[0].message


def test_a_misspelt_name_is_marked_at_its_place(editor: LanguageServer) -> None:
    text, [(line, column), (_, end)] = cut(spec("sampler: {use: |langevn|}"))
    [mark] = editor.open(text).marks
    assert mark[:3] == (line, column, end)
    assert '"langevin"' in mark.message


def test_the_quickstart_has_no_marks(editor: LanguageServer) -> None:
    assert editor.open((ROOT / "specs" / "quickstart.yaml").read_text()).marks == []


def test_bare_names_and_references_have_no_marks(editor: LanguageServer) -> None:
    text = spec("parts:\n  walk: {use: langevin, steps: 5}\nobjective: {use: mle, sampler: $walk}\nsampler: langevin")
    assert editor.open(text).marks == []


def test_a_spec_that_extends_another_needs_to_say_little(editor: LanguageServer) -> None:
    assert editor.open("extends: quickstart.yaml\ntrain: {batch_size: 64}\n").marks == []


def test_a_file_can_name_the_schema_itself(editor: LanguageServer, schema: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    modeline = f"# yaml-language-server: $schema={(tmp_path / 'schema.json').as_uri()}\n"
    text = modeline + spec("sampler: {use: langevin, step_sise: 0.1}")
    document = editor.open(text, suffix=".yml")  # which no setting covers
    assert [mark.line for mark in document.marks] == [5]


def test_hover_on_a_name_shows_its_summary(editor: LanguageServer) -> None:
    text, [(line, column)] = cut(spec("sampler: {use: lan|gevin}"))
    summary = next(entry["summary"] for entry in ebmkit("list", "sampler", "--json") if entry["name"] == "langevin")
    assert plain(summary) in plain(editor.open(text).hover(line, column))


def test_hover_on_a_parameter_shows_its_documentation(editor: LanguageServer, schema: dict[str, Any]) -> None:
    written = described(schema, "step_size")
    if not written:
        pytest.skip("the schema says nothing about step_size")
    text, [(line, column)] = cut(spec("sampler: {use: langevin, step|_size: 0.1}"))
    shown = plain(editor.open(text).hover(line, column))
    assert any(plain(words) in shown for words in written)


def described(schema: Any, name: str) -> list[str]:
    """What a schema says about properties called `name`, anywhere in it."""
    if isinstance(schema, list):
        return [words for item in schema for words in described(item, name)]
    if not isinstance(schema, dict):
        return []
    here = (schema.get("properties") or {}).get(name)
    found = [here["description"]] if isinstance(here, dict) and "description" in here else []
    return found + described(list(schema.values()), name)


def plain(markdown: str) -> str:
    """Letters and digits only: what is escaped or broken into lines differs between schema and screen."""
    return re.sub(r"[\W_]+", " ", markdown).strip()


def test_marks_count_from_one() -> None:
    place = {"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 9}}
    assert Mark.of({"range": place, "message": "wrong"}) == (1, 5, 10, "wrong")
