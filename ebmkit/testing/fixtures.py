"""Fixtures of pytest for authors of plugins. In the `conftest.py` next to your tests:

    pytest_plugins = ["ebmkit.testing.fixtures"]

They are not registered by an entry point of pytest: it would import ebmkit, and with it torch, in every test session of
an environment in which ebmkit is installed, also in those of other projects.

`run_spec(text)` runs a spec and gives an `ebmkit.open_run`, `expect_mistake(text, code="E103", line=4)` checks that a
spec is wrong at a line, `load_plugin(source)` loads a plugin that is not installed.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

import ebmkit
from ebmkit.errors.base import EbmkitError, Mistakes
from ebmkit.registry.given import PluginsGiven, listed
from ebmkit.registry.loading import Plugins

if TYPE_CHECKING:
    from ebmkit.contracts.component import Component
    from ebmkit.experiment import Run

__all__ = ["SourcePlugin", "expect_mistake", "load_plugin", "run_spec", "spec_plugins"]


class SourcePlugin:
    """A plugin that was loaded from its source, without being installed. It can be passed as `plugins=[plugin]`."""

    def __init__(self, path: Path, components: Sequence[type[Component]]) -> None:
        self.path = path
        #: The classes by their names in specs, without the namespace.
        self.components = {cls.component_name: cls for cls in components}

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"SourcePlugin({str(self.path)!r}: {', '.join(self.components)})"


class RunSpec(Protocol):
    """The fixture `run_spec`."""

    def __call__(self, spec: str | Path, *, sets: Sequence[str] = (), plugins: PluginsGiven = ()) -> Run: ...


class ExpectMistake(Protocol):
    """The fixture `expect_mistake`."""

    def __call__(
        self,
        spec: str | Path,
        *,
        code: str,
        line: int | None = None,
        says: str = "",
        plugins: PluginsGiven = (),
    ) -> EbmkitError: ...


class LoadPlugin(Protocol):
    """The fixture `load_plugin`."""

    def __call__(self, source: str | Path, name: str = "mine") -> SourcePlugin: ...


@pytest.fixture
def spec_plugins() -> PluginsGiven:
    """What every spec of `run_spec` and `expect_mistake` may use in addition to installed plugins.

    Override it to return `[Path(__file__).parents[1]]`, the folder of your package, if tests run without installing it.
    """
    return ()


@pytest.fixture
def run_spec(tmp_path: Path, spec_plugins: PluginsGiven) -> RunSpec:
    """Run a spec, a text or a path, in an empty folder and open its run. `sets` are those of `--set`."""

    def run_spec(spec: str | Path, *, sets: Sequence[str] = (), plugins: PluginsGiven = ()) -> Run:
        given = _joined(spec_plugins, plugins)
        plan = ebmkit.load_spec(_file(spec, tmp_path), sets=sets, plugins=given)
        record = ebmkit.run(plan, runs_dir=tmp_path / "runs", report=False)
        return ebmkit.open_run(record.folder, plugins=given)

    return run_spec


@pytest.fixture
def expect_mistake(tmp_path: Path, spec_plugins: PluginsGiven) -> ExpectMistake:
    """Check that a spec has a mistake with this code, at a line and with words if they are given, and return it. The
    first line of a text that begins with a line break is the next one."""

    def expect_mistake(
        spec: str | Path,
        *,
        code: str,
        line: int | None = None,
        says: str = "",
        plugins: PluginsGiven = (),
    ) -> EbmkitError:
        __tracebackhide__ = True
        try:
            ebmkit.load_spec(_file(spec, tmp_path), plugins=_joined(spec_plugins, plugins))
        except Mistakes as found:
            fitting = (each for each in found.mistakes if _fits(each, code, line, says))
            if (mistake := next(fitting, None)) is not None:
                return mistake
            pytest.fail(f"expected {_expectation(code, line, says)}, but found:\n{found}")
        pytest.fail(f"expected {_expectation(code, line, says)}, but the spec is right")

    return expect_mistake


@pytest.fixture
def load_plugin(tmp_path: Path) -> LoadPlugin:
    """Load a plugin from its code, from a file or from the folder of a package, without installing it. The namespace of
    code is `name`."""

    def load_plugin(source: str | Path, name: str = "mine") -> SourcePlugin:
        path = source
        if not isinstance(path, Path):
            path = tmp_path / f"{name}.py"
            path.write_text(textwrap.dedent(str(source)), encoding="utf-8")
        loaded = Plugins([path]).loaded.values()
        return SourcePlugin(path, [cls for each in loaded for cls in each.components])

    return load_plugin


def _file(spec: str | Path, folder: Path) -> Path:
    """The file of a spec; that of a text is written."""
    if isinstance(spec, Path):
        return spec
    path = folder / "spec.yaml"
    path.write_text(textwrap.dedent(spec).removeprefix("\n"), encoding="utf-8")
    return path


def _joined(some: PluginsGiven, more: PluginsGiven) -> PluginsGiven:
    """Both, without namespaces unless only one of them has any."""
    if not some or not more:
        return more or some
    return [one for given in (some, more) for _, one in listed(given)]


def _fits(mistake: EbmkitError, code: str, line: int | None, says: str) -> bool:
    at = mistake.place.line if mistake.place else None
    words = " ".join((mistake.message, mistake.label, mistake.help))
    return mistake.code == code and line in (None, at) and says in words


def _expectation(code: str, line: int | None, says: str) -> str:
    place, words = f" at line {line}" if line else "", f" with the words {says!r}" if says else ""
    return f"the mistake {code}{place}{words}"
