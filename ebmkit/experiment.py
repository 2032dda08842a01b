"""An experiment in one call, for scripts and notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ebmkit.load import load_spec
from ebmkit.plan import Plan

if TYPE_CHECKING:
    import os

    from ebmkit.record import Record


def run(spec: Plan | str | os.PathLike[str] | Mapping[str, Any], *, runs_dir: str | Path = "runs") -> Record:
    """Carry out an experiment, silently: a plan, or whatever `load_spec` takes.

    The record has the folder and the results; claims that do not hold are in `record.unmet`.
    """
    from ebmkit.engine import session  # imports torch

    plan = spec if isinstance(spec, Plan) else load_spec(spec)
    return session.run(plan, runs_dir=runs_dir)


def resume(folder: str | os.PathLike[str], *, plugins: Sequence[str] = (), allow_drift: bool = False) -> Record:
    """Go on with an interrupted run, silently, from its last sound checkpoint. `plugins` names files of code."""
    from ebmkit.engine import session

    plan = load_spec(Path(folder) / "resolved.yaml", plugins=plugins)
    return session.resume(plan, Path(folder), allow_drift=allow_drift)
