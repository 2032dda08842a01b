"""Do the components of a spec fit together? Each misfit names both places."""

from __future__ import annotations

from collections.abc import Iterator

from ebmkit.check import Checked
from ebmkit.component import Component
from ebmkit.errors.base import EbmkitError
from ebmkit.errors.fit import (
    AbilityMissing,
    ConditioningMismatch,
    DataUnreadable,
    MeasuredTwice,
    SectionMissing,
    ShapeMismatch,
    SpaceMismatch,
    TooManyChains,
    UnknownMeasurement,
    Unsuitable,
)
from ebmkit.kinds import Event, Init, Metric, Noise, Objective, Sampler
from ebmkit.place import Path, Place
from ebmkit.spec import walk
from ebmkit.suggest import did_you_mean

#: Steps of a warm-up below which step sizes are still those that it tries first.
SHORTEST = 20
#: What `engine/draws.py` keeps of the steps of long chains.
KEPT_OF_LONG_CHAINS = frozenset({"energy", "acceptance", "divergence"})


def event_of(checked: Checked) -> Event | None:
    """The shape of a state: what the data have, or what the model's parameters fix."""
    spec = checked.spec
    return spec.data.event() if spec.data else spec.model.event()


def misfits(checked: Checked) -> Iterator[EbmkitError]:
    """Everything that cannot work, before anything is built."""
    here = _Places(checked)
    unreadable = list(_data(checked, here))
    yield from unreadable
    yield from _sections(checked, here)
    if unreadable:
        return  # the rest depends on the shape of a state
    yield from _shape(checked, here)
    for path, component in walk(checked.spec):
        if isinstance(component, Sampler) and component.inner():
            continue  # it can do what the sampler inside can, of which all is said
        if isinstance(component, (Sampler, Objective)):
            yield from _model_can(path, component, checked, here)
        if isinstance(component, Sampler):
            yield from _sampler_shape(path, component, checked, here)
        if isinstance(component, (Sampler, Objective, Noise, Metric)):
            yield from _space(path, component, checked, here)
        if isinstance(component, Noise):
            yield from _noise_shape(path, component, checked, here)
            yield from _noise_can(path, component, checked, here)
        if isinstance(component, Init):
            yield from _starts(path, component, checked, here)
    yield from _objective(checked, here)
    yield from _chains(checked, here)
    yield from _metrics(checked, here)
    yield from _early_stops(checked, here)
    yield from _expectations(checked, here)


class _Places:
    """Where the things that do not fit are written."""

    def __init__(self, checked: Checked) -> None:
        self.checked = checked

    def __call__(self, *path: str | int) -> Place:
        """The place of a value; for a default, that of the nearest thing around it."""
        return self.checked.tree.follow(path).head


def _called(component: Component) -> str:
    return f"{component.component_kind} '{component.component_name}'"


def _data(checked: Checked, here: _Places) -> Iterator[EbmkitError]:
    data = checked.spec.data
    try:
        event_of(checked)
    except Exception as error:  # a plugin's data may raise anything
        if data is None:
            raise
        said = f"{error}" if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        yield DataUnreadable(f"{_called(data)}: {said}", here("data"))


def _shape(checked: Checked, here: _Places) -> Iterator[EbmkitError]:
    data, model = checked.spec.data, checked.spec.model
    fixed = model.event()
    if data and fixed is not None and data.event() != fixed:
        yield ShapeMismatch(
            f"{_called(data)} has states of shape {data.event()}, {_called(model)} of shape {fixed}",
            here("model"),
            label=f"shape {fixed}",
            other=here("data"),
            other_label=f"shape {data.event()}",
        )
    elif data and (reason := model.refusal(data.event())):
        yield ShapeMismatch(
            f"{_called(model)} {reason}",
            here("model"),
            other=here("data"),
            other_label=f"shape {data.event()}",
        )
    if data and data.space != model.space:
        yield SpaceMismatch(
            f"{_called(data)} is {data.space}, {_called(model)} is {model.space}",
            here("model"),
            label=model.space,
            other=here("data"),
            other_label=data.space,
        )
    if not data and fixed is None:
        yield SectionMissing(f"{_called(model)} takes its shape from data, and there is no 'data:'", here("model"))


def _sections(checked: Checked, here: _Places) -> Iterator[EbmkitError]:
    spec = checked.spec
    if spec.train:
        for name in ("data", "objective"):
            if getattr(spec, name) is None:
                yield SectionMissing(f"training needs '{name}:'", here("train"))
    elif spec.objective:
        yield SectionMissing(
            f"{_called(spec.objective)} is there to train, and there is no 'train:'",
            here("objective"),
            help="train: {steps: 1000}",
        )
    elif not spec.sampler:
        yield SectionMissing(
            "there is nothing to do: no 'train:' and no 'sampler:'",
            here("model"),
            help="a sampler alone makes a sampling experiment",
        )


def _model_can(path: Path, component: Sampler | Objective, checked: Checked, here: _Places) -> Iterator[EbmkitError]:
    model = checked.spec.model
    lacking = sorted(component.needs - model.offers)
    if lacking:
        yield AbilityMissing(
            f"{_called(component)} needs '{', '.join(lacking)}', which {_called(model)} does not offer",
            here(*path),
            label=f"needs {', '.join(lacking)}",
            other=here("model"),
            other_label=f"offers {', '.join(sorted(model.offers))}",
        )
    if component.conditioning != model.conditioning:
        yield ConditioningMismatch(
            f"{_called(component)} works with {_conditioned(component.conditioning)}, "
            f"{_called(model)} is {_conditioned(model.conditioning)}",
            here(*path),
            other=here("model"),
            other_label=f"conditioned on {model.conditioning or 'nothing'}",
        )


def _conditioned(on: str | None) -> str:
    return f"a model conditioned on {on}" if on else "a model without conditioning"


def _space(
    path: Path, component: Sampler | Objective | Noise | Metric, checked: Checked, here: _Places
) -> Iterator[EbmkitError]:
    model = checked.spec.model
    if model.space not in component.spaces:
        yield SpaceMismatch(
            f"{_called(component)} works on {' or '.join(sorted(component.spaces))} states, "
            f"{_called(model)} has {model.space} ones",
            here(*path),
            other=here("model"),
            other_label=f"{model.space} states",
        )


def _noise_shape(path: Path, noise: Noise, checked: Checked, here: _Places) -> Iterator[EbmkitError]:
    event, fixed = event_of(checked), noise.event()
    if event is not None and fixed is not None and event != fixed:
        yield ShapeMismatch(
            f"{_called(noise)} has states of shape {fixed}, the model of shape {event}",
            here(*path),
            label=f"shape {fixed}",
            other=here("data") if checked.spec.data else here("model"),
            other_label=f"shape {event}",
        )


def _noise_can(path: Path, noise: Noise, checked: Checked, here: _Places) -> Iterator[EbmkitError]:
    objective = checked.spec.objective
    if objective is None or path[:-1] != ("objective",):
        return
    if lacking := sorted(objective.noise_needs - noise.offers):
        yield AbilityMissing(
            f"{_called(objective)} needs noise that is '{', '.join(lacking)}', which {_called(noise)} is not",
            here(*path),
            label=f"offers {', '.join(sorted(noise.offers))}",
            other=here("objective"),
            other_label=f"needs {', '.join(sorted(objective.noise_needs))}",
        )


def _objective(checked: Checked, here: _Places) -> Iterator[EbmkitError]:
    spec, event = checked.spec, event_of(checked)
    objective, data, model = spec.objective, spec.data, spec.model
    if objective is None:
        return
    if event is not None and (reason := objective.refusal(event, model)):
        yield Unsuitable(
            f"{_called(objective)} {reason}",
            here("objective"),
            other=here("model"),
            other_label=f"{_called(model)} with states of shape {event}",
        )
    if objective.needs_labels and data and not data.labelled:
        yield Unsuitable(
            f"{_called(objective)} learns from labels, and {_called(data)} has none",
            here("objective"),
            other=here("data"),
            other_label="no labels",
        )


def _starts(path: Path, init: Init, checked: Checked, here: _Places) -> Iterator[EbmkitError]:
    spec = checked.spec
    if init.needs_data and not spec.data:
        yield SectionMissing(f"{_called(init)} starts chains at data points, and there is no 'data:'", here(*path))
    capacity = init.capacity()
    if capacity is None or path[0] != "objective":
        return
    for position, stage in enumerate(spec.stages):
        if stage.batch_size > capacity:
            yield TooManyChains(
                f"{_called(init)} holds {capacity} chains, and a batch needs {stage.batch_size}",
                here(*path),
                label=f"{capacity} chains",
                other=here(*spec.stage_path(position), "batch_size"),
                other_label=f"{stage.batch_size} a batch",
            )


def _sampler_shape(path: Path, sampler: Sampler, checked: Checked, here: _Places) -> Iterator[EbmkitError]:
    event = event_of(checked)
    if event is not None and (reason := sampler.refusal(event)):
        yield ShapeMismatch(
            f"{_called(sampler)} {reason}",
            here(*path),
            other=here("data") if checked.spec.data else here("model"),
            other_label=f"shape {event}",
        )


def _chains(checked: Checked, here: _Places) -> Iterator[EbmkitError]:
    chains, sampler, init = checked.spec.chains, checked.spec.sampler, checked.spec.init
    if chains is None:
        return
    if sampler is None:
        yield SectionMissing("'chains:' are those of a 'sampler:', and there is none", here("chains"))
        return
    default = getattr(type(sampler), "steps", sampler.steps)
    if sampler.steps != default:  # which a resolved spec writes out
        yield Unsuitable(
            f"{_called(sampler)} has 'steps', and how long its chains are follows from 'chains' and 'samples'",
            here("sampler", "steps"),
            other=here("chains"),
            other_label="says how many states are kept, and how many steps lie between",
        )
    if chains.warmup not in ("auto", 0) and not sampler.tunes():
        yield Unsuitable(
            f"{_called(sampler)} has nothing that a warm-up could tune",
            here("chains", "warmup"),
            other=here("sampler"),
            help="'burn_in' throws steps away without tuning",
        )
    elif chains.warmup != "auto" and 0 < chains.warmup < SHORTEST:
        yield Unsuitable(
            f"a warm-up of {chains.warmup} steps finds nothing, and leaves a step size that is worse than the spec's",
            here("chains", "warmup"),
            help=f"{SHORTEST} are the fewest; 0 leaves the step size as it is",
        )
    capacity = init.capacity()
    if capacity is not None and capacity < chains.count:
        yield TooManyChains(
            f"{_called(init)} holds {capacity} chains, and {chains.count} are wanted",
            here("init"),
            label=f"{capacity} chains",
            other=here("chains"),
            other_label=f"{chains.count} chains",
        )


def _metrics(checked: Checked, here: _Places) -> Iterator[EbmkitError]:
    spec = checked.spec
    first: dict[str, int] = {}
    for position, metric in enumerate(spec.evaluate):
        place = here("evaluate", position)
        yield from _measurable(position, metric, checked, here)
        if "data" in metric.needs and not spec.data:
            yield SectionMissing(f"{_called(metric)} compares with data, and there is no 'data:'", place)
        if "labels" in metric.needs and spec.data and not spec.data.labelled:
            yield Unsuitable(
                f"{_called(metric)} compares with labels, and {_called(spec.data)} has none",
                place,
                other=here("data"),
                other_label="no labels",
            )
        if "truth" in metric.needs and spec.data and not spec.data.known:
            yield Unsuitable(
                f"{_called(metric)} needs data whose density is known, and that of {_called(spec.data)} is not",
                place,
                other=here("data"),
                help="'from_model' draws data from a model that is known",
            )
        if "samples" in metric.needs and not spec.chain_sampler:
            yield SectionMissing(
                f"{_called(metric)} needs samples, and there is no 'sampler:'",
                place,
                help="the objective has no sampler of its own; add 'sampler: langevin' to the spec",
            )
        if "chains" in metric.needs and not spec.chains:
            yield SectionMissing(
                f"{_called(metric)} compares long chains, and there is no 'chains:'",
                place,
                help="chains: {count: 4} keeps the states of four long chains",
            )
        if spec.chains and spec.chains.count < metric.least_chains:
            yield Unsuitable(
                f"{_called(metric)} compares {metric.least_chains} chains or more",
                place,
                other=here("chains"),
                other_label=f"{spec.chains.count} chain",
            )
        if metric.every is not None and not spec.train:
            yield SectionMissing(f"'every' of {_called(metric)} counts training steps, and there is no 'train:'", place)
        for name in metric.results():
            if name in first:
                yield MeasuredTwice(
                    f"'{name}' is measured twice",
                    place,
                    label="again",
                    other=here("evaluate", first[name]),
                    other_label="first here",
                )
                break
            first[name] = position


def _measurable(position: int, metric: Metric, checked: Checked, here: _Places) -> Iterator[EbmkitError]:
    model, event = checked.spec.model, event_of(checked)
    if event is not None and (reason := metric.refusal(event, model)):
        yield Unsuitable(
            f"{_called(metric)} {reason}",
            here("evaluate", position),
            other=here("model"),
            other_label=f"{_called(model)} with states of shape {event}",
        )
    lacking = sorted(metric.needs - {"samples", "data", "chains", "labels", "truth"} - model.offers)
    if lacking:
        yield AbilityMissing(
            f"{_called(metric)} needs '{', '.join(lacking)}', which {_called(model)} does not offer",
            here("evaluate", position),
            label=f"needs {', '.join(lacking)}",
            other=here("model"),
            other_label=f"offers {', '.join(sorted(model.offers))}",
        )
    if "energy" in metric.needs and model.conditioning is not None:
        yield ConditioningMismatch(
            f"{_called(metric)} works with {_conditioned(None)}, "
            f"{_called(model)} is {_conditioned(model.conditioning)}",
            here("evaluate", position),
            other=here("model"),
            other_label=f"conditioned on {model.conditioning}",
        )
    yield from _traced(position, metric, checked, here)


def _traced(position: int, metric: Metric, checked: Checked, here: _Places) -> Iterator[EbmkitError]:
    """Do the chains that draw samples report what the metric reads?"""
    spec, sampler = checked.spec, checked.spec.chain_sampler
    if sampler is None:
        return
    if silent := sorted(metric.traces - sampler.traces):
        yield AbilityMissing(
            f"{_called(metric)} needs the {', '.join(silent)} of chains, which {_called(sampler)} does not report",
            here("evaluate", position),
            label=f"needs {', '.join(silent)}",
            other=here("sampler") if spec.sampler else here("objective", "sampler"),
            other_label=f"reports {', '.join(sorted(sampler.traces)) or 'nothing'}",
        )
    elif spec.chains and (lost := sorted(metric.traces - KEPT_OF_LONG_CHAINS)):
        yield AbilityMissing(
            f"{_called(metric)} needs the {', '.join(lost)} of chains, which is not kept of long ones",
            here("evaluate", position),
            label=f"needs {', '.join(lost)}",
            other=here("chains"),
            other_label=f"keep {', '.join(sorted(KEPT_OF_LONG_CHAINS))}",
        )


def _early_stops(checked: Checked, here: _Places) -> Iterator[EbmkitError]:
    spec = checked.spec
    followed = [name for metric in spec.evaluate if metric.every for name in metric.results()]
    for position, stage in enumerate(spec.stages):
        if stage.stop and stage.stop.metric not in followed:
            yield UnknownMeasurement(
                f"nothing measures '{stage.stop.metric}' during training",
                here(*spec.stage_path(position), "stop", "metric"),
                label=did_you_mean(stage.stop.metric, followed),
                help="a metric under 'evaluate:' with 'every' does",
            )


def _expectations(checked: Checked, here: _Places) -> Iterator[EbmkitError]:
    measured = [name for metric in checked.spec.evaluate for name in metric.results()]
    for position, expectation in enumerate(checked.spec.expect):
        if expectation.metric not in measured:
            yield UnknownMeasurement(
                f"nothing measures '{expectation.metric}'",
                here("expect", position, "metric"),
                label=did_you_mean(expectation.metric, measured),
                help=f"measured: {', '.join(measured)}" if measured else "add a metric under 'evaluate:'",
            )
