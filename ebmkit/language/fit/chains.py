"""Do samplers and chain starts fit the model, the data and each other?"""

from __future__ import annotations

from collections.abc import Iterator

from ebmkit.components.inits.noise import NoiseStart
from ebmkit.contracts.kinds import Init, Sampler
from ebmkit.errors.base import EbmkitError
from ebmkit.errors.fit import SectionMissing, ShapeMismatch, TooManyChains, Unsuitable
from ebmkit.errors.source import Path
from ebmkit.language.check import Checked
from ebmkit.language.fit.places import Places, event_of, label_of

#: Steps of a warm-up below which step sizes are still those that it tries first.
SHORTEST = 20


def start_misfits(path: Path, init: Init, checked: Checked, here: Places) -> Iterator[EbmkitError]:
    spec = checked.spec
    if init.needs_data and not spec.data:
        yield SectionMissing(f"{label_of(init)} starts chains at data points, and there is no 'data:'", here(*path))
    capacity = init.capacity()
    if capacity is None or path[0] != "objective":
        return
    for position, stage in enumerate(spec.stages):
        if stage.batch_size > capacity:
            yield TooManyChains(
                f"{label_of(init)} holds {capacity} chains, and a batch needs {stage.batch_size}",
                here(*path),
                label=f"{capacity} chains",
                other=here(*spec.stage_path(position), "batch_size"),
                other_label=f"{stage.batch_size} a batch",
            )


def sampler_misfits(path: Path, sampler: Sampler, checked: Checked, here: Places) -> Iterator[EbmkitError]:
    event = event_of(checked)
    if event is not None and (reason := sampler.refusal(event)):
        yield ShapeMismatch(
            f"{label_of(sampler)} {reason}",
            here(*path),
            other=here("data") if checked.spec.data else here("model"),
            other_label=f"shape {event}",
        )


def chain_misfits(checked: Checked, here: Places) -> Iterator[EbmkitError]:
    chains, sampler, init = checked.spec.chains, checked.spec.sampler, checked.spec.init
    if sampler and sampler.from_noise and init != NoiseStart():  # which a resolved spec writes out
        yield Unsuitable(
            f"{label_of(sampler)} begins at noise of its own, and {label_of(init)} has no part in that",
            here("init"),
            other=here("sampler"),
            help="leave out 'init:'",
        )
    if chains is None:
        return
    if sampler is None:
        yield SectionMissing("'chains:' are those of a 'sampler:', and there is none", here("chains"))
        return
    if sampler.from_noise:
        yield Unsuitable(
            f"{label_of(sampler)} goes once from noise to a sample, and long chains keep states on the way",
            here("chains"),
            other=here("sampler"),
            help="leave out 'chains:'; every sample is then the end of a chain of its own",
        )
        return
    default = getattr(type(sampler), "steps", sampler.steps)
    if sampler.steps != default:  # which a resolved spec writes out
        yield Unsuitable(
            f"{label_of(sampler)} has 'steps', and how long its chains are follows from 'chains' and 'samples'",
            here("sampler", "steps"),
            other=here("chains"),
            other_label="says how many states are kept, and how many steps lie between",
        )
    if chains.warmup not in ("auto", 0) and not sampler.tunes():
        yield Unsuitable(
            f"{label_of(sampler)} has nothing that a warm-up could tune",
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
            f"{label_of(init)} holds {capacity} chains, and {chains.count} are wanted",
            here("init"),
            label=f"{capacity} chains",
            other=here("chains"),
            other_label=f"{chains.count} chains",
        )
