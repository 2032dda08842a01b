"""Checks that every metric can be measured, and that the values named by `expect:` and `stop:` are measured."""

from __future__ import annotations

from collections.abc import Iterator

from ebmkit.contracts.kinds import Metric
from ebmkit.contracts.kinds.metric import OF_THE_RUN
from ebmkit.contracts.traits import offered_to
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
from ebmkit.language.fit.places import Places, conditioned, label_of, model_for, question_of
from ebmkit.registry.spelling import did_you_mean

#: Traces that `chains/draws.py` keeps for long chains.
KEPT_OF_LONG_CHAINS = frozenset({"energy", "acceptance", "divergence"})


def metric_misfits(checked: Checked, here: Places) -> Iterator[EbmkitError]:
    """Checks that the spec has what every metric needs, and that names of results are unique."""
    first: dict[str, int] = {}
    for position, metric in enumerate(checked.spec.evaluate):
        yield from _ability_misfits(position, metric, checked, here)
        yield from _trace_misfits(position, metric, checked, here)
        yield from _data_misfits(position, metric, checked, here)
        yield from _sample_misfits(position, metric, checked, here)
        for name in _reported(metric, checked):
            if name in first:
                yield MeasuredTwice(
                    f"'{name}' is measured twice",
                    here("evaluate", position),
                    label="again",
                    other=here("evaluate", first[name]),
                    other_label="first here",
                )
                break
            first[name] = position


def _data_misfits(position: int, metric: Metric, checked: Checked, here: Places) -> Iterator[EbmkitError]:
    """Checks for the data, labels or densities that a metric compares with."""
    needs, data, place = metric.traits().needs, checked.spec.data, here("evaluate", position)
    if "data" in needs and not data:
        yield SectionMissing(f"{label_of(metric)} compares with data, but there is no 'data:'", place)
    if "labels" in needs and data and not data.traits().labelled:
        yield Unsuitable(
            f"{label_of(metric)} compares with labels, but {label_of(data)} has none",
            place,
            other=here("data"),
            other_label="no labels",
        )
    if "truth" in needs and data and not data.traits().known:
        yield Unsuitable(
            f"{label_of(metric)} needs data with a known density, but that of {label_of(data)} is unknown",
            place,
            other=here("data"),
            help="see 'ebmkit list data' for data drawn from a known density",
        )


def _sample_misfits(position: int, metric: Metric, checked: Checked, here: Places) -> Iterator[EbmkitError]:
    """Checks for the samples, chains and training steps that a metric uses."""
    spec, traits, place = checked.spec, metric.traits(), here("evaluate", position)
    if "samples" in traits.needs and not spec.chain_sampler:
        fitting = here.fitting("sampler")
        yield SectionMissing(
            f"{label_of(metric)} needs samples, but there is no 'sampler:'",
            place,
            help="neither the objective nor the model has a default; add a 'sampler:'"
            + (f", such as {fitting}" if fitting else ""),
        )
    if "chains" in traits.needs and not spec.chains:
        yield SectionMissing(
            f"{label_of(metric)} compares long chains, but there is no 'chains:'",
            place,
            help="chains: {count: 4} keeps the states of four long chains",
        )
    if spec.chains and spec.chains.count < traits.least_chains:
        yield Unsuitable(
            f"{label_of(metric)} needs at least {traits.least_chains} chains",
            place,
            other=here("chains"),
            other_label=f"{spec.chains.count} chain",
        )
    if spec.chains and spec.chains.draws(spec.samples) < traits.least_draws:
        yield Unsuitable(
            f"{label_of(metric)} needs at least {traits.least_draws} states of every chain, but {spec.samples} samples "
            f"of {spec.chains.count} chains are {spec.chains.draws(spec.samples)} of each",
            place,
            other=here("chains"),
            other_label=f"{spec.chains.count} chains",
            help=f"set 'samples' to at least {traits.least_draws * spec.chains.count}",
        )
    if "training" in traits.needs and not spec.train:
        yield SectionMissing(
            f"{label_of(metric)} reads what training recorded, but there is no 'train:'",
            place,
            help="leave this metric out of a sampling experiment",
        )
    if metric.every is not None and not spec.train:
        yield SectionMissing(f"'every' of {label_of(metric)} counts training steps, but there is no 'train:'", place)


def _ability_misfits(position: int, metric: Metric, checked: Checked, here: Places) -> Iterator[EbmkitError]:
    """Checks that the model has the abilities that a metric needs."""
    model, needs = checked.spec.model, metric.traits().needs
    takes, offers = model.traits().conditioning, offered_to(metric.traits(), model.traits())
    if "energy" in needs and takes is not None:
        yield ConditioningMismatch(
            f"{label_of(metric)} needs an energy of x, but {label_of(model)} takes {conditioned(takes)}",
            here("evaluate", position),
            other=here("model"),
            other_label=f"takes {conditioned(takes)}",
            help=f"use {model_for(None)}",
        )
    elif lacking := sorted(needs - OF_THE_RUN - offers):
        yield AbilityMissing(
            f"{label_of(metric)} needs '{', '.join(lacking)}', which {label_of(model)} does not offer",
            here("evaluate", position),
            label=f"needs {', '.join(lacking)}",
            other=here("model"),
            other_label=f"offers {', '.join(sorted(model.traits().offers))}",
        )


def _trace_misfits(position: int, metric: Metric, checked: Checked, here: Places) -> Iterator[EbmkitError]:
    """Checks that the chains that draw samples report the traces that a metric reads."""
    spec, sampler = checked.spec, checked.spec.chain_sampler
    if sampler is None:
        return
    if silent := sorted(metric.traits().traces - sampler.traits().traces):
        yield AbilityMissing(
            f"{label_of(metric)} needs the {', '.join(silent)} of chains, which {label_of(sampler)} does not report",
            here("evaluate", position),
            label=f"needs {', '.join(silent)}",
            other=here(*spec.chain_sampler_path),
            other_label=f"reports {', '.join(sorted(sampler.traits().traces)) or 'nothing'}",
        )
    elif spec.chains and (lost := sorted(metric.traits().traces - KEPT_OF_LONG_CHAINS)):
        yield AbilityMissing(
            f"{label_of(metric)} needs the {', '.join(lost)} of chains, which is not kept for long chains",
            here("evaluate", position),
            label=f"needs {', '.join(lost)}",
            other=here("chains"),
            other_label=f"keep {', '.join(sorted(KEPT_OF_LONG_CHAINS))}",
        )


def stop_misfits(checked: Checked, here: Places) -> Iterator[EbmkitError]:
    spec = checked.spec
    followed = [name for metric in spec.evaluate if metric.every for name in _reported(metric, checked)]
    for position, stage in enumerate(spec.stages):
        if stage.stop and stage.stop.metric not in followed:
            yield UnknownMeasurement(
                f"no metric reports '{stage.stop.metric}' during training",
                here(*spec.stage_path(position), "stop", "metric"),
                label=did_you_mean(stage.stop.metric, followed),
                help="add a metric with 'every' under 'evaluate:'",
            )


def expectation_misfits(checked: Checked, here: Places) -> Iterator[EbmkitError]:
    measured = [name for metric in checked.spec.evaluate for name in _reported(metric, checked)]
    for position, expectation in enumerate(checked.spec.expect):
        if expectation.metric not in measured:
            yield UnknownMeasurement(
                f"no metric reports '{expectation.metric}'",
                here("expect", position, "metric"),
                label=did_you_mean(expectation.metric, measured),
                help=f"reported: {', '.join(measured)}" if measured else "add a metric under 'evaluate:'",
            )


def _reported(metric: Metric, checked: Checked) -> tuple[str, ...]:
    """The names of what a metric reports in this experiment."""
    question = question_of(checked)
    return metric.results() if question is None else metric.results_in(question)
