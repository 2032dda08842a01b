"""A package with a manifest is listed, shown and completed without running any of its code."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ebmkit.errors import EbmkitError
from ebmkit.registry import separate_process
from ebmkit.registry.catalogue import Broken, Malformed
from ebmkit.registry.listing import Listing
from ebmkit.registry.loading import Plugins
from ebmkit.registry.manifest import manifest_file, read_manifest, verify, write_manifest
from tests.cli.typed import ebmkit
from tests.planted import GENERATOR

HOOK = '\n@hookimpl\ndef ebmkit_run_started(view, folder):\n    """Does nothing."""\n'
CODE = GENERATOR.replace("def psi", "eps: float = 0.5\n\n    def psi") + HOOK


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield
    for name in [name for name in sys.modules if name.startswith("planted_")]:
        del sys.modules[name]  # another test may install the same code elsewhere


@pytest.fixture
def no_import(monkeypatch) -> None:
    """Fails if a plugin is imported anywhere."""

    def refuse(namespaces):
        raise AssertionError(f"{namespaces} would be imported")

    monkeypatch.setattr(separate_process, "imported_apart", refuse)


def package(install, tmp_path: Path, code: str = CODE) -> Path:
    """A package `alpha` of two files; its code."""
    module = install("alpha", None)
    init = tmp_path / module / "__init__.py"
    init.write_text(code)
    (init.parent / "more.py").write_text("factor = 1\n")
    return init


def forget(init: Path) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == init.parent.name]:
        del sys.modules[name]


def test_verbs_run_no_code_of_a_package_with_a_manifest(install, tmp_path, no_import):
    init = package(install, tmp_path)
    ebmkit("plugins", "manifest", "alpha", "--write")
    forget(init)
    assert "alpha.square" in ebmkit("list", "bregman").stdout
    assert "eps: a number; default 0.5" in ebmkit("show", "bregman", "alpha.square").stdout
    assert "alpha.square" in ebmkit("schema").stdout
    assert "ebmkit-alpha 1.0  installed, 1 component" in ebmkit("plugins").stdout
    said = ebmkit("plugins", "why", "alpha").stdout
    assert "its manifest, which fits the installed code; nothing of it was imported" in said
    assert "ebmkit_run_started" in said
    assert init.parent.name not in sys.modules


def test_the_manifest_says_what_the_code_says(install, tmp_path, no_import):
    from ebmkit.registry.description import describe

    init = package(install, tmp_path)
    loaded = Plugins().load_whole("alpha")
    file = write_manifest(loaded, {("bregman", "square"): ["convex", "finite"]})
    assert file == manifest_file(init) == init.parent / "ebmkit-plugin.json"
    (described,) = Listing().catalogues()["alpha"].components
    assert described.description == describe(loaded.components[0])
    assert described.laws == ("convex", "finite")
    assert verify(loaded) == []
    write_manifest(loaded)  # the laws of a manifest that fits stay
    assert read_manifest(file).catalogue.components[0].laws == ("convex", "finite")


def test_a_module_has_its_manifest_next_to_it(install, tmp_path, no_import):
    module = install("alpha", CODE)
    assert write_manifest(Plugins().load_whole("alpha")) == tmp_path / f"{module}.ebmkit-plugin.json"
    assert Listing().catalogues()["alpha"].hooks == ("ebmkit_run_started",)


def test_a_manifest_of_other_code_is_ignored_and_one_line_says_so(install, tmp_path):
    init = package(install, tmp_path)
    ebmkit("plugins", "manifest", "alpha", "--write")
    (init.parent / "more.py").write_text("factor = 2\n")
    forget(init)
    note = "note: the manifest of plugin 'alpha' (ebmkit-alpha) is ignored, because it describes other code"
    for _ in range(2):  # also when the import is in the cache
        done = ebmkit("list", "bregman")
        assert "alpha.square" in done.stdout
        assert [line.startswith(note) for line in done.stderr.splitlines()] == [True]
    said = ebmkit("plugins", "manifest", "alpha", status=3).stderr
    assert "the manifest describes other code: its sha256 differs" in said
    assert "ebmkit plugins manifest alpha --write" in said
    ebmkit("plugins", "manifest", "alpha", "--write")
    assert ebmkit("list", "bregman").stderr == ""
    assert "the manifest fits the code" in ebmkit("plugins", "manifest", "alpha").stdout


def edited(file: Path, **changes: object) -> None:
    content = json.loads(file.read_text())
    content.update(changes)
    file.write_text(json.dumps(content))


def test_a_manifest_that_claims_what_the_code_is_not_is_found_by_comparison(install, tmp_path):
    package(install, tmp_path)
    loaded = Plugins().load_whole("alpha")
    file = write_manifest(loaded)
    (component,) = json.loads(file.read_text())["components"]
    edited(file, components=[component | {"summary": "the best"}, component | {"name": "cube"}], hooks=[])
    assert verify(loaded) == [
        "the manifest has bregman 'cube', which the code does not offer",
        "bregman 'square' differs from the manifest in summary",
        "the hooks differ from those of the manifest",
    ]
    edited(file, components=[])
    assert verify(loaded)[0] == "the manifest lacks bregman 'square'"
    file.unlink()
    assert verify(loaded) == ["it has no manifest: ebmkit-plugin.json is missing"]


def test_another_api_is_known_without_an_import(install, tmp_path, no_import):
    package(install, tmp_path)
    edited(write_manifest(Plugins().load_whole("alpha")), api=99)
    assert Listing().catalogues()["alpha"] == Broken("it was written for plugin API 99, but this ebmkit has API 1")


COMPONENT = {
    "kind": "bregman", "name": "a", "summary": "", "body": "", "reference": "", "example": "", "results": {},
    "parameters": [], "abilities": [], "schema": {"properties": {}},
}  # fmt: skip
WHOLE = {"format": 1, "api": 1, "sha256": "0", "components": [COMPONENT], "hooks": []}


def wrong(**changes: object) -> str:
    return json.dumps({**WHOLE, "components": [{**COMPONENT, **changes}]})


MALFORMED = {
    "no JSON": "{",
    "too deep": "[" * 100_000,
    "a list": "[]",
    "another format": json.dumps({**WHOLE, "format": 2}),
    "no hash": json.dumps({**WHOLE, "sha256": None}),
    "an API that is a truth value": json.dumps({**WHOLE, "api": True}),
    "components that are no list": json.dumps({**WHOLE, "components": {}}),
    "too many components": json.dumps({**WHOLE, "components": [COMPONENT] * 1001}),
    "one component twice": json.dumps({**WHOLE, "components": [COMPONENT] * 2}),
    "hooks that are no names": json.dumps({**WHOLE, "hooks": [1]}),
    "an unknown kind": wrong(kind="thing"),
    "a name with an escape": wrong(name="a\x1b[31m"),
    "a summary that is no text": wrong(summary=7),
    "results that are no text": wrong(results={"a": 7}),
    "a parameter that is no mapping": wrong(parameters=["a"]),
    "a parameter without a type": wrong(parameters=[{"name": "a", "meaning": ""}]),
    "a schema without properties": wrong(schema={}),
    "laws that are no names": wrong(laws=[None]),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_a_malformed_manifest_is_refused(tmp_path, kind):
    file = tmp_path / "ebmkit-plugin.json"
    file.write_text(json.dumps(WHOLE))
    read_manifest(file)
    file.write_text(MALFORMED[kind])
    with pytest.raises(Malformed):
        read_manifest(file)


def test_a_malformed_manifest_is_ignored_and_one_line_says_so(install, tmp_path):
    init = package(install, tmp_path)
    manifest_file(init).write_text("{")
    done = ebmkit("list", "bregman")
    assert "alpha.square" in done.stdout
    assert "(ebmkit-alpha) is ignored, because it cannot be read: it is not JSON" in done.stderr


def test_a_plugin_with_mistakes_gets_no_manifest(install, tmp_path):
    init = package(install, tmp_path, CODE + CODE.replace('"square"', '"Loud"').replace("class Square", "class Loud"))
    with pytest.raises(EbmkitError, match="has mistakes"):
        write_manifest(Plugins().load_whole("alpha"))
    assert not manifest_file(init).exists()


def test_a_file_by_its_path(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(CODE)
    said = ebmkit("plugins", "manifest", str(file), status=3).stderr
    assert "it has no manifest: mine.ebmkit-plugin.json is missing" in said
    ebmkit("plugins", "manifest", str(file), "--write")
    assert "fits the code" in ebmkit("plugins", "manifest", str(file)).stdout
