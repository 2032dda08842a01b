"""The view of newly built parts."""

from __future__ import annotations

from pathlib import Path

from ebmkit.engine.folder.history import History, Write
from ebmkit.engine.parts import Parts
from ebmkit.engine.rng import Streams
from ebmkit.engine.run_view import RunView
from ebmkit.engine.statistic import Statistic
from ebmkit.engine.telling.divergence import explain
from ebmkit.errors.base import EbmkitError
from ebmkit.language.plan import Plan


def assemble(
    plan: Plan,
    parts: Parts,
    folder: Path | None = None,
    *,
    streams: Streams | None = None,
    write: Write = lambda step, values: None,
    lag: int = 0,
) -> RunView:
    """A view of newly built parts, with an empty history; `write` receives what is recorded."""

    def why(statistic: Statistic, value: float, step: int) -> EbmkitError:
        return explain(plan, parts, history.values("gradient_norm"), statistic, value, step)

    history = History(plan.spec.steps, write, why, lag=lag)
    return RunView(plan, parts, streams or Streams(plan.spec.seed, parts.device), history, folder)
