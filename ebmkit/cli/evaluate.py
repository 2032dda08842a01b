"""`ebmkit evaluate RUN`: evaluate a run again."""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path

import click

from ebmkit.cli.common import error_options, load_plan, plugin_option, run_argument
from ebmkit.cli.complete import complete_metric
from ebmkit.cli.output import echo, echo_json
from ebmkit.engine.folder.run_summary import read_summary
from ebmkit.engine.torch_needed import require_torch
from ebmkit.errors.base import Mistakes


@click.command("evaluate")
@run_argument()
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="METRIC",
    shell_complete=complete_metric,
    help="A name, or {use: name, ...}, instead of the run's own metrics. Repeatable.",
)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="A seed other than the run's, for different samples.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@plugin_option
@error_options
def command(run: Path, metrics: tuple[str, ...], seed: int | None, as_json: bool, plugins: tuple[str, ...]) -> None:
    """Evaluate the last checkpoint of RUN, with its own metrics or with others. The run is not changed.

    A metric that fails does not affect the others; all failures are shown at the end.
    """
    plan = load_plan(str(run / "resolved.yaml"), (), (), plugins)
    if metrics:
        sets = [f"evaluate=[{', '.join(metrics)}]", "expect=[]"]
        asked = load_plan(str(run / "resolved.yaml"), sets, (), plugins)
        # Only those that were named; and the weights are those of the original run.
        named = tuple(metric for at, metric in enumerate(asked.spec.evaluate) if asked.tree.find(("evaluate", at)))
        spec = dataclasses.replace(asked.spec, evaluate=named)
        plan = dataclasses.replace(asked, spec=spec, hash=plan.hash)
    if not plan.spec.evaluate:
        raise click.UsageError(f"{run} has no metrics; name one with --metric")
    require_torch(plan)

    from ebmkit.engine.evaluation import Evaluation
    from ebmkit.engine.expectations import unmet
    from ebmkit.engine.sampling import give_final_samples, view_of
    from ebmkit.engine.signals import Signals
    from ebmkit.engine.telling.chain_words import chain_words

    with Signals():
        view = view_of(plan, run, seed=seed, say=partial(echo, err=True))
        if plan.spec.chains and seed is None:  # long chains are not run again
            give_final_samples(view, run, read_summary(run))
        least = plan.spec.samples if view.can_sample else 0
        evaluation = Evaluation(view, lambda doubt: echo(f"warning: {doubt}", err=True))
        measured = evaluation.measure(plan.spec.evaluate, at_least=least)
    if as_json:
        failed = [failure.plain() for failure in measured.failed]
        found = {"results": measured.results, "failed": failed, "sampling": chain_words(plan.spec)}
        echo_json({"folder": str(run), "step": view.step, **found}, indent=None)
    else:
        shown = {name: f"{value:.6g}" for name, value in measured.results.items()}
        for failure in measured.failed:
            shown |= dict.fromkeys(failure.results, f"failed: {failure.error.message}")
        wide = max(map(len, shown))
        for name, words in shown.items():
            echo(f"{name:<{wide}}  {words}")
    mistakes = [*(failure.error for failure in measured.failed), *unmet(plan, measured)]
    if mistakes:
        raise Mistakes(mistakes)
