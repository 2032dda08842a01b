"""Default parameters on data of other scales and shapes: every objective, several seeds.

    .venv/bin/python benchmarks/own_data.py [--sets WORD ...] [--objectives NAME ...] [--seeds N] [--steps N]
        [--workers N] [--known] [--page]

Each run reads a file, as a user's does, and has default parameters but for the number of steps. The distance is the
sliced Wasserstein distance of the samples to held-out points, in multiples of its floor, that of training points. What
is known is in benchmarks/own_data.jsonl, a line for each run, which is part of the repository, so that seeds
accumulate: a second call continues from there, and `--known` runs nothing. Runs are known by the defaults that they
were made with; those of other defaults are dropped at the end of a call and made again. The table is printed at the
end; `--page` also writes it to docs/evidence.md, as its last section, where rows of objectives stay of which nothing is
known.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from evidence import merged
from own_sets import IN_OTHER_UNITS, SETS, blobs

ROOT = Path(__file__).resolve().parents[1]
KNOWN = Path(__file__).with_suffix(".jsonl")
PAGE, HEAD = ROOT / "docs" / "evidence.md", "## Default parameters on other data"
#: The results that the table needs.
KEPT = ("sliced_wasserstein", "sliced_wasserstein_floor", "verdict")
#: A part of the warning that an objective is blind to the weights of separated modes.
BLIND = "weights of separated modes"
#: Objectives that are another one by default, bit for bit (tests/components/objectives/test_twins.py).
TWINS = {"adaptive_bregman": "adaptive_nce", "sliced_score_matching": "hutchinson_score_matching"}

ENERGIES = (
    "nce",
    "mle",
    "adaptive_nce",
    "adaptive_bregman",
    "conditional_nce",
    "bregman",
    "ranking_nce",
    "score_matching",
    "hutchinson_score_matching",
    "sliced_score_matching",
    "finite_difference_score_matching",
    "denoising_score_matching",
    "adversarial_ce",
    "flow_ce",
    "adversarial",
    "diffusion_recovery",
    "stein",
)
SCORES = {"noise_conditional_score_matching": "geometric", "sde_score_matching": "vp"}


def spec_of(objective: str, seed: int, steps: int, path: str) -> dict[str, Any]:
    """Default parameters but for the steps."""
    spec = {
        "ebmkit": 1,
        "name": "own-data",
        "seed": seed,
        "data": {"use": "npz", "path": path},
        "model": "mlp",
        "objective": objective,
        "train": {"steps": steps},
        "samples": 2000,
        "samples_every": None,
        "evaluate": [{"use": "sliced_wasserstein", "samples": 2000}],
    }
    if objective in SCORES:
        schedule = SCORES[objective]
        spec |= {
            "model": {"use": "mlp_score", "schedule": schedule},
            "objective": {"use": objective, "schedule": schedule},
        }
    return spec


@cache
def defaults_of(objective: str, steps: int) -> str:
    """A short hash of every parameter that the runs of an objective have by default."""
    import ebmkit

    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/points.npz", x=blobs(np.random.default_rng(0)))
        resolved = ebmkit.load_spec(spec_of(objective, 0, steps, f"{folder}/points.npz")).resolved
    resolved["data"].pop("path")
    return hashlib.sha256(json.dumps(resolved, sort_keys=True).encode()).hexdigest()[:12]


def trial(name: str, objective: str, seed: int, steps: int) -> dict[str, Any]:
    """The numbers of one run, or how it ended."""
    import torch

    import ebmkit
    from ebmkit.errors import EbmkitError, Mistakes

    torch.set_num_threads(1)
    began = time.process_time()
    row: dict[str, Any] = {"set": name, "objective": objective, "seed": seed, "steps": steps}
    row["defaults"] = defaults_of(objective, steps)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/points.npz"
        np.savez(path, x=SETS[name](np.random.default_rng(seed)))
        try:
            record = ebmkit.run(spec_of(objective, seed, steps, path), runs_dir=folder, report=False)
            row["results"] = {name: float(f"{record.results[name]:.4g}") for name in KEPT if name in record.results}
            row["blind"] = any(BLIND in warning for warning in record.warnings)
        except (EbmkitError, Mistakes) as error:
            row["error"] = str(error)
    return row | {"cpu": round(time.process_time() - began, 1)}


def key(row: dict[str, Any]) -> tuple[str, str, int, int]:
    return row["set"], row["objective"], row["seed"], row["steps"]


def known() -> dict[tuple[str, str, int, int], dict[str, Any]]:
    lines = KNOWN.read_text().splitlines() if KNOWN.exists() else []
    rows = [json.loads(line) for line in lines]
    return {key(row): row for row in rows if row["defaults"] == defaults_of(row["objective"], row["steps"])}


def chosen(words: list[str] | None, names: list[str]) -> list[str]:
    """The names of which one of the words is a part."""
    return [name for name in names if words is None or any(word in name for word in words)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--objectives", nargs="*", help="their names")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--known", action="store_true", help="only what is known")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    sets = chosen(options.sets, [name for name in SETS if options.sets or name not in IN_OTHER_UNITS])
    wished = [TWINS.get(name, name) for name in options.objectives or (*ENERGIES, *SCORES)]
    objectives = [name for name in (*ENERGIES, *SCORES) if name in wished]
    wanted = [
        (name, objective, seed, options.steps)
        for seed in range(options.seeds)
        for objective in objectives
        for name in sets
    ]
    rows = known()
    with ProcessPoolExecutor(options.workers) as pool, KNOWN.open("a") as file:
        running = [pool.submit(trial, *one) for one in wanted if one not in rows and not options.known]
        for number, future in enumerate(as_completed(running), 1):
            row = future.result()
            rows[key(row)] = row
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(
                f"{number}/{len(running)}  {row['set']}, {row['objective']}, seed {row['seed']}: {ratio(row)}",
                flush=True,
            )
    KNOWN.write_text("".join(json.dumps(rows[one]) + "\n" for one in sorted(rows)))
    found = [rows[one] for one in wanted if one in rows]
    text = table(found, sets, objectives)
    print(text, said(found), sep="\n\n")
    if options.page:
        others, _, before = PAGE.read_text().partition(HEAD)
        counted = said([row for row in rows.values() if row["steps"] == options.steps])
        PAGE.write_text(others + with_twins(merged(HEAD + before, section(text, counted, options.steps))))


def ratio(row: dict[str, Any]) -> str:
    if "error" in row:
        return f"failed: {row['error'][:100]}"
    found = row["results"]
    if "sliced_wasserstein" not in found:
        return "no distance"
    return f"{times(row):.2f} times the floor, {row['cpu']} CPU s, {verdict(row)}"


def verdict(row: dict[str, Any]) -> str:
    """What the run itself said of its samples."""
    said = row.get("results", {}).get("verdict")
    return "?" if said is None else ("match", "slight", "MISMATCH")[int(said)]


def said(rows: list[dict[str, Any]]) -> str:
    """How many runs are above twice the floor, and what these say of themselves."""
    done = [row for row in rows if "sliced_wasserstein" in row.get("results", {})]
    far = [row for row in done if times(row) > 2]
    words = Counter(verdict(row) for row in far)
    silent = [silence(row, done) for row in far if verdict(row) == "match"]
    text = (
        f"Of {len(done):,} runs whose raw figures are in benchmarks/own_data.jsonl, {len(far)} are above twice the "
        f"floor: {words['MISMATCH']} of these say that their samples do not match the data, {words['slight']} that "
        f"they differ slightly, and {sum(row['blind'] for row in far)} explain it by the weights of separated modes."
    )
    return text + (f" Judged a match: {'; '.join(silent)}." if silent else "")


def silence(row: dict[str, Any], done: list[dict[str, Any]]) -> str:
    """A run above twice its floor that says nothing; with few points the floor of a seed may be small by chance."""
    floors = [other["results"]["sliced_wasserstein_floor"] for other in done if other["set"] == row["set"]]
    name, distance = f"{row['set']}, {row['objective']}, seed {row['seed']}", row["results"]["sliced_wasserstein"]
    return f"{name} (distance {distance:.2g}; floors of the seeds {min(floors):.2g} to {max(floors):.2g})"


def times(row: dict[str, Any]) -> float:
    """The distance in multiples of its floor."""
    return float(row["results"]["sliced_wasserstein"] / row["results"]["sliced_wasserstein_floor"])


def with_twins(text: str) -> str:
    """A section with the rows of objectives that are another one by default."""
    lines = text.split("\n")
    first = next(number for number, line in enumerate(lines) if line.startswith("|")) + 2
    rows = [line for line in lines[first:] if line.startswith("|")]
    named = {line.split("|")[1].strip(): line for line in rows}
    named |= {name: named[twin].replace(twin, name, 1) for name, twin in TWINS.items() if twin in named}
    return "\n".join([*lines[:first], *(named[name] for name in sorted(named)), *lines[first + len(rows) :]])


def table(rows: list[dict[str, Any]], sets: list[str], objectives: list[str]) -> str:
    """A row per objective: medians over seeds of the distance in multiples of the floor; `!` where every run said that
    its samples do not match.

    The second column is the number of seeds with which every data set was run.
    """
    lines = [f"| objective | seeds | {' | '.join(sets)} |", f"|---|---:|{'---:|' * len(sets)}"]
    for objective in objectives:
        mine = [row for row in rows if row["objective"] == objective]
        by_set = {name: [row for row in mine if row["set"] == name] for name in sets}
        if seeds := min(map(len, by_set.values())):
            lines.append(f"| {objective} | {seeds} | {' | '.join(map(cell, by_set.values()))} |")
    return "\n".join(lines)


def cell(runs: list[dict[str, Any]]) -> str:
    """The runs of an objective on one data set."""
    good = [row for row in runs if "sliced_wasserstein" in row.get("results", {})]
    if not good:
        return "failed"
    warned = all(verdict(row) == "MISMATCH" for row in runs if "results" in row)
    return f"{median(map(times, good)):.1f}{'!' if warned else ''}"


def section(text: str, counted: str, steps: int) -> str:
    return (
        f"{HEAD}\n\n"
        f"Made by `python benchmarks/own_data.py --page` from points in a file: {steps:,} steps, everything else by "
        "default; medians over seeds (0 and following; the second column is their number) of the sliced Wasserstein "
        "distance of 2,000 samples to held-out points, in multiples of that of training points. `!`: every run says "
        "itself that its samples do not match the data. "
        + " and ".join(f"`{name}` is `{twin}`" for name, twin in TWINS.items())
        + " by default, to the last bit: these rows are copies.\n\n"
        + f"{text}\n\n{counted}\n"
    )


if __name__ == "__main__":
    main()
