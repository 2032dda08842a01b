"""The verdict of a run: a metric that every run with data and a sampler has, whether its spec lists it or not."""

from __future__ import annotations

import dataclasses

from ebmkit.components.metrics.verdict import FEWEST, Verdict
from ebmkit.errors.source import Path
from ebmkit.language.check import Checked
from ebmkit.language.sections import Spec

#: Why it is among the metrics, for the resolved spec.
REASON = "every run with data and a sampler is judged"


def with_verdict(checked: Checked) -> tuple[Checked, dict[Path, str]]:
    """The spec with `verdict` added to its metrics, and the reason by the path of it; unchanged if it is listed.

    It is added before anything is checked, so that `expect:` may name its results.
    """
    spec = checked.spec
    try:
        if any(isinstance(metric, Verdict) for metric in spec.evaluate) or not _can_be_judged(spec):
            return checked, {}
    except Exception:  # of a component, which the checks that follow report
        return checked, {}
    evaluate = (*spec.evaluate, Verdict())
    reasons: dict[Path, str] = {("evaluate", len(spec.evaluate)): REASON}
    return dataclasses.replace(checked, spec=dataclasses.replace(spec, evaluate=evaluate)), reasons


def _can_be_judged(spec: Spec) -> bool:
    if spec.data is None or spec.chain_sampler is None:
        return False
    points = spec.data.point_count("test")
    return spec.model.traits().space in Verdict().traits().spaces and (points is None or points >= FEWEST)
