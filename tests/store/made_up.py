"""Folders of runs that were never made, with everything that lists of runs read."""

import json
from pathlib import Path
from typing import Any


def made_up(
    runs_dir: Path,
    number: int,
    *,
    status: str = "finished",
    objective: str = "nce",
    results: dict[str, float] | None = None,
    started: str = "2026-11-19T12:00:00+00:00",
    **changes: Any,
) -> Path:
    """A run folder; `changes` are further entries of `run.json`."""
    folder = runs_dir / "toy" / f"run-{number:05d}-{number:08x}"
    folder.mkdir(parents=True)
    summary = {
        "format": 2,
        "name": "toy",
        "status": status,
        "hash": f"{number:064x}",
        "seed": number,
        "step": 100,
        "steps": 100,
        "started": started,
        "seconds": 1.5 + number,
        "results": {"kl_divergence": number / 10} if results is None else results,
        "failed": [],
        "unmet": [],
        "warnings": [],
        "sessions": [],
        **changes,
    }
    resolved = {
        "ebmkit": 1,
        "seed": number,
        "parts": {"chain": {"use": "langevin", "steps": 20}},
        "model": {"use": "mlp", "hidden": [64, 64]},
        "objective": {"use": objective, "sampler": "$chain"},
        "train": {"steps": 100, "optimizer": {"use": "adam", "lr": 10.0**-number}},
        "deterministic": number % 2 == 0,
    }
    (folder / "run.json").write_text(json.dumps(summary))
    (folder / "resolved.json").write_text(json.dumps(resolved))
    return folder
