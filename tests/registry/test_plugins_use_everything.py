"""Together the packages in `plugins/` have a component of every kind and implement every hook: each is a door that some
package is seen to use. Their sources are read, not imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from ebmkit.contracts.kinds import KINDS
from ebmkit.registry import hookspecs

ROOT = Path(__file__).parents[2]
HOOKS = {name for name in vars(hookspecs) if name.startswith("ebmkit_")}


def trees(package: Path) -> list[ast.Module]:
    return [ast.parse(file.read_text()) for file in sorted(package.glob("src/**/*.py"))]


def decorated(nodes: Iterator[ast.AST], by: str) -> list[ast.ClassDef | ast.FunctionDef]:
    """Classes and functions with a decorator of this name, called or not."""
    found = [node for node in nodes if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    return [node for node in found if by in {ast.unparse(each).partition("(")[0] for each in node.decorator_list}]


def kinds_of(package: list[ast.Module]) -> set[str]:
    """The kinds of its components, also of those that inherit from a class of the package."""
    nodes = [node for tree in package for node in ast.walk(tree)]
    bases = {node.name: [ast.unparse(base) for base in node.bases] for node in nodes if isinstance(node, ast.ClassDef)}
    names = {kind.__name__: name for name, kind in KINDS.items()}

    def kind_of(name: str) -> str | None:
        return names.get(name) or next(filter(None, map(kind_of, bases.get(name, []))), None)

    return {kind_of(node.name) or "unknown" for node in decorated(iter(nodes), "component")}


def hooks_of(package: list[ast.Module]) -> set[str]:
    return {node.name for tree in package for node in decorated(ast.walk(tree), "hookimpl")}


PACKAGES = [trees(file.parent) for file in sorted(ROOT.glob("plugins/*/pyproject.toml"))]


@pytest.mark.parametrize("kind", KINDS)
def test_a_package_has_a_component_of_this_kind(kind):
    assert [package for package in PACKAGES if kind in kinds_of(package)]


def test_the_kind_of_every_component_is_found():
    assert "unknown" not in set().union(*map(kinds_of, PACKAGES))


@pytest.mark.parametrize("hook", sorted(HOOKS))
def test_a_package_implements_this_hook(hook):
    assert [package for package in PACKAGES if hook in hooks_of(package)]


def test_what_is_not_used_would_be_noticed():
    without = [ast.parse("class Mine(Sampler): ...\n@component('a')\nclass B(Base): ...\nclass Base(Noise): ...")]
    assert kinds_of(without) == {"noise"}
    assert not hooks_of([ast.parse("def ebmkit_commands(): ...")])
    assert len(HOOKS) == 7
