"""Mutated specs of the gallery: refused at a place or accepted, cheaply, and nothing is written or run."""

from __future__ import annotations

import functools
import json
import random
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ebmkit.cli import group
from ebmkit.errors.source import Source
from ebmkit.language import packaged
from ebmkit.language.load import load_spec
from ebmkit.language.text import parse
from ebmkit.language.yaml_writer import yaml_text

from . import test_fuzz, trees
from .table import HERE
from .watch import MOST_SECONDS, Watch

#: Right specs: those of the package, and those that use what it does not.
RIGHT = [*sorted(packaged.folder().rglob("*.yaml")), *sorted((HERE / "corpus").glob("*.yaml"))]


@functools.cache
def tree_of(path: Path) -> Any:
    return parse(Source(path.name, path.read_text(encoding="utf-8"))).plain()


def with_aliases(text: str, rng: random.Random) -> str:
    """An anchor at one value, and aliases of it in place of others."""
    lines = [number for number, line in enumerate(text.split("\n")) if ": " in line and "#" not in line]
    words = text.split("\n")
    for count, number in enumerate(sorted(rng.sample(lines, min(len(lines), 3)))):
        key, _, value = words[number].partition(": ")
        words[number] = f"{key}: &a {value}" if count == 0 else f"{key}: *a"
    return "\n".join(words)


def mutant(seed: int) -> bytes:
    """A right spec after mutations of its tree, of its text, or of both."""
    rng = random.Random(f"spec {seed}")
    path = rng.choice(RIGHT)
    text = path.read_text(encoding="utf-8")
    if rng.random() < 0.7:
        others = [tree_of(other) for other in rng.sample(RIGHT, 3)]
        tree = trees.mutated(tree_of(path), others, rng)
        try:
            text = yaml_text(tree, {}) if isinstance(tree, dict) and rng.random() < 0.8 else json.dumps(tree)
        except (TypeError, AttributeError):  # the writer takes what the reader gives, not everything
            text = json.dumps(tree)
    if rng.random() < 0.2:
        text = with_aliases(text, rng)
    if rng.random() < 0.35 and text.strip():
        changed = rng.choice(test_fuzz.MUTATIONS)(text, rng)
        if isinstance(changed, bytes):
            return changed
        text = changed
    return text.encode("utf-8", "surrogatepass")


@functools.cache
def limit() -> float:
    """Seconds for one spec: a machine on which right specs take longer than usual may take longer for others."""
    times = []
    for path in RIGHT:
        start = time.process_time()
        load_spec(path)
        times.append(time.process_time() - start)
    return max(MOST_SECONDS, 10 * max(times))


def look_at(spec: Path, verb: str) -> tuple[int, Watch]:
    """The exit status of a verb, and what it did. A second and third try if others kept the machine busy."""
    for _ in range(3):
        with Watch() as watch:
            result = CliRunner().invoke(group, [verb, str(spec), "--format", "json"], prog_name="ebmkit")
        if watch.seconds < limit():
            break
    error = result.exception
    assert error is None or isinstance(error, SystemExit), f"{error!r}"
    if result.exit_code:
        mistakes = json.loads(result.stdout)
        assert mistakes
        assert all(mistake["place"] for mistake in mistakes)
        assert result.exit_code == min(mistake["exit_status"] for mistake in mistakes)
    return result.exit_code, watch


def sweep(seeds: range, folder: Path) -> dict[int, int]:
    """How many mutants ended with which exit status."""
    for path in (HERE / "corpus").glob("*.yaml"):  # what `extends:` looks for
        shutil.copy(path, folder)
    limit()
    found: dict[int, int] = {}
    slowest, largest = 0.0, 0
    for seed in seeds:
        content = mutant(seed)
        spec = folder / "mutant.yaml"
        spec.write_bytes(content)
        try:
            status, watch = look_at(spec, "resolve" if seed % 3 == 0 else "validate")
            assert status in (0, 2, 3)
            watch.check(limit())
        except Exception as error:
            raise AssertionError(f"seed {seed}: {content[:2000]!r}") from error
        found[status] = found.get(status, 0) + 1
        slowest, largest = max(slowest, watch.seconds), max(largest, watch.bytes)
    print(f"exit statuses {found}, at most {slowest:.3f} s and {largest / 2**20:.0f} MiB")
    return found


def test_150_mutated_specs(tmp_path: Path) -> None:
    found = sweep(range(0, 10_000, 67), tmp_path)
    assert found[2] > 50
    assert found[0] > 5


@pytest.mark.long
@pytest.mark.parametrize("thousand", range(10))
def test_10_000_mutated_specs(thousand: int, tmp_path: Path) -> None:
    found = sweep(range(1000 * thousand, 1000 * (thousand + 1)), tmp_path)
    assert found[2] > 300
    assert found[0] > 30
