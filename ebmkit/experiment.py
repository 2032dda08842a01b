"""Running experiments and opening run folders from Python, for scripts and notebooks."""

from __future__ import annotations

import warnings
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ebmkit.engine.folder.locked import plugin_changes_explained
from ebmkit.engine.folder.run_format import check_folder
from ebmkit.engine.folder.run_summary import read_summary
from ebmkit.engine.torch_needed import require_torch
from ebmkit.engine.world import require_one_process
from ebmkit.language.labels import label_refusal
from ebmkit.language.load import load_spec
from ebmkit.language.plan import Plan
from ebmkit.registry.given import listed

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from torch import Tensor, nn

    from ebmkit.engine.folder.record import Record
    from ebmkit.engine.run_view import RunView
    from ebmkit.registry.given import PluginsGiven


def run(
    spec: Plan | str | os.PathLike[str] | Mapping[str, Any],
    *,
    plugins: PluginsGiven = (),
    data: Any = None,
    runs_dir: str | Path = "runs",
    report: bool = True,
) -> Record:
    """Run an experiment without output: a plan, or anything that `load_spec` accepts, with its `plugins` and `data`.

    Code that is in no package, such as a class of a notebook, is not kept with the run: pass it again to `resume` and
    `open_run`. Data that are passed become a file of the run folder.

    The record has the folder and the results. What failed in the final evaluation is in `record.failed`, claims that do
    not hold are in `record.unmet`. With `report=False` there is neither a report nor a picture; `ebmkit report` writes
    them later.
    """
    require_one_process()
    if isinstance(spec, Plan):
        if data is not None or any(True for _ in listed(plugins)):
            raise ValueError("a plan has its plugins and data already: pass them to load_spec")
        plan = spec
    else:
        plan = load_spec(spec, plugins=plugins, data=data)
    require_torch(plan)

    from ebmkit.engine import session  # imports torch
    from ebmkit.report.drawing import draw_run, draw_samples

    return session.run(plan, runs_dir=runs_dir, draw=draw_run if report else None, picture=draw_samples)


def resume(
    folder: str | os.PathLike[str], *, plugins: PluginsGiven = (), allow_drift: bool = False, report: bool = True
) -> Record:
    """Continue an interrupted run without output, from its last intact checkpoint. `plugins` and `report` are those of
    `run`."""
    require_one_process()
    check_folder(Path(folder))  # the spec of an old run need not be valid
    with plugin_changes_explained(Path(folder)):
        plan = load_spec(Path(folder) / "resolved.yaml", plugins=plugins)
    require_torch(plan)

    from ebmkit.engine import session
    from ebmkit.report.drawing import draw_run, draw_samples

    draw = draw_run if report else None
    return session.resume(plan, Path(folder), allow_drift=allow_drift, draw=draw, picture=draw_samples)


class Run:
    """A run folder, opened by `ebmkit.open_run`. Nothing here changes the run.

    run = ebmkit.open_run("runs/quickstart/20261116T120000Z-0123abcd")
    energy = run.model(x)
    x = run.sample(1000)
    """

    def __init__(self, folder: Path, plugins: PluginsGiven = ()) -> None:
        check_folder(folder)
        self.folder = folder
        #: The content of `run.json`: status, step, seed, results, sessions.
        self.summary: dict[str, Any] = read_summary(folder)
        self.plan: Plan = load_spec(folder / "resolved.yaml", plugins=plugins)

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r}, {self.status}, step {self.summary['step']})"

    def _repr_html_(self) -> str:
        from html import escape

        facts = {"folder": self.folder, "status": self.status, "step": self.summary["step"]}
        facts |= {name: f"{value:.5g}" for name, value in self.results.items()}
        rows = (f"<tr><th>{escape(str(name))}</th><td>{escape(str(of))}</td></tr>" for name, of in facts.items())
        return f"<table>{''.join(rows)}</table>"

    @property
    def status(self) -> str:
        """`finished`, or how the run ended."""
        return str(self.summary["status"])

    @property
    def results(self) -> dict[str, float]:
        """The results of the final evaluation."""
        return dict(self.summary["results"])

    @property
    def spec(self) -> dict[str, Any]:
        """The spec with every default, as plain data."""
        return self.plan.resolved

    @cached_property
    def view(self) -> RunView:
        """The view of the run that metrics and panels receive."""
        require_torch(self.plan)

        from ebmkit.engine.sampling import give_kept_samples, view_of

        view = view_of(self.plan, self.folder, say=_warn)
        give_kept_samples(view, self.folder)
        return view

    @property
    def model(self) -> nn.Module:
        """The trained module, in eval mode: `(B, *event) -> (B,)` energies. The running mean, if there is one.

        With a noise schedule it also takes a level, and labels if it was trained with some: `run.model(x, level,
        labels)`. A score network then returns scores, `(B, *event)`.
        """
        return self.view.module.eval()

    @property
    def extras(self) -> nn.Module | None:
        """The auxiliary modules that the objective trained, in eval mode and in the space of `scale`: a network for the
        noise, a generator, the rival of a `Contest` as `run.extras.rival`, a replay buffer. None if it has none, or if
        every stage of training has its own, which it keeps only while it lasts."""
        extras = self.view.parts.extras
        return None if extras is None else extras.eval()

    @property
    def metrics(self) -> dict[str, list[tuple[int, float]]]:
        """All recorded numbers: lists of `(step, value)` pairs by name; of a run that failed, those up to its end."""
        require_torch(self.plan)

        from ebmkit.engine.sampling import FAILED, view_for_report

        failed = self.status in FAILED
        view = view_for_report(self.plan, self.folder, self.summary, _warn) if failed else self.view
        return {name: list(points) for name, points in view.history.series.items()}

    @cached_property
    def samples(self) -> Tensor:
        """The samples that the run kept, `(n, *event)`."""
        return self.view.samples(self.plan.spec.samples).cpu()

    def sample(self, n: int, *, seed: int | None = None, label: int | str | None = None) -> Tensor:
        """`n` new samples `(n, *event)`, determined by the seed; with one label, or of the class named so, if the model
        takes labels or is a classifier, whose energy of a class is then sampled."""
        require_torch(self.plan)

        from ebmkit.engine.conditioning import Condition

        if isinstance(label, str):
            classes = self.view.names.headings.classes or ()
            if label not in classes:
                raise ValueError(f"there is no class '{label}'; classes are {', '.join(classes[:20]) or 'numbers'}")
            label = classes.index(label)
        if label is not None and (why := label_refusal(self.plan, label)):
            raise ValueError(why)
        return self.view.reseeded(n, seed, None if label is None else Condition(label)).samples(n).cpu()

    def to_arviz(self) -> Any:
        """The draws of long chains for ArviZ: a DataTree of ArviZ 1.0 and later, an InferenceData of earlier versions.

        The states are not copied: memory is used for their statistics, and for what ArviZ computes from them.
        """
        require_torch(self.plan)

        from ebmkit.storage.to_arviz import to_arviz

        self.view.samples(1)
        draws = self.view.draws
        if draws is None:
            raise ValueError(f"{self.folder} has no 'chains:', so every sample is the end of a separate chain")
        return to_arviz(draws.x, draws.seen, self.view.names.headings.coordinates)


def _warn(line: str) -> None:
    """What a verb would print on stderr."""
    warnings.warn(line.removeprefix("warning: "), stacklevel=4)


def open_run(path: str | os.PathLike[str], *, plugins: PluginsGiven = ()) -> Run:
    """Open a run folder. `plugins` are those that the run was made with, if they are in no package."""
    return Run(Path(path), plugins)
