"""The rooms of ebmkit have one-way doors: a file imports from its own room and from earlier ones only.

Every import counts, those inside functions and those for type checkers too. One door is a name and not an import: the
registry loads built-in components by name, as it does those of plugins (`registry/builtin.py`).
"""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "ebmkit"

#: From the ground up. Rooms in one row do not know each other.
ORDER = (
    ("errors",),
    ("contracts",),
    ("registry",),
    ("storage", "diagnostics"),
    ("chains",),
    ("maths",),
    ("components",),
    ("language",),
    ("engine",),
    ("report",),
    ("suggest",),
    ("store",),
    ("experiment",),
    ("energy_samples",),
    ("testing", "scaffold"),
    ("cli",),
    ("api", "__init__", "__main__"),
)
RANK = {room: rank for rank, rooms in enumerate(ORDER) for room in rooms}

FILES = sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported_rooms(source: str) -> list[tuple[int, str]]:
    """Line and room of every import of ebmkit in a file."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            raise AssertionError(f"line {node.lineno}: imports are absolute")
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found += [(node.lineno, name.split(".")[1]) for name in names if name.startswith("ebmkit.")]
    return found


def forbidden(room: str, source: str) -> list[str]:
    """The imports of a file in `room` that lead to its own rank or above it."""
    return [
        f"line {line} imports from {other}"
        for line, other in imported_rooms(source)
        if other != room and other in RANK and RANK[other] >= RANK[room]
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_doors_open_one_way(path):
    assert forbidden(room_of(path), path.read_text(encoding="utf-8")) == []


def test_every_room_has_its_place_in_the_order():
    assert {room_of(path) for path in FILES} == set(RANK)


@pytest.mark.parametrize(
    "source",
    [
        "from ebmkit.engine.session import run",
        "from ebmkit import engine",
        "import ebmkit.report.page",
        "def f():\n    from ebmkit.language.plan import Plan",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ebmkit.cli import group",
    ],
)
def test_a_forbidden_import_is_noticed(source):
    assert forbidden("components", source)
    assert not forbidden("api", source)


# What is easy to read ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_files_and_functions_are_short(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 300
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno - node.lineno < 45, f"{node.name} has {node.end_lineno - node.lineno + 1} lines"
