"""A one-line summary of an experiment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.engine.telling.chain_words import begun

if TYPE_CHECKING:
    from ebmkit.contracts.kinds import Sampler
    from ebmkit.engine.run_view import RunView


def recipe(view: RunView) -> list[str]:
    """The main components, in the order in which they act."""
    spec, sampler = view.plan.spec, view.plan.chain_sampler
    return [
        *([spec.data.component_name] if spec.data else []),
        spec.model.component_name,
        *([f"{_objectives(view)}, {_steps(view.step)}"] if spec.train else []),
        *([f"{sampler.component_name}, {_length(view, sampler)}"] if sampler else []),
        f"seed {view.streams.seed}",
        *([f"label {view.names.label(label)}"] if (label := _label(view)) is not None else []),
    ]


def _objectives(view: RunView) -> str:
    """The objectives of all stages, each once."""
    spec = view.plan.spec
    found = (spec.objective_of(index) for index in range(len(spec.stages)))
    return " and ".join(dict.fromkeys(objective.component_name for objective in found if objective))


def _label(view: RunView) -> int | None:
    """The label that all samples were asked to have."""
    return view.condition.label if view.condition else None


def _length(view: RunView, sampler: Sampler) -> str:
    spec = view.plan.spec
    if spec.chains is None or view.draws is None:
        return f"{_steps(sampler.steps)} {begun(spec)}"
    count, draws = view.draws.x.shape[:2]
    length = _steps(spec.chains.length(sampler, count * draws))
    return f"{count:,} chain{'' if count == 1 else 's'} of {length} {begun(spec)}"


def _steps(count: int) -> str:
    return f"{count:,} step" + ("" if count == 1 else "s")
