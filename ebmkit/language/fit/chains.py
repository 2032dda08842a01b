"""Checks that samplers and initial states fit the model, the data and each other."""

from __future__ import annotations

from collections.abc import Iterator

from ebmkit.contracts.kinds import Init, Sampler
from ebmkit.errors.base import EbmkitError
from ebmkit.errors.fit import SectionMissing, TooManyChains, Unsuitable
from ebmkit.errors.source import Path
from ebmkit.language.check import Checked
from ebmkit.language.fit.places import Places, label_of
from ebmkit.language.sections import Chains, Spec

#: Fewest steps of a warm-up; shorter ones end while step sizes are still the first that are tried.
SHORTEST = 20

#: Where chains begin unless a spec says so.
_DEFAULT_INIT = Spec.__dataclass_fields__["init"].default


def start_misfits(path: Path, init: Init, checked: Checked, here: Places) -> Iterator[EbmkitError]:
    spec = checked.spec
    if init.needs_data and not spec.data:
        yield SectionMissing(f"{label_of(init)} starts chains at data points, but there is no 'data:'", here(*path))
    capacity = init.capacity()
    if capacity is None or path[0] != "objective":
        return
    for position, stage in enumerate(spec.stages):
        if stage.batch_size > capacity:
            yield TooManyChains(
                f"{label_of(init)} holds {capacity} chains, but a batch needs {stage.batch_size}",
                here(*path),
                label=f"{capacity} chains",
                other=here(*spec.stage_path(position), "batch_size"),
                other_label=f"{stage.batch_size} per batch",
            )


def chain_misfits(checked: Checked, here: Places) -> Iterator[EbmkitError]:
    """Does the sampler suit `init:` and `chains:`?"""
    chains, sampler = checked.spec.chains, checked.spec.sampler
    if sampler and sampler.traits().from_noise:
        yield from _from_noise_misfits(sampler, checked, here)
    elif chains and sampler:
        yield from _long_chain_misfits(chains, sampler, here)
        yield from _capacity_misfits(chains, checked.spec.init, here)
    elif chains:
        yield SectionMissing("'chains:' are those of a 'sampler:', and there is none", here("chains"))


def _from_noise_misfits(sampler: Sampler, checked: Checked, here: Places) -> Iterator[EbmkitError]:
    """Chains that go once from noise to a sample have no start and no states to keep on the way."""
    init = checked.spec.init
    if init != _DEFAULT_INIT:  # which a resolved spec writes out
        yield Unsuitable(
            f"{label_of(sampler)} starts from noise of its own, so that {label_of(init)} has no effect",
            here("init"),
            other=here("sampler"),
            help="leave out 'init:'",
        )
    if checked.spec.chains:
        yield Unsuitable(
            f"{label_of(sampler)} goes once from noise to a sample, but long chains keep states on the way",
            here("chains"),
            other=here("sampler"),
            help="leave out 'chains:'; every sample is then the end of a separate chain",
        )


def _long_chain_misfits(chains: Chains, sampler: Sampler, here: Places) -> Iterator[EbmkitError]:
    """Are the lengths of long chains, and of their warm-up, said once?"""
    default = getattr(type(sampler), "steps", sampler.steps)
    if sampler.steps != default:  # which a resolved spec writes out
        yield Unsuitable(
            f"{label_of(sampler)} has 'steps', but the length of its chains follows from 'chains' and 'samples'",
            here("sampler", "steps"),
            other=here("chains"),
            other_label="sets how many states are kept and the steps between them",
            help="leave out 'steps'",
        )
    if chains.warmup not in ("auto", 0) and not sampler.tunes():
        yield Unsuitable(
            f"{label_of(sampler)} has no parameters that a warm-up could tune",
            here("chains", "warmup"),
            other=here("sampler"),
            help="'burn_in' discards steps without tuning",
        )
    elif chains.warmup != "auto" and 0 < chains.warmup < SHORTEST:
        yield Unsuitable(
            f"a warm-up of {chains.warmup} steps is too short: it leaves a step size that is worse than the spec's",
            here("chains", "warmup"),
            help=f"use at least {SHORTEST} steps; 0 leaves the step size as it is",
        )


def _capacity_misfits(chains: Chains, init: Init, here: Places) -> Iterator[EbmkitError]:
    """Can as many chains start?"""
    capacity = init.capacity()
    if capacity is not None and capacity < chains.count:
        yield TooManyChains(
            f"{label_of(init)} holds {capacity} chains, but {chains.count} are wanted",
            here("init"),
            label=f"{capacity} chains",
            other=here("chains"),
            other_label=f"{chains.count} chains",
        )
