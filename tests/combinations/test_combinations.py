"""Random combinations of components are refused by `validate`, or they run: nothing fails later."""

from __future__ import annotations

import json
from collections import Counter
from itertools import count, islice, takewhile
from pathlib import Path

import pytest

from tests.combinations.drawing import Drawing, Focus, all_components, uses
from tests.combinations.files import write_archives
from tests.combinations.shrinking import shrunk
from tests.combinations.trial import LITTLE, Outcome, attempt

#: Seeds of the long sweep, and of a second one that nothing was tuned on.
SWEEPS = {"first": 0, "second": 1_000_000}
COMBINATIONS = 1000
#: The most further combinations around a component that is in no run of the sweep.
MORE = 200
#: Cheap combinations for every test run: one in six of them around each kind of component.
FEW = range(3, 3 + 6 * 25, 6)
#: One run in this many also writes the report.
WITH_REPORT = 10
#: At least this share must run, or the generator would test little but the refusals.
SHARE = 0.4
#: At most this share may diverge within three steps, each naming a component and a step; and may be slow.
DIVERGED, SLOW = 0.03, 0.005


def trial(seed: int, folder: Path, focus: Focus, archives: dict | None = None) -> tuple[dict, Outcome]:
    spec = Drawing(seed, folder / "files", focus, archives or {}).draw()
    return spec, attempt(spec, folder / "runs", report=seed % WITH_REPORT == 0)


def failure(seed: int, spec: dict, outcome: Outcome, folder: Path) -> str:
    """A report with the smallest spec that fails in the same way."""

    def fails(smaller: dict) -> bool:
        found = attempt(smaller, folder / "smaller", report=False, seconds=LITTLE)  # without `samples:`, minutes
        return (found.word, found.code) == (outcome.word, outcome.code)

    smallest = shrunk(spec, fails)
    return f"seed {seed}: {outcome.code}\n{json.dumps(smallest)}\n{outcome.said}"


@pytest.mark.parametrize("seed", FEW)
def test_a_combination_is_refused_or_runs(seed, tmp_path, one_thread):
    components = [focus for focus in all_components() if focus not in TOO_SLOW]
    spec, outcome = trial(seed, tmp_path, components[seed % len(components)])
    assert outcome.word != "failed", failure(seed, spec, outcome, tmp_path)


#: Components that train a network of their own or load a large file.
TOO_SLOW = (("data", "celeba"), ("data", "cifar10"), ("metric", "fid"))


@pytest.mark.long
@pytest.mark.parametrize("sweep", SWEEPS)
def test_no_combination_fails_later(sweep, tmp_path, one_thread, record_property):
    components, archives = all_components(), write_archives(tmp_path / "archives")
    words: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    failures, diverged, ran = [], [], set()

    def drawn():
        yield from ((number, components[number % len(components)]) for number in range(COMBINATIONS))
        for focus in sorted(set(components) - ran):  # one that needs a rare partner has more chances
            more = takewhile(lambda _, focus=focus: focus not in ran, count(COMBINATIONS))
            yield from ((number, focus) for number in islice(more, MORE))

    for number, focus in drawn():
        seed = SWEEPS[sweep] + number
        spec, outcome = trial(seed, tmp_path / f"{focus[1]}-{number}", focus, archives)
        words[outcome.word] += 1
        if outcome.word == "failed":
            failures.append(failure(seed, spec, outcome, tmp_path))
        elif outcome.word == "ran":
            ran |= uses(spec)
        elif outcome.word == "diverged":
            diverged.append(f"seed {seed}: {outcome.said}")
        codes[outcome.code] += outcome.word == "refused"
    never = sorted(set(components) - ran)
    print(f"\n{sweep}: {dict(words)}, refused by {dict(codes)}, in no run: {never}")
    print("\n".join(diverged))
    assert not failures, "\n\n".join(failures)
    assert words["ran"] >= SHARE * words.total()
    assert words["diverged"] <= DIVERGED * words.total()
    assert words["slow"] <= SLOW * words.total()
    assert not never


def test_a_failure_is_shown_in_its_smallest_form():
    spec = {"ebmkit": 1, "a": {"use": "x", "b": [1, 2, 3], "c": 4}, "d": 5}
    found = shrunk(spec, lambda smaller: 2 in smaller.get("a", {}).get("b", []))
    assert found == {"ebmkit": 1, "a": {"use": "x", "b": [2]}}


def test_a_metric_without_a_value_says_so_at_its_place(tmp_path, one_thread):
    """None of the samples meets the condition: this depends on the random numbers of a run."""
    spec = {
        "ebmkit": 1,
        "model": {"use": "ising", "shape": [4, 4]},
        "sampler": "gibbs",
        "samples": 1,
        "evaluate": [
            {"use": "probability", "given": [[unit, unit % 2 * 2 - 1] for unit in range(1, 16)], "exact": False}
        ],
    }
    outcome = attempt(spec, tmp_path, report=False)
    assert outcome.word == "diverged"
    assert outcome.said.startswith("metric 'probability': none of ")
