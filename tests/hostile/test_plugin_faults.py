"""A faulty plugin is named in one line with its reason, and nothing else notices it."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .plant_faults import distribution_of, namespace_of, plant, plant_healthy, shown_as, spec_of
from .plugin_faults import FAULTS, SPEC

ROOT = Path(__file__).parents[2]

PLAIN = """\
ebmkit: 1
data: {use: two_moons, size: 64, test_size: 32}
model: {use: mlp, hidden: [4]}
objective: {use: nce, noise: gaussian}
sampler: {use: langevin, steps: 3}
samples: 20
train: {steps: 2, batch_size: 16}
"""

#: Verbs that must work whatever is installed, with their exit status, if it is always the same. The first one imports
#: the plugins: later verbs of the same process find their modules.
VERBS = {
    "plugins --load": None,
    "list": 0,
    "list bregman --json": 0,
    "show sampler langevin": 0,
    "show bregman healthy.square": 0,
    "show bregman healthy.square --json": 0,
    "schema": 0,
    "plugins": None,
    "plugins --json": None,
    "plugins --load --json": None,
    "validate plain.yaml": 0,
    "validate healthy.yaml": 0,
    "validate healthy.yaml --format json": 0,
    "resolve plain.yaml": 0,
    "resolve healthy.yaml --json": 0,
    "doctor": None,
    "doctor --json": None,
    "completion bash": 0,
    "complete show bregman": 0,
}

#: Those that are tried where all are installed together: each of the others imports all plugins once more.
TOGETHER = [verb for verb in VERBS if verb not in ("plugins --load --json", "doctor --json")]

#: Those that are tried for each fault by itself: `doctor` imports torch in another process every time.
APART = [verb for verb in VERBS if not verb.startswith("doctor")]

#: Verbs whose output is one JSON document.
JSON = [verb for verb in VERBS if "json" in verb or verb == "schema"]

#: Those whose specs are also checked where all are installed; alone, all are.
SOME = [kind for kind in FAULTS if FAULTS[kind].spec][::10]

RUN = "run plain.yaml --quiet --no-report --runs-dir runs"


class Site:
    """A folder with installed distributions, and the specs that use them."""

    def __init__(self, folder: Path, kinds: list[str]) -> None:
        self.folder, self.kinds = folder, kinds
        plant_healthy(folder)
        for kind in kinds:
            plant(folder, kind, FAULTS[kind])
        (folder / "plain.yaml").write_text(PLAIN)
        (folder / "healthy.yaml").write_text(SPEC.format(generator="healthy.square"))
        for kind in kinds:
            if spec := spec_of(kind, FAULTS[kind]):
                (folder / f"{namespace_of(kind)}.yaml").write_text(spec)

    @property
    def environment(self) -> dict[str, str]:
        path = os.pathsep.join([str(ROOT), str(self.folder)])
        cleared = {name: value for name, value in os.environ.items() if name != "EBMKIT_DISABLE_PLUGINS"}
        return {**cleared, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}

    def bits(self) -> dict[str, str]:
        """Those of a run of the plain spec in a process of its own."""
        command = [sys.executable, "-m", "ebmkit", *RUN.split()]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, env=self.environment)
        assert done.returncode == 0, done.stderr
        return self.bits_of(done.stdout)

    def bits_of(self, folder: str) -> dict[str, str]:
        """The hashes of the weights and samples of a run."""
        run = self.folder / folder.strip()
        files = [*run.glob("checkpoints/step-*/*.safetensors"), *run.glob("samples/*.safetensors")]
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def carry_out(sites: list[tuple[Site, list[str]]]) -> list[dict[str, dict]]:
    """What the commands do in each site: all in one process, one site after the other."""
    given = [(str(site.folder), [command.split() for command in commands]) for site, commands in sites]
    environment = {name: value for name, value in os.environ.items() if name != "EBMKIT_DISABLE_PLUGINS"}
    environment |= {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    program = [sys.executable, "-m", "tests.hostile.verbs"]
    done = subprocess.run(program, input=json.dumps(given), capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return [dict(zip(commands, each, strict=True)) for (_, commands), each in zip(sites, found, strict=True)]


@pytest.fixture(scope="module")
def bits(tmp_path_factory) -> dict[str, str]:
    """Those of a run where no plugin is installed."""
    found = Site(tmp_path_factory.mktemp("alone"), []).bits()
    assert len(found) >= 3
    return found


@pytest.fixture(scope="module")
def together(tmp_path_factory) -> tuple[Site, dict[str, dict]]:
    """All faulty distributions in one installation, and what the verbs do there."""
    site = Site(tmp_path_factory.mktemp("together"), list(FAULTS))
    (done,) = carry_out([(site, [*TOGETHER, *(f"validate {namespace_of(kind)}.yaml" for kind in SOME)])])
    return site, done


def check_verb(verb: str, done: dict) -> None:
    assert done["traceback"] == ""
    assert "Traceback" not in done["stderr"]
    expected = VERBS[verb]
    assert done["status"] in ((0, 3) if expected is None else (expected,)), done["stderr"]
    for text in (done["stdout"], done["stderr"]):
        assert not any(letter in text for letter in "\x1b\x07\u202e")
    if verb in JSON:
        json.loads(done["stdout"])
    if verb.startswith(("list", "schema", "plugins", "complete", "doctor")):
        assert "healthy" in done["stdout"]
    if verb.startswith("validate") and "json" not in verb:
        assert "ok" in done["stdout"]


def check_kind(kind: str, done: dict[str, dict]) -> None:
    """One line names the distribution and the reason: of `plugins`, and at the line of the spec that needs it."""
    fault, shown = FAULTS[kind], shown_as(kind, FAULTS[kind])
    rows = done["plugins" if fault.when == "metadata" else "plugins --load"]
    lines = [line for line in rows["stdout"].splitlines() if f"  {shown} " in line or f"  {shown}, " in line]
    assert len(lines) == 1, lines
    assert fault.reason in lines[0]
    status = {"metadata": "  broken: ", "load": "  broken: ", "note": "  loaded: importing it changed "}
    assert status.get(fault.when, "  loaded") in lines[0]
    if fault.when in ("metadata", "load"):
        assert rows["status"] == 3
        warnings = [
            line for line in done["list"]["stderr"].splitlines() if f"({shown})" in line or f"({shown}, " in line
        ]
        assert len(warnings) == 1
        assert warnings[0].startswith("warning[E122]")
        assert fault.reason in warnings[0]


def check_spec(kind: str, done: dict) -> None:
    fault = FAULTS[kind]
    assert done["traceback"] == ""
    if fault.when not in ("metadata", "load"):
        assert done["status"] == 0, done["stderr"]
        return
    assert done["status"] == 3
    errors = [line for line in done["stderr"].splitlines() if line.startswith("error")]
    (line,) = errors
    assert line.startswith("error[E122]: ")
    assert shown_as(kind, fault) in line
    assert fault.reason in line
    assert f"{namespace_of(kind)}.yaml:5:" in done["stderr"]


def test_there_are_enough_kinds():
    assert len(FAULTS) >= 80
    assert len({namespace_of(kind) for kind in FAULTS}) == len(FAULTS)
    assert all(fault.reason or fault.when == "never" for fault in FAULTS.values())


@pytest.mark.parametrize("verb", TOGETHER)
def test_every_verb_works_where_all_faults_are_installed_together(together, verb):
    check_verb(verb, together[1][verb])


@pytest.mark.parametrize("kind", FAULTS)
def test_one_line_names_the_distribution_and_the_reason(together, kind):
    check_kind(kind, together[1])


@pytest.mark.parametrize("kind", SOME)
def test_a_spec_that_needs_the_plugin_is_refused_at_its_line(together, kind):
    check_spec(kind, together[1][f"validate {namespace_of(kind)}.yaml"])


def test_plain_specs_give_the_same_bits_where_all_faults_are_installed(together, bits):
    assert together[0].bits() == bits


@pytest.fixture(scope="module")
def apart(tmp_path_factory) -> dict[str, tuple[Site, dict[str, dict]]]:
    """Every faulty distribution in an installation of its own.

    The plain spec is run last in each of them, in the process that has imported this plugin and all before it.
    """
    sites = {kind: Site(tmp_path_factory.mktemp("apart"), [kind]) for kind in FAULTS}
    needed = {kind: [f"validate {namespace_of(kind)}.yaml"] if FAULTS[kind].spec else [] for kind in FAULTS}
    done = carry_out([(sites[kind], [*APART, *needed[kind], RUN]) for kind in FAULTS])
    return dict(zip(FAULTS, zip(sites.values(), done, strict=True), strict=True))


@pytest.mark.long
@pytest.mark.parametrize("kind", FAULTS)
def test_each_fault_by_itself(apart, bits, kind):
    site, done = apart[kind]
    for verb in APART:
        check_verb(verb, done[verb])
    check_kind(kind, done)
    if FAULTS[kind].spec:
        check_spec(kind, done[f"validate {namespace_of(kind)}.yaml"])
    assert done[RUN]["traceback"] == ""
    assert site.bits_of(done[RUN]["stdout"]) == bits
    assert distribution_of(kind) in shown_as(kind, FAULTS[kind]).replace("_", "-")
