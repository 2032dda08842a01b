"""What installed plugins offer is known without running their code in this process, and with few imports elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ebmkit.registry import separate_process
from ebmkit.registry.catalogue import Broken, Catalogue
from ebmkit.registry.listing import Listing
from ebmkit.registry.listing_cache import MOST_FILES, installed_set
from tests.cli.typed import ebmkit
from tests.planted import GENERATOR

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    _forget_plugins()  # another test may have imported the same code from elsewhere
    yield tmp_path / "cache" / "ebmkit" / "plugins"
    _forget_plugins()


def _forget_plugins() -> None:
    for name in [name for name in sys.modules if name.startswith("planted_")]:
        del sys.modules[name]


@pytest.fixture
def imports(monkeypatch) -> list[list[str]]:
    """The plugins that were imported in another process, call by call."""
    calls = []
    apart = separate_process.imported_apart

    def counted(namespaces):
        calls.append(list(namespaces))
        return apart(namespaces)

    monkeypatch.setattr(separate_process, "imported_apart", counted)
    return calls


def names(listing: Listing) -> list[str]:
    found = listing.catalogues()
    return [each.name for known in found.values() if isinstance(known, Catalogue) for each in known.components]


def test_a_plugin_is_imported_once_and_in_another_process(install, imports):
    module = install("alpha", GENERATOR)
    assert names(Listing()) == ["square"]
    assert names(Listing()) == ["square"]
    assert imports == [["alpha"]]
    assert module not in sys.modules


def test_what_is_kept_equals_what_the_code_says(install):
    from ebmkit.registry.description import describe
    from ebmkit.registry.loading import Plugins

    fields = "eps: float = 0.5\n    tags: tuple[str, ...] = ()\n    must: int"
    code = GENERATOR.replace("def psi", f"{fields}\n\n    def psi")
    install("alpha", code)
    for _ in range(2):  # from the process, from the cache
        (described,) = Listing().catalogues()["alpha"].components
        assert described.description == describe(Plugins().load("alpha").components[0])


def test_code_that_changes_is_looked_at_again(install, imports, tmp_path):
    module = install("alpha", GENERATOR)
    names(Listing())
    (tmp_path / f"{module}.py").write_text(GENERATOR.replace('"square"', '"cube"'))
    assert names(Listing()) == ["cube"]
    assert imports == [["alpha"], ["alpha"]]


def test_only_what_is_wanted_and_unknown_is_imported(install, imports):
    install("alpha", GENERATOR)
    install("beta", GENERATOR + "\n# another")
    Listing().catalogues(["beta"])
    assert imports == [["beta"]]
    names(Listing())
    assert imports == [["beta"], ["alpha"]]


def test_any_installation_looks_again(install, imports):
    """A plugin may depend on what was installed."""
    install("alpha", "import no_such_module_yet")
    assert isinstance(Listing().catalogues()["alpha"], Broken)
    assert isinstance(Listing().catalogues()["alpha"], Broken)
    assert imports == [["alpha"]]
    install("beta", GENERATOR)
    assert isinstance(Listing().catalogues(["alpha"])["alpha"], Broken)
    assert imports == [["alpha"], ["alpha"]]


def test_the_set_of_what_is_installed_notices_files_settings_and_folders(install, tmp_path, monkeypatch):
    seen = {installed_set()}
    install("alpha", GENERATOR)
    seen.add(installed_set())
    metadata = tmp_path / "ebmkit_alpha-1.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text() + "Requires-Dist: torch\n")
    seen.add(installed_set())
    monkeypatch.setenv("EBMKIT_DISABLE_PLUGINS", "alpha")
    seen.add(installed_set())
    monkeypatch.syspath_prepend(tmp_path / "elsewhere")
    seen.add(installed_set())
    assert len(seen) == 5
    assert installed_set() in seen


@pytest.mark.parametrize("content", ["", "[]", '{"plugins": 7}', '{"plugins": {"alpha": 7}}', "[" * 100_000])
def test_a_damaged_cache_is_made_again(install, own_cache, content):
    install("alpha", GENERATOR)
    names(Listing())
    (file,) = own_cache.glob("*.json")
    file.write_text(content)
    assert names(Listing()) == ["square"]
    assert json.loads(file.read_text())["plugins"]["alpha"]


def test_a_damaged_entry_is_made_again(install, own_cache, imports):
    install("alpha", GENERATOR)
    names(Listing())
    (file,) = own_cache.glob("*.json")
    content = json.loads(file.read_text())
    content["plugins"]["alpha"]["known"]["components"][0]["schema"] = []
    file.write_text(json.dumps(content))
    assert names(Listing()) == ["square"]
    assert len(imports) == 2


def test_without_a_place_for_a_cache_everything_works(install, own_cache, imports):
    own_cache.parent.parent.write_text("a file, so no folder can be made")
    install("alpha", GENERATOR)
    assert names(Listing()) == names(Listing()) == ["square"]
    assert len(imports) == 2


def test_old_files_are_deleted(install, own_cache, tmp_path):
    own_cache.mkdir(parents=True)
    for number in range(MOST_FILES + 5):
        (own_cache / f"{number}.json").write_text("{}")
        os.utime(own_cache / f"{number}.json", (number, number))
    install("alpha", GENERATOR)
    names(Listing())
    left = {path.name for path in own_cache.iterdir()}
    assert len(left) == MOST_FILES
    assert "0.json" not in left


def test_a_plugin_that_is_turned_off_is_not_imported(install, imports, monkeypatch):
    install("alpha", "raise SystemExit(1)")
    monkeypatch.setenv("EBMKIT_DISABLE_PLUGINS", "1")
    assert Listing().catalogues() == {}
    assert Listing().plugins["alpha"].disabled
    assert imports == []


def test_listed_components_can_be_used(install):
    from ebmkit.registry.loading import Plugins
    from ebmkit.registry.registry import Registry

    module = install("alpha", GENERATOR)
    registry = Registry(Plugins())
    registry.describe(Listing())
    (entry,) = [entry for entry in registry.entries("bregman") if entry.plugin == "alpha"]
    assert (entry.name, entry.summary) == ("alpha.square", "psi(u) = u^2.")
    assert module not in sys.modules
    assert entry.cls is registry.find("bregman", "alpha.square")
    assert module in sys.modules


MODULES = """
import sys
from ebmkit.cli import group
try:
    group({words!r}, prog_name="ebmkit")
except SystemExit as end:
    assert end.code == 0, end.code
print("IMPORTED", sorted(name for name in sys.modules if name.startswith("planted_")))
"""


@pytest.mark.parametrize(
    "words",
    [["list"], ["show", "bregman", "alpha.square"], ["plugins"], ["validate", "quickstart"]],
    ids=" ".join,
)
def test_verbs_import_no_plugin(install, tmp_path, words):
    install("alpha", GENERATOR)
    install("beta", GENERATOR + "\n# another")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    program = [sys.executable, "-c", MODULES.format(words=words)]
    for _ in range(2):
        done = subprocess.run(program, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.splitlines()[-1] == "IMPORTED []"


def test_a_spec_that_names_one_plugin_imports_one(install, tmp_path):
    modules = [install(name, f"{GENERATOR}\n# {name}") for name in ("alpha", "beta", "gamma")]
    spec = tmp_path / "spec.yaml"
    spec.write_text("ebmkit: 1\ndata: two_moons\nmodel: mlp\nobjective: {use: bregman, generator: beta.square}\n")
    ebmkit("validate", str(spec), "--set", "train.steps=1")
    assert [module in sys.modules for module in modules] == [False, True, False]


def test_schema_and_completion_know_installed_plugins(install):
    from click.shell_completion import BashComplete

    from ebmkit.cli import group

    install("alpha", GENERATOR.replace("def psi", "eps: float = 0.5\n\n    def psi"))
    bregman = json.loads(ebmkit("schema").stdout)["$defs"]["bregman"]
    assert {"const": "alpha.square", "title": "alpha.square", "description": "psi(u) = u^2."} in bregman["anyOf"]
    (when,) = [each for each in bregman["then"]["allOf"] if each["if"]["properties"]["use"]["const"] == "alpha.square"]
    assert when["then"]["properties"]["eps"]["type"] == "number"
    complete = BashComplete(group, {}, "ebmkit", "_EBMKIT_COMPLETE")
    assert [item.value for item in complete.get_completions(["show", "bregman"], "al")] == ["alpha.square"]
