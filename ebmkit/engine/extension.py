"""A run whose chains continue those of a finished run."""

from __future__ import annotations

from pathlib import Path

from ebmkit.engine.build import build
from ebmkit.engine.folder import checkpoint
from ebmkit.engine.folder.chain_checkpoints import Source
from ebmkit.engine.folder.lockfile import drift, drifted, lock, to_yaml
from ebmkit.engine.folder.record import Record
from ebmkit.engine.folder.run_format import check_folder
from ebmkit.engine.limit import Limit
from ebmkit.engine.pictures import DrawSamples
from ebmkit.engine.process import settings_kept
from ebmkit.engine.session import Draw, Session
from ebmkit.engine.signals import Signals
from ebmkit.engine.telling.progress import Progress, Silent
from ebmkit.errors.running import StorageFailed
from ebmkit.language.packages import require_packages
from ebmkit.language.plan import Plan
from ebmkit.storage.atomic import write_bytes
from ebmkit.storage.reading import read_whole


def extend(
    base: Plan,
    plan: Plan,
    folder: Path,
    *,
    runs_dir: str | Path = "runs",
    allow_drift: bool = False,
    draw: Draw | None = None,
    picture: DrawSamples | None = None,
    progress: Progress | None = None,
) -> Record:
    """A new run with the weights of the finished run in `folder`, whose chains continue those of that run.

    `base` is the plan of that run, and `plan` the same with more samples. The draws are those of a run that had asked
    for them from the beginning, bit for bit.
    """
    check_folder(folder)
    require_packages(plan)
    progress = progress or Silent()
    with settings_kept(), Signals() as signals:
        parts = build(plan)
        locked = lock(plan, parts)
        differing = drift(folder, {**locked, "experiment": base.hash})
        if differing and not allow_drift:
            raise drifted(folder, differing)
        experiment = None if differing else base.hash
        saved = checkpoint.latest(folder / "checkpoints", experiment, progress.say)
        if saved is None:
            raise StorageFailed(f"{folder}: the run has no checkpoint")
        with signals.between_steps(), Record.create(plan, Path(runs_dir), to_yaml(locked), folder, differing) as record:
            for kept in sorted((folder / "samples").glob("step-*.safetensors")):  # during training, for the report
                write_bytes(record.file(f"samples/{kept.name}"), read_whole(kept))
            source = Source(folder, experiment)
            Session(record, parts, saved, source, progress, signals, Limit()).carry_out(draw, picture)
        progress.finished(record)
        return record
