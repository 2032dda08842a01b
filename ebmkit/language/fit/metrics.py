"""Checks that every metric can be measured, and that the values named by `expect:` and `stop:` are measured."""

from __future__ import annotations

from collections.abc import Iterator

from ebmkit.contracts.kinds import Metric
from ebmkit.errors.base import EbmkitError
from ebmkit.errors.fit import (
    AbilityMissing,
    ConditioningMismatch,
    MeasuredTwice,
    SectionMissing,
    UnknownMeasurement,
    Unsuitable,
)
from ebmkit.language.check import Checked
from ebmkit.language.fit.places import MODELS, USUAL, Places, conditioned, event_of, label_of
from ebmkit.registry.spelling import did_you_mean

#: Traces that `chains/draws.py` keeps for long chains.
KEPT_OF_LONG_CHAINS = frozenset({"energy", "acceptance", "divergence"})

#: Needs of metrics that are not abilities of the model.
OF_THE_RUN = frozenset({"samples", "data", "chains", "labels", "truth", "reverse_sde"})


def metric_misfits(checked: Checked, here: Places) -> Iterator[EbmkitError]:
    spec = checked.spec
    first: dict[str, int] = {}
    for position, metric in enumerate(spec.evaluate):
        place = here("evaluate", position)
        yield from _measurable(position, metric, checked, here)
        if "data" in metric.needs and not spec.data:
            yield SectionMissing(f"{label_of(metric)} compares with data, but there is no 'data:'", place)
        if "labels" in metric.needs and spec.data and not spec.data.labelled:
            yield Unsuitable(
                f"{label_of(metric)} compares with labels, but {label_of(spec.data)} has none",
                place,
                other=here("data"),
                other_label="no labels",
            )
        if "truth" in metric.needs and spec.data and not spec.data.known:
            yield Unsuitable(
                f"{label_of(metric)} needs data with a known density, but that of {label_of(spec.data)} is unknown",
                place,
                other=here("data"),
                help="use 'from_model', which draws data from a known model",
            )
        if "samples" in metric.needs and not spec.chain_sampler:
            yield SectionMissing(
                f"{label_of(metric)} needs samples, but there is no 'sampler:'",
                place,
                help="the objective has no sampler of its own; add "
                f"'sampler: {USUAL['sampler', spec.model.conditioning]}' to the spec",
            )
        if "chains" in metric.needs and not spec.chains:
            yield SectionMissing(
                f"{label_of(metric)} compares long chains, but there is no 'chains:'",
                place,
                help="chains: {count: 4} keeps the states of four long chains",
            )
        if spec.chains and spec.chains.count < metric.least_chains:
            yield Unsuitable(
                f"{label_of(metric)} needs at least {metric.least_chains} chains",
                place,
                other=here("chains"),
                other_label=f"{spec.chains.count} chain",
            )
        if metric.every is not None and not spec.train:
            yield SectionMissing(
                f"'every' of {label_of(metric)} counts training steps, but there is no 'train:'", place
            )
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


def _measurable(position: int, metric: Metric, checked: Checked, here: Places) -> Iterator[EbmkitError]:
    model, event = checked.spec.model, event_of(checked)
    if event is not None and (reason := metric.refusal(event, model)):
        yield Unsuitable(
            f"{label_of(metric)} {reason}",
            here("evaluate", position),
            other=here("model"),
            other_label=f"{label_of(model)} with states of shape {event}",
        )
    lacking = sorted(metric.needs - OF_THE_RUN - model.offers)
    if "energy" in metric.needs and model.conditioning is not None:
        yield ConditioningMismatch(
            f"{label_of(metric)} needs an energy of x, but {label_of(model)} takes {conditioned(model.conditioning)}",
            here("evaluate", position),
            other=here("model"),
            other_label=f"takes {conditioned(model.conditioning)}",
            help=f"use {MODELS[None]}",
        )
    elif lacking:
        yield AbilityMissing(
            f"{label_of(metric)} needs '{', '.join(lacking)}', which {label_of(model)} does not offer",
            here("evaluate", position),
            label=f"needs {', '.join(lacking)}",
            other=here("model"),
            other_label=f"offers {', '.join(sorted(model.offers))}",
        )
    yield from _traced(position, metric, checked, here)


def _traced(position: int, metric: Metric, checked: Checked, here: Places) -> Iterator[EbmkitError]:
    """Checks that the chains that draw samples are of the expected kind and report the traces that the metric reads."""
    spec, sampler = checked.spec, checked.spec.chain_sampler
    if "reverse_sde" in metric.needs and (sampler is None or sampler.component_name != "reverse_sde"):
        yield Unsuitable(
            f"{label_of(metric)} needs sampler 'reverse_sde', but "
            + ("there is no 'sampler:'" if sampler is None else f"the spec uses {label_of(sampler)}"),
            here("evaluate", position),
            other=here("sampler") if spec.sampler else None,
            other_label="other chains",
        )
    if sampler is None:
        return
    if silent := sorted(metric.traces - sampler.traces):
        yield AbilityMissing(
            f"{label_of(metric)} needs the {', '.join(silent)} of chains, which {label_of(sampler)} does not report",
            here("evaluate", position),
            label=f"needs {', '.join(silent)}",
            other=here("sampler") if spec.sampler else here("objective", "sampler"),
            other_label=f"reports {', '.join(sorted(sampler.traces)) or 'nothing'}",
        )
    elif spec.chains and (lost := sorted(metric.traces - KEPT_OF_LONG_CHAINS)):
        yield AbilityMissing(
            f"{label_of(metric)} needs the {', '.join(lost)} of chains, which is not kept for long chains",
            here("evaluate", position),
            label=f"needs {', '.join(lost)}",
            other=here("chains"),
            other_label=f"keep {', '.join(sorted(KEPT_OF_LONG_CHAINS))}",
        )


def stop_misfits(checked: Checked, here: Places) -> Iterator[EbmkitError]:
    spec = checked.spec
    followed = [name for metric in spec.evaluate if metric.every for name in metric.results()]
    for position, stage in enumerate(spec.stages):
        if stage.stop and stage.stop.metric not in followed:
            yield UnknownMeasurement(
                f"no metric reports '{stage.stop.metric}' during training",
                here(*spec.stage_path(position), "stop", "metric"),
                label=did_you_mean(stage.stop.metric, followed),
                help="add a metric with 'every' under 'evaluate:'",
            )


def expectation_misfits(checked: Checked, here: Places) -> Iterator[EbmkitError]:
    measured = [name for metric in checked.spec.evaluate for name in metric.results()]
    for position, expectation in enumerate(checked.spec.expect):
        if expectation.metric not in measured:
            yield UnknownMeasurement(
                f"no metric reports '{expectation.metric}'",
                here("expect", position, "metric"),
                label=did_you_mean(expectation.metric, measured),
                help=f"reported: {', '.join(measured)}" if measured else "add a metric under 'evaluate:'",
            )
