"""Right specs, damaged at random: the reader takes them or says where they are wrong, and never anything else."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ebmkit.errors import EbmkitError, Mistakes
from ebmkit.errors.render import render
from ebmkit.errors.source import Source
from ebmkit.language.load import load_spec
from ebmkit.language.text import parse, plain_scalar
from ebmkit.language.yaml_writer import scalar, yaml_text

from .table import HERE

CORPUS = sorted((HERE / "corpus").glob("*.yaml"))

#: Values that readers stumble over.
NASTY = r"""
null ~ true yes off 0 -1 1.0 1e3 1e999 .inf -.inf .nan 010 0x1F 0b1 1_000 12:30 2024-01-31 9223372036854775808 "" ''
"\0" "\ud800" "\UFFFFFFFF" "\e[2J" $ $x $chain ${x} {{x}} [] {} [[]] [null] {a} {use} {use:} *x &x &x1 *n !x !!int
- -- --- ... ? : :: , [ ] { } | > |2- >+ % @ ` # \ ' " << = exact mlp a.b .. ../x /dev/zero quickstart training.yaml
[1,2,3,4,5] é 😀
""".split()  # noqa: SIM905  # far shorter so
NASTY += ["\ufeff", "\u2028", "\x85", "\xa0", "\x07", "\t", "\n", " "]

TOKEN = re.compile(r"[A-Za-z0-9_.$-]+|[^\sA-Za-z0-9_.$-]")


def flip_byte(text: str, rng: random.Random) -> str | bytes:
    raw = bytearray(text.encode())
    raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    return bytes(raw)


def insert_byte(text: str, rng: random.Random) -> str | bytes:
    raw = text.encode()
    at = rng.randrange(len(raw) + 1)
    return raw[:at] + bytes([rng.randrange(256)]) + raw[at:]


def cut_short(text: str, rng: random.Random) -> str:
    return text[: rng.randrange(len(text))]


def _token(text: str, rng: random.Random) -> re.Match[str]:
    return rng.choice(list(TOKEN.finditer(text)))


def delete_token(text: str, rng: random.Random) -> str:
    token = _token(text, rng)
    return text[: token.start()] + text[token.end() :]


def double_token(text: str, rng: random.Random) -> str:
    token = _token(text, rng)
    return text[: token.end()] + rng.choice(["", " ", "\n"]) + text[token.start() :]


def swap_tokens(text: str, rng: random.Random) -> str:
    first, second = sorted((_token(text, rng), _token(text, rng)), key=lambda token: token.start())
    if first.end() > second.start():
        return text
    return text[: first.start()] + second[0] + text[first.end() : second.start()] + first[0] + text[second.end() :]


def nasty_value(text: str, rng: random.Random) -> str:
    token = _token(text, rng)
    return text[: token.start()] + rng.choice(NASTY) + text[token.end() :]


def misspell(text: str, rng: random.Random) -> str:
    token = _token(text, rng)
    at = rng.randrange(token.start(), token.end())
    letter = rng.choice(["", "x", "_", text[at] * 2, text[at].upper()])
    return text[:at] + letter + text[at + 1 :]


def delete_line(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    del lines[rng.randrange(len(lines))]
    return "\n".join(lines)


def double_line(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    lines.insert(rng.randrange(len(lines)), rng.choice(lines))
    return "\n".join(lines)


def swap_lines(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    return "\n".join(lines)


def indent(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    lines[at] = rng.choice([" " + lines[at], "  " + lines[at], "\t" + lines[at], lines[at].lstrip(), lines[at][1:]])
    return "\n".join(lines)


def insert_indicator(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice("-?:,[]{}#&*!|>'\"%@`\t\n\r \\$<=~") + text[at:]


def other_line_ends(text: str, rng: random.Random) -> str:
    return text.replace("\n", rng.choice(["\r\n", "\r", "\x85", "\u2028"]), rng.choice([1, 3, -1]))


MUTATIONS: list[Callable[[str, random.Random], str | bytes]] = [
    *(flip_byte, insert_byte, cut_short, delete_token, double_token, swap_tokens, nasty_value, nasty_value, misspell),
    *(delete_line, double_line, swap_lines, indent, insert_indicator, insert_indicator, other_line_ends),
]


def mutant(seed: int) -> bytes:
    """One to three mutations of a right spec."""
    rng = random.Random(seed)
    text = rng.choice(CORPUS).read_text(encoding="utf-8")
    for _ in range(rng.choice([1, 1, 2, 3])):
        changed = rng.choice(MUTATIONS)(text, rng) if text.strip() else text
        if isinstance(changed, bytes):
            return changed
        text = changed
    return text.encode("utf-8", "surrogatepass")


def check(spec: Path) -> bool:
    """True if the spec is right; if not, every mistake has a place inside a text, and can be shown."""
    try:
        load_spec(spec)
    except Mistakes as several:
        mistakes = several.mistakes
    except EbmkitError as mistake:
        mistakes = [mistake]
    else:
        return True
    assert mistakes
    for mistake in mistakes:
        for place in (mistake.place, mistake.other):
            if place:
                assert 1 <= place.line <= len(place.source.lines)
                assert 1 <= place.column <= len(place.source.line(place.line)) + 1
                assert place.length >= 1
        assert mistake.place is not None
    assert all(render(mistakes, form) for form in ("text", "json", "github"))
    return False


def check_mutants(seeds: range, folder: Path) -> int:
    for path in CORPUS:  # what `extends:` looks for
        shutil.copy(path, folder)
    spec = folder / "mutant.yaml"
    right = 0
    for seed in seeds:
        spec.write_bytes(mutant(seed))
        try:
            right += check(spec)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {mutant(seed)!r}") from error
    return right


def test_500_mutants(tmp_path: Path) -> None:
    right = check_mutants(range(0, 5000, 10), tmp_path)
    assert 12 < right < 125  # most mutations do harm, and a few do not


@pytest.mark.long
@pytest.mark.parametrize("thousand", range(5))
def test_5000_mutants(thousand: int, tmp_path: Path) -> None:
    right = check_mutants(range(1000 * thousand, 1000 * (thousand + 1)), tmp_path)
    assert 25 < right < 250


# What is written is read back -----------------------------------------------------------------------------------------

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.sampled_from(NASTY),
)
TREES = st.dictionaries(
    # YAML finds the colon behind a key within 1,024 characters, and an escape can take ten of them.
    (st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(NASTY)).map(lambda key: key[:100]),
    st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text("ab<.$: #-"), inner), max_leaves=20),
    min_size=1,
)

#: The same examples every time, however slow the machine is.
STEADY = {
    "deadline": None,
    "database": None,
    "derandomize": True,
    "suppress_health_check": [HealthCheck.too_slow],
}


@settings(max_examples=100, **STEADY)
@given(TREES)
def test_what_is_emitted_is_read_back(tree: dict[str, object]) -> None:
    assert parse(Source("emitted", yaml_text(tree, {}))).plain() == tree


@settings(max_examples=300, **STEADY)
@given(SCALARS)
def test_a_scalar_is_read_back_as_it_was(value: object) -> None:
    again = parse(Source("emitted", f"x: {scalar(value)}\n")).plain()["x"]
    assert again == value
    assert type(again) is type(value)


@settings(max_examples=500, **STEADY)
@given(st.text() | st.from_regex(r"[-+]?[0-9_.eExob:+-]{0,12}", fullmatch=True) | st.sampled_from(NASTY))
def test_a_plain_word_is_a_value_or_refused(word: str) -> None:
    try:
        value = plain_scalar(word)
    except (ValueError, OverflowError):
        return
    assert value is None or isinstance(value, (bool, int, float, str))
    if isinstance(value, str):
        assert value == word
