"""One run from beginning to end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from safetensors.torch import save as save_tensors

from ebmkit.build import build
from ebmkit.engine import checkpoint
from ebmkit.engine.blame import Blame
from ebmkit.engine.evaluation import Evaluation
from ebmkit.engine.expectations import unmet
from ebmkit.engine.history import History, Write
from ebmkit.engine.loop import train
from ebmkit.engine.narrator import Narrator
from ebmkit.engine.progress import Progress, Silent
from ebmkit.engine.streams import Streams
from ebmkit.engine.view import View
from ebmkit.lock import lock
from ebmkit.plan import Plan
from ebmkit.record import Record
from ebmkit.report.summary import draw_summary
from ebmkit.storage import storing, write_bytes


def run(plan: Plan, *, runs_dir: str | Path = "runs", progress: Progress | None = None) -> Record:
    """Build, train, save, evaluate, draw; `record.unmet` tells which claims of the spec do not hold."""
    progress = progress or Silent()
    hooks, in_hook = plan.hooks, Blame(plan, ("plugins",), "a plugin's hook")
    parts = build(plan)
    with Record.create(plan, Path(runs_dir), lock(plan, parts)) as record:
        narrator = Narrator(record, progress)
        narrator.plan(parts)
        with _trackers(plan, record.folder) as track:

            def write(step: int, values: dict[str, float]) -> None:
                track(step, values)
                narrator.numbers(step, values)

            history = History(plan, write)
            view = View(plan, parts, Streams(plan.spec.seed, parts.device), history, record.folder)
            evaluation = Evaluation(view)
            with in_hook:
                hooks.ebmkit_run_started(view=view, folder=record.folder)

            if plan.spec.train:
                progress.follow("training", plan.spec.train.steps, history.position)
                listeners = hooks.ebmkit_step_ended.get_hookimpls()
                train(view, evaluation, hooks.ebmkit_step_ended if listeners else None)
            # Before the samples are drawn: should they run away, the weights are safe.
            saved = checkpoint.save(record.folder, view.step, parts)
            with in_hook:
                hooks.ebmkit_checkpoint_saved(view=view, path=saved)

            narrator.wait("sampling and measuring")
            if view.can_sample:
                most = evaluation.samples_of(plan.spec.evaluate, plan.spec.samples)
                progress.follow("sampling", view.chain_length(most), view.chain_position)
            record.results = evaluation.measure(plan.spec.evaluate, at_least=plan.spec.samples)
            if view.can_sample:
                kept = view.samples(plan.spec.samples).cpu().contiguous()
                write_bytes(record.file("samples/samples.safetensors"), save_tensors({"x": kept}))
            with in_hook:
                hooks.ebmkit_run_finished(view=view, results=dict(record.results))

        narrator.wait("drawing")
        with in_hook:
            picture = draw_summary(view)
        write_bytes(record.file("plots/summary.png"), picture)
    record.unmet = unmet(plan, record.results)
    progress.finished(record)
    return record


@contextmanager
def _trackers(plan: Plan, folder: Path) -> Iterator[Write]:
    """The open trackers of a run as one function; closed whatever happens."""
    with ExitStack() as stack:
        logs = []
        for index, tracker in enumerate(plan.spec.trackers):
            blame = Blame(plan, ("trackers", index), f"tracker {tracker.component_name!r}")
            with blame, storing(folder):
                log = tracker.open(folder)
            stack.callback(log.close)
            logs.append((blame, log))

        def write(step: int, values: dict[str, float]) -> None:
            for blame, log in logs:
                with blame, storing(folder):
                    log.write(step, values)

        yield write
