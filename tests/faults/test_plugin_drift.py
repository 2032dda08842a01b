"""A plugin that was upgraded or uninstalled between a run and its continuation, and runs that insist on a lock."""

from __future__ import annotations

import importlib
import shutil
import sys
from pathlib import Path

import pytest
import torch

from ebmkit import open_run
from tests.cli.typed import ebmkit
from tests.planted import GENERATOR

SPEC = """\
ebmkit: 1
data: {use: two_moons, size: 64, test_size: 32}
model: {use: mlp, hidden: [4]}
objective: {use: bregman, noise: gaussian,
  generator: alpha.square}
train: {steps: 4, batch_size: 16}
"""

OPTIONS = ("--no-report", "--quiet")


class Site:
    """A folder of installed distributions, one of which is a plugin."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "spec.yaml").write_text(SPEC)
        self.runs = folder / "runs"

    def install(self, version: str, code: str = GENERATOR, distribution: str = "ebmkit-alpha") -> None:
        """As pip does: what was installed before is removed."""
        self.uninstall()
        (self.folder / "drifting_alpha.py").write_text(code)
        info = self.folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text("[ebmkit]\nalpha = drifting_alpha\n")
        importlib.invalidate_caches()

    def uninstall(self) -> None:
        """Everything that belongs to the plugin; each command of a user is a new process, which has not imported it."""
        for info in self.folder.glob("*.dist-info"):
            shutil.rmtree(info)
        for compiled in self.folder.glob("__pycache__/drifting_alpha.*"):
            compiled.unlink()
        (self.folder / "drifting_alpha.py").unlink(missing_ok=True)
        sys.modules.pop("drifting_alpha", None)
        importlib.invalidate_caches()

    def begin(self) -> Path:
        """A run that pauses after two steps."""
        ebmkit("run", str(self.folder / "spec.yaml"), "--max-steps", "2", "--runs-dir", str(self.runs), *OPTIONS)
        (folder,) = self.runs.glob("*/*")
        return folder

    def files(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in self.runs.rglob("*") if path.is_file()}


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("EBMKIT_DISABLE_PLUGINS", raising=False)
    site = Site(tmp_path)
    site.install("1.0")
    yield site
    site.uninstall()


CHANGED = GENERATOR.replace("return u * u", "return 2 * u * u")
WITHOUT_IT = GENERATOR.replace('"square"', '"cube"')


def test_an_upgraded_plugin_is_noticed_before_anything_is_written(site):
    run = site.begin()
    before = site.files()
    site.install("2.0", CHANGED)
    said = ebmkit("resume", str(run), *OPTIONS, status=3).stderr
    assert "E307" in said
    assert "plugins.alpha.version: 1.0 -> 2.0" in said
    assert "plugins.alpha.sha256: " in said
    assert "--allow-drift" in said
    assert site.files() == before

    site.install("1.0")
    ebmkit("resume", str(run), *OPTIONS)


def test_an_upgrade_that_drops_the_component_is_explained(site):
    run = site.begin()
    before = site.files()
    site.install("2.0", WITHOUT_IT)
    said = ebmkit("resume", str(run), *OPTIONS, status=2).stderr
    assert "unknown" in said
    assert "alpha.square" in said
    assert "its plugins have changed: plugins.alpha.version: 1.0 -> 2.0" in said
    assert site.files() == before


def test_an_uninstalled_plugin_is_explained(site):
    run = site.begin()
    before = site.files()
    site.uninstall()
    said = ebmkit("resume", str(run), *OPTIONS, status=3).stderr
    assert "resolved.yaml" in said  # at the line that needs it
    assert "no plugin 'alpha' is installed" in said
    assert "its plugins have changed: ebmkit-alpha 1.0 (plugin 'alpha') is not installed" in said
    assert "pip install" not in said  # the lock of a run folder is not trusted with the name of a package
    assert site.files() == before


def test_another_distribution_under_the_same_namespace_is_noticed(site):
    run = site.begin()
    site.install("1.0", distribution="ebmkit-impostor")
    said = ebmkit("resume", str(run), *OPTIONS, status=3).stderr
    assert "plugins.alpha.distribution: ebmkit-alpha -> ebmkit-impostor" in said


def test_what_other_code_finds_is_said_to_be_of_other_code(site):
    run = site.begin()
    ebmkit("resume", str(run), *OPTIONS)
    words = ("evaluate", str(run), "--metric", "energy_gap")
    assert "other code" not in ebmkit(*words).stderr
    site.install("2.0", CHANGED)
    said = ebmkit(*words).stderr
    assert "was made with other code of its plugins: plugins.alpha.version: 1.0 -> 2.0; plugins.alpha.sha256:" in said
    assert "other code of its plugins" in ebmkit("report", str(run)).stderr
    with pytest.warns(UserWarning, match="other code of its plugins"):
        open_run(run).model(torch.zeros(1, 2))


def test_other_failures_are_not_explained_by_plugins(site):
    run = site.begin()
    (run / "resolved.yaml").write_text("ebmkit: 1\nmodle: gaussian\n")
    assert "plugins have changed" not in ebmkit("resume", str(run), *OPTIONS, status=2).stderr


# --locked -------------------------------------------------------------------------------------------------------------


def locked(site: Site, lock: Path, *more: str, status: int = 0) -> str:
    words = ["run", str(site.folder / "spec.yaml"), "--locked", str(lock), "--max-steps", "1"]
    return ebmkit(*words, "--runs-dir", str(site.runs), *OPTIONS, *more, status=status).stderr


def test_a_locked_run_needs_the_same_plugins(site):
    run = site.begin()
    locked(site, run / "lock.yaml")
    locked(site, run)
    before = site.files()

    site.install("1.0.1", CHANGED + "\nraise SystemExit('it must not be imported')\n")
    said = locked(site, run, status=3)
    assert "E307" in said
    assert "plugins.alpha.version: 1.0 -> 1.0.1" in said
    assert "plugins.alpha.sha256: " in said
    assert "must not be imported" not in said

    site.install("1.0", CHANGED)
    said = locked(site, run, status=3)
    assert "plugins.alpha.sha256: " in said
    assert "version" not in said.replace("versions", "")

    site.uninstall()
    assert "ebmkit-alpha 1.0 (plugin 'alpha') is not installed" in locked(site, run, status=3)
    assert site.files() == before


def test_a_locked_run_needs_the_same_torch_and_ebmkit(site):
    lock = site.begin() / "lock.yaml"
    text = lock.read_text()
    other = site.folder / "other.yaml"
    other.write_text(text.replace('ebmkit-core: "', 'ebmkit-core: "9.').replace('torch: "', 'torch: "9.'))
    said = locked(site, other, status=3)
    assert "packages.ebmkit-core: 9." in said
    assert "packages.torch: 9." in said


def test_a_plugin_that_the_lock_lacks_is_refused(site):
    lock = site.begin() / "lock.yaml"
    content = lock.read_text().splitlines(keepends=True)
    start = next(number for number, line in enumerate(content) if line.startswith("plugins:"))
    end = next(n for n in range(start + 1, len(content)) if not content[n].startswith(" "))
    other = site.folder / "other.yaml"
    other.write_text("".join([*content[:start], *content[end:]]))
    said = locked(site, other, status=3)
    assert "plugins.alpha" in said
    assert "ebmkit-alpha" in said


def test_a_file_that_differs_from_the_lock_is_not_run(site):
    file = site.folder / "mine.py"
    file.write_text(GENERATOR)
    spec = site.folder / "spec.yaml"
    spec.write_text(SPEC.replace("alpha.square", "mine.square"))
    words = ["run", str(spec), "--max-steps", "2", "--runs-dir", str(site.runs), "--plugin", str(file), *OPTIONS]
    ebmkit(*words)
    (run,) = site.runs.glob("*/*")
    locked(site, run, "--plugin", str(file))
    assert "the file 'mine.py' is not given with --plugin" in locked(site, run, status=3)
    file.write_text("raise SystemExit('it must not be run')\n")
    said = locked(site, run, "--plugin", str(file), status=3)
    assert "plugins.mine.sha256: " in said
    assert "must not be run" not in said


def test_a_damaged_lock_is_refused(site, tmp_path):
    (tmp_path / "lock.yaml").write_text("- 7\n")
    assert "damaged" in locked(site, tmp_path / "lock.yaml", status=5)
