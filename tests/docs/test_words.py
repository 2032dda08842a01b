"""The words of CONTRIBUTING's list do not come back: docstrings, comments, messages and pages are in plain English."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: Pages with prose. Decisions are dated documents and keep their words; the rest of `docs/` is generated from runs.
PAGES = (
    "README.md",
    "SECURITY.md",
    "docs/boltzmann.md",
    "docs/commands.md",
    "docs/control-variate.md",
    "docs/devices.md",
    "docs/objectives-cost.md",
    "docs/objectives.md",
    "docs/plugins/engine.md",
    "docs/plugins/trust.md",
    "docs/python.md",
    "docs/samplers-cost.md",
    "docs/samplers.md",
    "docs/scores-cost.md",
    "docs/scores.md",
    "docs/spec.md",
)
#: Right uses: (file, words around the hit) and why.
RIGHT: dict[tuple[str, str], str] = {}


def avoided():
    """The left column of the table."""
    table = (ROOT / "CONTRIBUTING.md").read_text().partition("| avoid | use |\n")[2].partition("\n\n")[0]
    rows = [line.split("|")[1] for line in table.splitlines()[1:]]
    return [phrase.strip() for row in rows for phrase in row.split(",")]


#: A phrase may be broken over two lines.
PATTERN = re.compile(r"\b(" + "|".join(r"\s+".join(phrase.split()) for phrase in avoided()) + r")\b", re.IGNORECASE)


def prose(code):
    """Line numbers and texts of the comments and strings of Python code."""
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def hits(text):
    return [text[max(0, found.start() - 30) : found.end() + 30] for found in PATTERN.finditer(text)]


def old_words(path):
    """Hits in a file that are not right uses."""
    name, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
    texts = prose(text) if path.suffix == ".py" else enumerate(text.split("\n\n"), start=1)
    found = [(place, hit) for place, words in texts for hit in hits(words)]
    return [f"{name}:{place}: {hit}" for place, hit in found if not any(name == n and w in hit for n, w in RIGHT)]


def sources():
    code = sorted((ROOT / "ebmkit").rglob("*.py"))
    templates = sorted((ROOT / "ebmkit/report/template").iterdir())
    specs = sorted((ROOT / "specs").rglob("*.yaml"))
    pages = [ROOT / page for page in PAGES]
    return [*code, *templates, *specs, *pages]


def test_the_list_is_read():
    assert {"behind", "so many", "nobody"} <= set(avoided())


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("steps behind the warm-up", 1),
        ("after so\n    many steps", 1),
        ("Nobody calls it", 1),
        ("a beside b, told c", 2),
        ("after this many steps", 0),
        ("the besieged behindhand", 0),
    ],
)
def test_it_finds_words_and_only_whole_ones(text, count):
    assert len(hits(text)) == count


def test_comments_and_strings_are_prose_and_names_are_not():
    code = '"""one"""\nbehind = f"two {behind} three"  # four\n'
    assert {words.strip("# ") for _, words in prose(code)} == {"one", "two", "three", "four"}


def test_there_are_no_old_words():
    assert [hit for path in sources() for hit in old_words(path)] == []


def test_right_uses_still_occur():
    """An entry that is no longer needed is removed."""
    assert [entry for entry in RIGHT if entry[1] not in (ROOT / entry[0]).read_text(encoding="utf-8")] == []
