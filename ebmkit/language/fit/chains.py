"""Checks that samplers and initial states fit the model, the data and each other."""

from __future__ import annotations

from collections.abc import Iterator

from ebmkit.contracts.kinds import Init, Noise, Sampler
from ebmkit.contracts.walk import walk
from ebmkit.errors.base import EbmkitError
from ebmkit.errors.fit import SectionMissing, TooManyChains, Unsuitable
from ebmkit.errors.source import Path
from ebmkit.language.check import Checked
from ebmkit.language.fit.places import Places, label_of
from ebmkit.language.sections import Chains, Spec
from ebmkit.language.stages import objective_root

#: Fewest steps of a warm-up; shorter ones end while step sizes are still the first that are tried.
SHORTEST = 20

#: The default of `init:`.
_DEFAULT_INIT = Spec.__dataclass_fields__["init"].default


def start_misfits(path: Path, init: Init, checked: Checked, here: Places) -> Iterator[EbmkitError]:
    spec = checked.spec
    if init.needs_data and not spec.data:
        yield SectionMissing(f"{label_of(init)} starts chains at data points, but there is no 'data:'", here(*path))
    capacity, root = init.capacity(), objective_root(path)
    if capacity is None or root is None:
        return
    in_noise = any(isinstance(outer, Noise) and at == path[: len(at)] for at, outer in walk(spec))
    ratio = spec.objective.traits().noise_ratio if in_noise and spec.objective else 1.0
    for position, stage in enumerate(spec.stages):
        if spec.objective_path(position) != root:
            continue
        # The product of numbers that a spec may say can be infinite.
        if (needed := max(1, round(min(ratio * stage.batch_size, 2.0**63)))) > capacity:
            yield TooManyChains(
                f"{label_of(init)} holds {capacity} chains, but a batch needs {needed}",
                here(*path),
                label=f"{capacity} chains",
                other=here(*spec.stage_path(position), "batch_size"),
                other_label=f"{needed} per batch",
            )


def chain_misfits(checked: Checked, here: Places) -> Iterator[EbmkitError]:
    """Checks that the sampler suits `init:` and `chains:`."""
    chains, sampler = checked.spec.chains, checked.spec.sampler
    if sampler and sampler.traits().from_noise:
        yield from _from_noise_misfits(sampler, checked, here)
    elif chains and sampler and sampler.traits().searches:
        yield Unsuitable(
            f"{label_of(sampler)} searches for one state of low energy, so it cannot run long chains that keep many",
            here("chains"),
            other=here("sampler"),
            help="leave out 'chains:', and set the number of searches by 'samples:'",
        )
    elif chains and sampler and sampler.traits().interacting:
        yield Unsuitable(
            f"{label_of(sampler)} lets its chains move each other, so R-hat and ESS of long chains would be wrong",
            here("chains"),
            other=here("sampler"),
            help="leave out 'chains:'; the samples are then the ends of chains that run together",
        )
    elif chains and sampler:
        yield from _long_chain_misfits(chains, sampler, here)
        yield from _capacity_misfits(chains, checked.spec.init, here)
    elif chains:
        yield SectionMissing("'chains:' needs a 'sampler:', but there is none", here("chains"))


def _from_noise_misfits(sampler: Sampler, checked: Checked, here: Places) -> Iterator[EbmkitError]:
    """Checks for samplers that go once from noise to a sample: they take neither initial states nor long chains."""
    init = checked.spec.init
    if init != _DEFAULT_INIT:  # which a resolved spec writes out
        yield Unsuitable(
            f"{label_of(sampler)} starts from its own noise, so {label_of(init)} would have no effect",
            here("init"),
            other=here("sampler"),
            help="leave out 'init:'",
        )
    if checked.spec.chains:
        yield Unsuitable(
            f"{label_of(sampler)} goes once from noise to a sample, so it cannot run long chains that keep many states",
            here("chains"),
            other=here("sampler"),
            help="leave out 'chains:'; every sample is then the end of a separate chain",
        )


def _long_chain_misfits(chains: Chains, sampler: Sampler, here: Places) -> Iterator[EbmkitError]:
    """Checks the lengths of long chains and of their warm-up."""
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
            help="use 'burn_in' to discard steps without tuning",
        )
    elif chains.warmup != "auto" and 0 < chains.warmup < SHORTEST:
        yield Unsuitable(
            f"a warm-up of {chains.warmup} steps is too short: its step size would be worse than that of the spec",
            here("chains", "warmup"),
            help=f"use at least {SHORTEST} steps, or 0 to keep the step size of the spec",
        )


def _capacity_misfits(chains: Chains, init: Init, here: Places) -> Iterator[EbmkitError]:
    """Checks that the initial states are enough for all chains."""
    capacity = init.capacity()
    if capacity is not None and capacity < chains.count:
        yield TooManyChains(
            f"{label_of(init)} holds {capacity} chains, but 'chains' needs {chains.count}",
            here("init"),
            label=f"{capacity} chains",
            other=here("chains"),
            other_label=f"{chains.count} chains",
        )
