"""Files that try to use up the machine are refused, each in a few times what an honest file of the largest size costs.

How many seconds that are depends on the machine, so it is measured on the same one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from ebmkit.errors import EbmkitError, Mistakes
from ebmkit.errors.source import Source
from ebmkit.language.load import load_spec
from ebmkit.language.text import MAX_BYTES, parse

from .table import HERE

PLUGIN = str(HERE / "plugins" / "odd.py")
HEAD = "ebmkit: 1\nmodel: gaussian\nsampler: exact\n"
DEEP = 50_000


def refusal(
    spec: str,
    *,
    sets: Sequence[str] = (),
    unsets: Sequence[str] = (),
    plugins: Sequence[str] = (),
    limit: float | None = None,
) -> tuple[list[EbmkitError], float]:
    """What is said about a spec, and how long it took: the best of three, for the machine has other things to do."""
    limit = bearable() if limit is None else limit
    times = []
    for _ in range(3):
        start = time.process_time()
        try:
            load_spec(spec, sets=sets, unsets=unsets, plugins=plugins)
        except Mistakes as several:
            found = several.mistakes
        except EbmkitError as mistake:
            found = [mistake]
        else:
            pytest.fail("nothing was refused")
        times.append(time.process_time() - start)
        if times[-1] < limit:
            break
    return found, min(times)


def assert_refused(found: list[EbmkitError], seconds: float, code: str) -> None:
    assert code in {mistake.code for mistake in found}
    for mistake in found:
        assert mistake.place is not None
        for words in (mistake.message, mistake.label, mistake.help):
            assert len(words) < 500
    assert seconds < bearable()


@cache
def bearable() -> float:
    """Four times the seconds that the longest text takes which is not refused; the best of three, as of an attack.

    What grows too fast takes minutes.
    """
    largest = Source("largest.yaml", f'{HEAD}name: "{"x" * (MAX_BYTES - 100)}"\n')
    times = []
    for _ in range(3):
        start = time.process_time()
        parse(largest)
        times.append(time.process_time() - start)
    return 4 * min(times)


@pytest.fixture(autouse=True, scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Imports and pydantic's schemas are not the reader's own time."""
    good = tmp_path_factory.mktemp("warm") / "good.yaml"
    good.write_text(HEAD + "evaluate: []\nplugins: {}\n")
    load_spec(good)
    for change in ("seed=x", "sampler=odd.annealed", "name=..", "plugins={a: b}", "model=$x"):
        with pytest.raises(Mistakes):
            load_spec(good, sets=[change], plugins=[PLUGIN])


def doubling(entry: Callable[[str], str], levels: str = "abcdefghijklmnopqrstuvwxyz") -> str:
    """Anchors that each hold the one before several times over."""
    lines = [f"{levels[0]}: &{levels[0]} {{x: 1}}"]
    lines += [f"{name}: &{name} {entry(before)}" for before, name in pairwise(levels)]
    return HEAD + "\n".join(lines) + "\n"


def chain_of_aliases(count: int) -> str:
    """Each value is 50 levels deep and ends in the one before: the whole is deep although no line is."""
    lines = ["x0: &x0 " + "[" * 50 + "]" * 50]
    lines += [f"x{k}: &x{k} " + "[" * 50 + f"*x{k - 1}" + "]" * 50 for k in range(1, count)]
    return HEAD + "\n".join(lines) + "\n"


def chain_of_parts(count: int, depth: int) -> str:
    """The same with parts."""
    inside = "{use: replay, restart: " * depth
    lines = [f"  p{k}: {inside}$p{k + 1}{'}' * depth}" for k in range(count)]
    start = "ebmkit: 1\ndata: rings\nmodel: mlp\nobjective: {use: mle, init: $p0}\ntrain: {steps: 1}\nparts:\n"
    return start + "\n".join(lines) + f"\n  p{count}: noise\n"


LONG = "x" * 100_000

TEXTS = {
    # aliases that multiply
    "bomb of lists": ("E002", doubling(lambda name: f"[{', '.join([f'*{name}'] * 9)}]")),
    "bomb of mappings": ("E002", doubling(lambda name: f"{{{', '.join(f'k{i}: *{name}' for i in range(9))}}}")),
    "bomb of keys": ("E007", doubling(lambda name: f"{{? [*{name}, *{name}, *{name}] : 1}}")),
    "bomb of two": ("E002", doubling(lambda name: f"[*{name}, *{name}]")),
    "bomb in blocks": ("E002", doubling(lambda name: f"\n  - *{name}\n  - *{name}\n  - *{name}")),
    "aliases that pile up": ("E002", chain_of_aliases(26)),
    # circles
    "circle through a list": ("E010", HEAD + "x: &x [*x]\n"),
    "circle through a mapping": ("E010", HEAD + "x: &x {a: {b: *x}}\n"),
    "circle through a key": ("E010", HEAD + "x: &x {*x : 1}\n"),
    "circle at the root": ("E010", "&x {ebmkit: 1, model: *x}\n"),
    # nesting
    "deep flow lists": ("E002", HEAD + "x: " + "[" * DEEP),
    "deep flow lists, closed": ("E002", HEAD + "x: " + "[" * DEEP + "]" * DEEP),
    "deep flow mappings": ("E002", HEAD + "x: " + "{a: " * DEEP),
    "deep block lists": ("E002", HEAD + "x:\n  " + "- " * DEEP),
    "deep block mappings": ("E002", "".join(" " * level + "a:\n" for level in range(500))),
    "deep mixture": ("E002", HEAD + "x: " + "[{a: " * DEEP),
    "deep complex keys": ("E002", "? " * DEEP),
    "deep empty keys": ("E002", HEAD + ": " * DEEP),
    "parts that pile up": ("E002", chain_of_parts(3, 40)),
    # length
    "a scalar larger than a spec": ("E002", HEAD + "name: " + "x" * 300_000),
    "a long name": ("E106", HEAD + f"name: '{LONG}'\n"),
    "a long number": ("E009", HEAD + f"seed: {'1' * 100_000}\n"),
    "a long float": ("E009", HEAD + f"seed: 1e{'1' * 100_000}\n"),
    "a long row of underscores": ("E105", HEAD + f"seed: 1{'_' * 100_000}x\n"),
    "a long line of lists": ("E105", HEAD + f"seed: [{'[1, [2]], ' * 300}{' ' * 200_000}]\n"),
    "a long line of mappings": ("E105", HEAD + f"seed: [{'{a: 1}, ' * 300}{' ' * 200_000}]\n"),
    "a long row of signs": ("E105", HEAD + f"seed: {'1-' * 50_000}x\n"),
    "a long unknown section": ("E101", HEAD + f'? "{LONG}"\n: 1\n'),
    "a long unknown parameter": ("E103", f'ebmkit: 1\nsampler: exact\nmodel:\n  use: gaussian\n  ? "{LONG}"\n  : 1\n'),
    "a long unknown component": ("E102", f"ebmkit: 1\nmodel: '{LONG}'\n"),
    "a long unknown plugin": ("E121", f"ebmkit: 1\nmodel: '{LONG}.x'\n"),
    "a long unknown part": ("E109", f"ebmkit: 1\nmodel: '${LONG}'\nsampler: exact\n"),
    "a long base": ("E012", HEAD + f"extends: '{LONG}'\n"),
    "a long measurement": ("E206", HEAD + f"expect: [{{metric: '{LONG}', below: 1}}]\n"),
    "a long choice": ("E106", f"ebmkit: 1\nsampler: exact\ndata: rings\nmodel: {{use: mlp, activation: '{LONG}'}}\n"),
    "a long anchor": ("E010", HEAD + f"x: *{'a' * 100_000}\n"),
    "a long tag": ("E005", HEAD + f"seed: !{'a' * 30_000} 1\n"),
    "a long duplicate": ("E008", HEAD + f'? "{"x" * 90_000}"\n: 1\n? "{"x" * 90_000}"\n: 1\n'),
    # requirements
    "a requirement of brackets": ("E105", HEAD + f"plugins: {{a: 'a; {'(' * 100_000}'}}\n"),
    "a requirement of few brackets": ("E105", HEAD + f"plugins: {{a: 'a; {'(' * 190}'}}\n"),
    "a requirement of versions": ("E105", HEAD + f"plugins: {{a: 'a{'>=1,' * 50_000}'}}\n"),
    "a requirement that breaks out of its quotes": ("E105", HEAD + "plugins: {a: \"a'; rm -rf ~; '\"}\n"),
    "a long requirement": ("E105", HEAD + f"plugins: {{a: '{LONG}'}}\n"),
}


@pytest.mark.parametrize("attack", TEXTS)
def test_text(attack: str, tmp_path: Path) -> None:
    code, text = TEXTS[attack]
    spec = tmp_path / "spec.yaml"
    spec.write_text(text, encoding="utf-8")
    assert_refused(*refusal(str(spec)), code)


FLAGS = {
    "deep value": ("E002", ["model.mean=" + "[" * DEEP], []),
    "bomb": ("E002", ["model=[&a [x,x,x,x,x,x,x,x], " + "".join(
        f"&{name} [{', '.join([f'*{before}'] * 9)}], " for before, name in zip("abcdefg", "bcdefgh", strict=True)
    ) + "x]"], []),
    "long path": ("E013", ["a." * DEEP + "a=1"], []),
    "long path to remove": ("E013", [], ["a." * DEEP + "a"]),
    "long word": ("E101", ["a" * 100_000 + "=1"], []),
    "large position": ("E013", ["evaluate.999999999999999999=1"], []),
    "path to the root of something": ("E013", ["__class__.__init__=1", "..=1"], []),
}  # fmt: skip


@pytest.mark.parametrize("attack", FLAGS)
def test_flag(attack: str, tmp_path: Path) -> None:
    code, sets, unsets = FLAGS[attack]
    spec = tmp_path / "spec.yaml"
    spec.write_text(HEAD)
    assert_refused(*refusal(str(spec), sets=sets, unsets=unsets), code)


def test_parts_that_double_at_every_level(tmp_path: Path) -> None:
    """Twins of twins of twins: 2^20 paths lead to the last part, which is checked once."""
    parts = "".join(f"  p{k}: {{use: odd.twins, left: $p{k + 1}, right: $p{k + 1}}}\n" for k in range(20))
    spec = tmp_path / "spec.yaml"
    spec.write_text(f"ebmkit: 1\nmodel: gaussian\nsampler: langevin\ninit: $p0\nparts:\n{parts}  p20: data\n")
    found, seconds = refusal(str(spec), plugins=[PLUGIN])
    assert seconds < bearable()
    assert {mistake.code for mistake in found} == {"E205"}  # there are no data to begin at


# Files that are not files ---------------------------------------------------------------------------------------------


def large_file(folder: Path) -> Path:
    path = folder / "large.yaml"
    with path.open("wb") as file:
        file.truncate(100 * 1024 * 1024)
    return path


def barely_too_large(folder: Path) -> Path:
    path = folder / "large.yaml"
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    return path


def fifo(folder: Path) -> Path:
    os.mkfifo(folder / "fifo.yaml")
    return folder / "fifo.yaml"


def link_to(target: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / "link.yaml").symlink_to(target)
        return folder / "link.yaml"

    return make


def forbidden(folder: Path) -> Path:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    path = folder / "secret.yaml"
    path.write_text(HEAD)
    path.chmod(0)
    return path


FILES = {
    "100 MB": ("E002", large_file),
    "one byte too large": ("E002", barely_too_large),
    "a pipe without a writer": ("E001", fifo),
    "an endless device": ("E001", lambda folder: Path("/dev/zero")),
    "a device that is a terminal or nothing": ("E001", lambda folder: Path("/dev/null")),
    "a link to a device": ("E001", link_to("/dev/zero")),
    "a link in a circle": ("E001", link_to("link.yaml")),
    "a link to nowhere": ("E001", link_to("nowhere")),
    "a folder": ("E001", lambda folder: folder),
    "a file in a file": ("E001", lambda folder: Path(__file__) / "spec.yaml"),
    "a file without permission": ("E001", forbidden),
    "a name that is too long": ("E001", lambda folder: folder / ("x" * 5000)),
    "a name with a NUL": ("E001", lambda folder: folder / "a\0b"),
    "nothing": ("E001", lambda folder: folder / "no-such-spec.yaml"),
}


@pytest.mark.parametrize("attack", FILES)
def test_file(attack: str, tmp_path: Path) -> None:
    code, make = FILES[attack]
    assert_refused(*refusal(str(make(tmp_path))), code)


@pytest.mark.parametrize("attack", FILES)
def test_base(attack: str, tmp_path: Path) -> None:
    """The same files behind `extends:`, where the place is that of the spec's own line."""
    name = str(FILES[attack][1](tmp_path)).replace("\0", "\\0")
    spec = tmp_path / "spec.yaml"
    spec.write_text(f'ebmkit: 1\nextends: "{name}"\n')
    found, seconds = refusal(str(spec))
    assert_refused(found, seconds, "E012")
    assert [(str(mistake.place)) for mistake in found] == [f"{spec}:2:10"]


def test_a_long_chain_of_bases(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number}.yaml").write_text(f"ebmkit: 1\nextends: {number + 1}.yaml\n")
    (tmp_path / "20.yaml").write_text(HEAD)
    found, seconds = refusal(str(tmp_path / "0.yaml"))
    assert_refused(found, seconds, "E012")
    assert [mistake.place.line for mistake in found if mistake.place] == [2]


def test_what_a_large_spec_costs_grows_with_its_size(tmp_path: Path) -> None:
    """Three times as many unknown keys take three times as long, give or take; quadratic would be nine times."""
    spec = tmp_path / "spec.yaml"
    for head, code in ((HEAD, "E101"), ("ebmkit: 1\nsampler: exact\nmodel:\n  use: gaussian\n", "E103")):
        indent, seconds = "  " if code == "E103" else "", {}
        for keys in (1_000, 3_000):
            spec.write_text(head + "".join(f"{indent}mean{number}: 1\n" for number in range(keys)))
            found, seconds[keys] = refusal(
                str(spec), limit=0
            )  # the best of three: a collection of garbage may fall into one
            assert {mistake.code for mistake in found} == {code}
        assert seconds[3_000] < 6 * seconds[1_000]
