"""What a file may say: the sections of the spec language, as types. Components bring their own parameters."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, Lt, MinLen
from pydantic import Field

from ebmkit.components.inits.noise import NoiseStart
from ebmkit.components.optimizers.adam import Adam
from ebmkit.components.trackers.jsonl import Jsonl
from ebmkit.contracts.component import section
from ebmkit.contracts.kinds import Data, Init, Metric, Model, Objective, Optimizer, Sampler, Tracker
from ebmkit.errors.source import Path


@section
class EarlyStop:
    """End a stage of training when a metric no longer improves.

    Parameters:
        metric: the name of a number that something under `evaluate:` measures with `every`.
        patience: how many measurements in a row may pass without a new best one.
        better: whether a `lower` or a `higher` number is better.
    """

    metric: str
    patience: Annotated[int, Ge(1)] = 5
    better: Literal["lower", "higher"] = "lower"


@section
class Train:
    """How the objective is minimised. A list of these makes stages, one behind the other on the same weights.

    Parameters:
        steps: how many steps of the optimizer.
        batch_size: data points a step.
        optimizer: how parameters follow the gradient.
        warmup: the learning rate rises over so many steps from nothing.
        decay: the form in which it falls afterwards.
        final_lr: the fraction of the learning rate that is left at the last step; 1 keeps it constant.
        clip_gradient: largest norm of the gradient over all parameters; a longer one is shortened.
        ema: decay of the running mean of the weights, which is what samples and is measured; 0 turns it off.
        stop: when to end before all steps are done.
    """

    steps: Annotated[int, Ge(1)]
    batch_size: Annotated[int, Ge(1)] = 256
    optimizer: Optimizer = Adam()
    warmup: Annotated[int, Ge(0)] = 0
    decay: Literal["cosine", "linear", "exponential"] = "cosine"
    final_lr: Annotated[float, Gt(0), Le(1)] = 1.0
    clip_gradient: Annotated[float, Gt(0)] | None = None
    ema: Annotated[float, Ge(0), Lt(1)] = 0.0
    stop: EarlyStop | None = None

    def __post_init__(self) -> None:
        if self.warmup >= self.steps:
            raise ValueError(f"a warm-up of {self.warmup} steps leaves none of the {self.steps} to train with")


@section
class Chains:
    """Few long chains that keep many states each, in place of many chains that keep their last one.

    Every chain keeps `samples / count` states, rounded up, so that the sampler has no `steps` of its own to give.

    Parameters:
        count: how many chains run side by side. Four or more tell whether they agree.
        warmup: first steps, in which the step size and the masses of `mala`, `hmc` and `nuts` are tuned; thrown away.
            `auto` takes 500 where the sampler can be tuned.
        burn_in: steps behind them that are thrown away too.
        thin: keep every so many-th state.
    """

    count: Annotated[int, Ge(1), Le(1_000_000)] = 4
    warmup: Annotated[int, Ge(0)] | Literal["auto"] = "auto"
    burn_in: Annotated[int, Ge(0)] = 500
    thin: Annotated[int, Ge(1)] = 1

    def draws(self, samples: int) -> int:
        """How many states each chain keeps, so that there are `samples` at least."""
        return -(-samples // self.count)

    def warmup_of(self, sampler: Sampler) -> int:
        """How many steps the warm-up has."""
        return (500 if sampler.tunes() else 0) if self.warmup == "auto" else self.warmup

    def length(self, sampler: Sampler, samples: int) -> int:
        """How many steps a chain makes in all."""
        return self.warmup_of(sampler) + self.burn_in + self.draws(samples) * self.thin


@section
class Checkpoint:
    """When the state of training is saved, from which a run goes on bit for bit.

    Parameters:
        every: after so many steps. `auto` saves every minute, or more rarely where saving is slow. The last step and
            an interrupted one are always saved.
        keep: how many checkpoints stay.
    """

    every: Annotated[int, Ge(1)] | Literal["auto"] = "auto"
    keep: Annotated[int, Ge(1)] = 2


@section
class Expectation:
    """A claim about one number, checked when the run ends. Unmet: exit status 6.

    Parameters:
        metric: the name of a number that something under `evaluate:` measures.
        below: the number must be less than this.
        above: the number must be greater than this.
    """

    metric: str
    below: float | None = None
    above: float | None = None

    def __post_init__(self) -> None:
        if self.below is None and self.above is None:
            raise ValueError("an expectation needs 'below', 'above' or both")
        if self.below is not None and self.above is not None and self.above >= self.below:
            raise ValueError(f"nothing is above {self.above} and below {self.below}")


#: Patterns in words, for messages. The name becomes a folder, so it may not lead anywhere else.
_FILE_NAME = "a name of at most 100 letters, digits, '.', '_' and '-', beginning with a letter or digit"
_DEVICE = "auto, cpu, mps, cuda or cuda:N"


@section
class Spec:
    """An experiment.

    Parameters:
        ebmkit: version of the spec language.
        name: the folder below `runs/`; the file's name by default.
        seed: root of all randomness.
        device: where tensors live; `auto` takes a GPU if there is one.
        dtype: the type of all numbers.
        threads: threads of the CPU. `auto` takes one for small networks, where more are slower; another number gives
            other bits.
        deterministic: refuse operations that give other bits every time; some GPU kernels do.
        compile: compile the energy and its gradient for chains. The first chain then takes a minute, later steps less.
        data: training and held-out points.
        model: the energy.
        objective: what training minimises.
        train: how it is minimised; without it a spec is a sampling experiment.
        sampler: makes the samples for evaluation and report; without it the objective's own sampler does.
        init: where the chains of `sampler` begin.
        chains: few long chains; without it each sample is the end of a chain of its own.
        samples: how many samples the run folder keeps.
        samples_every: also keep some of them after each so many training steps, for the report; `auto` does so ten
            times, null never.
        evaluate: metrics, measured at the end and where they say `every`.
        expect: claims about what is measured.
        trackers: where measurements go.
        checkpoint: when the state of training is saved.
    """

    ebmkit: Literal[1]
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$", description=_FILE_NAME)]
    seed: Annotated[int, Ge(0), Lt(2**63)] = 0
    device: Annotated[str, Field(pattern=r"^(auto|cpu|mps|cuda(:[0-9]{1,3})?)$", description=_DEVICE)] = "auto"
    dtype: Literal["float32", "float64", "bfloat16"] = "float32"
    threads: Annotated[int, Ge(1), Le(1024)] | Literal["auto"] = "auto"
    deterministic: bool = True
    compile: bool = False
    data: Data | None = None
    model: Model
    objective: Objective | None = None
    train: Train | Annotated[tuple[Train, ...], MinLen(1)] | None = None
    sampler: Sampler | None = None
    init: Init = NoiseStart()
    chains: Chains | None = None
    samples: Annotated[int, Ge(1), Le(10_000_000)] = 10_000
    samples_every: Annotated[int, Ge(1)] | Literal["auto"] | None = "auto"
    evaluate: tuple[Metric, ...] = ()
    expect: tuple[Expectation, ...] = ()
    trackers: tuple[Tracker, ...] = (Jsonl(),)
    checkpoint: Checkpoint = Checkpoint()

    @property
    def chain_sampler(self) -> Sampler | None:
        """What draws samples: the spec's own sampler, or that of an objective that also says where chains begin."""
        return self.sampler or (getattr(self.objective, "sampler", None) if hasattr(self.objective, "init") else None)

    @property
    def stages(self) -> tuple[Train, ...]:
        """The stages of training: none, one, or several."""
        return self.train if isinstance(self.train, tuple) else (self.train,) if self.train else ()

    def stage_path(self, stage: int) -> Path:
        """Where a stage stands in the spec."""
        return ("train", stage) if isinstance(self.train, tuple) else ("train",)

    @property
    def steps(self) -> int:
        """How many training steps there are in all."""
        return sum(stage.steps for stage in self.stages)
