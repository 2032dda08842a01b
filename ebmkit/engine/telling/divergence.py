"""The cause of a number that is not finite."""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor

from ebmkit.engine.parts import Parts
from ebmkit.engine.statistic import Statistic, Turn
from ebmkit.engine.telling.error_site import label_at
from ebmkit.errors.running import Diverged
from ebmkit.language.plan import Plan


def explain(plan: Plan, parts: Parts, statistic: Statistic, value: float, step: int) -> Diverged:
    """The error for a statistic that became `value` at `step`, with the first cause that can be found."""
    if statistic.cause:
        statistic = statistic.cause()
    # A statistic that is only checked is a sum over many numbers, whose value is of no interest.
    what = f"{statistic.name} " + (f"became {value}" if statistic.recorded else "is not finite")
    detail = f": {statistic.detail}" if statistic.detail else ""
    return Diverged(
        f"{label_at(plan, statistic.path)}: {what} at step {step}{detail}",
        plan.place(statistic.path),
        label=what,
        help=_cause(parts, statistic),
    )


def _cause(parts: Parts, statistic: Statistic) -> str:
    modules = {"model": parts.model, "extras": parts.extras}
    for name, module in modules.items():
        if module and (weight := _first(module.named_parameters())):
            return f"'{weight}' of the {name} is not finite; a smaller learning rate or clip_gradient may prevent this"
    for name, module in modules.items():
        if module and (buffer := _first(module.named_buffers())):
            return f"'{buffer}', which the {name} keeps from step to step, is not finite; all weights are finite"
    if statistic.help:
        return statistic.help
    for name, module in modules.items() if statistic.turn > Turn.OUTPUT else ():  # of earlier ones they are results
        gradients = ((weight, p.grad) for weight, p in module.named_parameters()) if module else ()
        if weight := _first(gradients):
            return f"the gradient of '{weight}' of the {name} is not finite; all weights are finite"
    return "all weights and gradients are finite: the number itself, or a sum in it, exceeds the range of its dtype"


def _first(named: Iterable[tuple[str, Tensor | None]]) -> str:
    """The name of the first tensor that is not finite."""
    return next((name for name, tensor in named if tensor is not None and not bool(tensor.isfinite().all())), "")
