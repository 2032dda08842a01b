"""Code is replaced as code: how a file is formatted changes nothing, and what is not found once is refused."""

import ast
import subprocess
import sys

import pytest

from tests.components.objectives.test_planted_bugs import AS_RIGHT
from tests.components.objectives.test_planted_bugs import BUGS as OF_OBJECTIVES
from tests.components.samplers.test_planted_bugs import BUGS as OF_SAMPLERS
from tests.components.samplers.test_planted_bugs import SAME_LAW
from tests.planting import PACKAGE
from tests.swap import NotOnce, swapped

PLANTS = [*OF_SAMPLERS, *SAME_LAW, *OF_OBJECTIVES, *AS_RIGHT]

SOURCE = '''
def f(x, n=1):
    """Words."""
    for i in range(n):
        x = (x + 1) * 2  # why
        x.add_("one", key='two')
    if x:
        return x, n
    return f(x, n)
'''


def reformatted(source: str) -> str:
    """Narrow lines, the other quotes, and no comments."""
    narrow = ["--line-length", "44", "--config", "format.quote-style='single'", "--isolated", "-"]
    command = [sys.executable, "-m", "ruff", "format", *narrow]
    text = ast.unparse(ast.parse(source))
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def same(one: str, other: str) -> bool:
    return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))


@pytest.mark.parametrize("file", sorted({plant.file for plant in PLANTS}))
def test_every_planted_bug_survives_reformatting(file):
    source = (PACKAGE / file).read_text(encoding="utf-8")
    other = reformatted(source)
    assert other != source
    for plant in PLANTS:
        if plant.file == file:
            assert same(swapped(other, plant.old, plant.new), swapped(source, plant.old, plant.new)), plant.name


@pytest.mark.parametrize(
    ("old", "new", "text_old", "text_new"),
    [
        ("((x+1)*2)", "x * 2", "(x + 1) * 2", "x * 2"),
        ("x + 1", "x - 1", "x + 1", "x - 1"),
        ("x.add_('one', key=\n 'two',)", "pass", "x.add_(\"one\", key='two')", "pass"),
        ("return x, n", "return (n, x)", "x, n\n", "n, x\n"),
        ("for i in range(n): ...", "for i in range(n + 1): ...", "range(n)", "range(n + 1)"),
        ("if x: ...", "if not x: ...", "if x", "if not x"),
        ("def f(x, n=1): ...", "def f(x, n=2): ...", "n=1", "n=2"),
        (
            "x = (x + 1) * 2\nx.add_('one', key='two')",
            "x = 0",
            "x = (x + 1) * 2  # why\n        x.add_(\"one\", key='two')",
            "x = 0",
        ),
    ],
)
def test_what_is_replaced(old, new, text_old, text_new):
    assert SOURCE.count(text_old) == 1
    assert same(swapped(SOURCE, old, new), SOURCE.replace(text_old, text_new))


@pytest.mark.parametrize(
    ("old", "times"),
    [
        ("x", 5),
        ("y", 0),
        ("x + 2", 0),
        ("'Word.'", 0),
        ("return x", 0),
        ("for j in range(n): ...", 0),
        ("for i in range(n): pass", 0),
        ("x = (x + 1) * 2\nreturn x, n", 0),
    ],
)
def test_what_does_not_stand_there_once_is_refused(old, times):
    with pytest.raises(NotOnce, match=f"occurs {times} times"):
        swapped(SOURCE, old, "0")
