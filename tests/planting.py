"""Bugs planted in memory: a module is loaded with a piece of its code replaced, and everything that imports it anew.

    with planted("components/samplers/hmc.py", "eps = state.step_size", "eps = 2 * state.step_size"):
        import_module("tests.statistics.test_continuous_samplers").test_the_target_is_stationary("hmc", "plane")

What is replaced is found as code, however it is formatted (see `swap.py`). No file is written. After the block every
module is the one that it was before. A proof is a test of this repository with one of its cases: it catches a bug by
failing.
"""

import ast
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

import pytest

from tests.swap import NotOnce, swapped

PACKAGE = Path(find_spec("ebmkit").submodule_search_locations[0])
TESTS = Path(__file__).parent
#: Folders of tests that serve as proofs.
PROOFS = ("chains", "components", "engine", "maths", "statistics")
#: How a proof fails.
FAILED = AssertionError, pytest.fail.Exception


class Planted(NamedTuple):
    """A change of one place of the package, and which proofs look at it."""

    name: str
    looked_at_by: str
    file: str
    old: str
    new: str


class Proof(NamedTuple):
    """Something that was shown, at a false-alarm rate of at most 1e-6."""

    module: str
    run_in: Callable[[ModuleType], None]
    #: It compares numbers with those of the documented algorithm: another algorithm of the same law fails too.
    to_the_letter: bool = False
    name: str = ""

    def run(self) -> None:
        self.run_in(import_module(self.module))


def proof(module: str, function: str, *arguments: Any, to_the_letter: bool = False) -> Proof:
    """A test, of a module below `tests`, and its arguments: functions are called with the module, for what it holds."""

    def run_in(loaded: ModuleType) -> None:
        getattr(loaded, function)(*(given(loaded) if callable(given) else given for given in arguments))

    return Proof(f"tests.{module}", run_in, to_the_letter, f"{module}.{function}")


def name_of(plant: Planted) -> str:
    return f"{plant.looked_at_by}: {plant.name}"


def caught(bug: Planted, proofs: Iterable[Proof]) -> Proof | None:
    """The first proof that fails. Any other error is one of the table: code that breaks down needs no proof."""
    with planted(bug.file, bug.old, bug.new):
        for each in proofs:
            try:
                each.run()
            except FAILED:
                return each
    return None


def in_step(plant: Planted) -> None:
    """Fail if the place that a plant changes is no longer there, or if what it is changed to is no Python."""
    compile(with_bug(plant.file, plant.old, plant.new), plant.file, "exec")


def with_bug(file: str, old: str, new: str) -> str:
    """The text of a file of the package with `new` in the place of `old`."""
    try:
        return swapped((PACKAGE / file).read_text(encoding="utf-8"), old, new)
    except NotOnce as error:
        raise NotOnce(f"{file}: {error}") from None


@contextmanager
def planted(file: str, old: str, new: str) -> Iterator[None]:
    """The package and its proofs with `new` in the place of `old`, which occurs once in `file`."""
    source = with_bug(file, old, new)
    name = modules_by_path()[PACKAGE / file]
    affected = importers(name)
    before = {each: sys.modules[each] for each in affected if each in sys.modules}
    finder = Planter(name, PACKAGE / file, source)
    _forget(affected)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        _forget(affected)
        sys.modules.update(before)
        for each, module in before.items():
            parent, _, child = each.rpartition(".")
            if parent:
                setattr(sys.modules[parent], child, module)


def _forget(modules: Iterable[str]) -> None:
    """As if they had never been imported: packages keep their modules as attributes too."""
    for each in modules:
        sys.modules.pop(each, None)
        parent, _, child = each.rpartition(".")
        if parent in sys.modules:
            vars(sys.modules[parent]).pop(child, None)


class Planter(MetaPathFinder, InspectLoader):
    """Finds and loads one module, with a text that no file has. Compiled code is not kept either."""

    def __init__(self, name: str, path: Path, source: str) -> None:
        self.name, self.path, self.source = name, path, source

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        return spec_from_file_location(fullname, self.path, loader=self) if fullname == self.name else None

    def get_source(self, fullname: str) -> str:
        return self.source

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.source, f"{self.path} with a bug in it")


# Who imports whom -----------------------------------------------------------------------------------------------------


@cache
def modules_by_path() -> dict[Path, str]:
    """Every module of the package and of its proofs, by file."""
    found = {path: _dotted(path.relative_to(PACKAGE.parent)) for path in PACKAGE.rglob("*.py")}
    for path in (path for folder in PROOFS for path in (TESTS / folder).rglob("*.py")):
        found[path] = _dotted(path.relative_to(TESTS.parent))
    return {path: name for path, name in found.items() if path.stem != "conftest"}


def _dotted(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


@cache
def importers(name: str) -> frozenset[str]:
    """A module and all that import it, themselves or through others. Imports inside functions find what is there."""
    found, new = {name}, {name}
    while new:
        new = {each for each, imported in imports().items() if imported & new} - found
        found |= new
    return frozenset(found)


@cache
def imports() -> dict[str, set[str]]:
    """What every module imports when it is loaded."""
    return {
        name: set(_imported(ast.parse(path.read_text("utf-8")), path.parent))
        for path, name in modules_by_path().items()
    }


def _imported(node: ast.AST, folder: Path) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import(names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                if level:  # relative to a folder of tests: the package has no such import
                    above = _dotted([folder, *folder.parents][level - 1].relative_to(TESTS.parent))
                    module = f"{above}.{module}" if module else above
                yield module
                yield from (f"{module}.{alias.name}" for alias in names)
            case ast.FunctionDef() | ast.If(test=ast.Name("TYPE_CHECKING")):
                pass
            case _:
                yield from _imported(child, folder)
