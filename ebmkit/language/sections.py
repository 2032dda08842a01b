"""The sections of the spec language, as types. Components define their own parameters."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, Lt, MinLen
from pydantic import Field

from ebmkit.components.inits.noise import NoiseStart
from ebmkit.components.optimizers.adam import Adam
from ebmkit.components.trackers.jsonl import Jsonl
from ebmkit.contracts.component import section
from ebmkit.contracts.kinds import Data, Init, Metric, Model, Objective, Optimizer, Sampler, Tracker
from ebmkit.contracts.walk import walk
from ebmkit.errors.source import Path
from ebmkit.language.default_sampler import default_sampler
from ebmkit.language.rival import Rival


@section
class EarlyStop:
    """End a stage of training when a metric no longer improves.

    Parameters:
        metric: the name of a value reported by a metric under `evaluate:` that has `every`.
        patience: number of consecutive measurements without a new best value before training stops.
        better: whether a `lower` or a `higher` value is better.
    """

    metric: str
    patience: Annotated[int, Ge(1)] = 5
    better: Literal["lower", "higher"] = "lower"


@section
class Train:
    """How the objective is minimised. A list of these sections defines stages, run in order on the same weights.

    Parameters:
        steps: number of optimizer steps.
        part: the part of the model that is trained, by its number, counted from 1, or its name; all others keep their
            weights, and the part learns from the data as it sees them. Without it the whole model is trained.
        objective: the objective of this stage, which starts with new auxiliary modules, such as a replay buffer; by
            default the `objective` of the spec.
        batch_size: number of data points per step.
        optimizer: the optimizer; by default `adam` with a learning rate that suits model and objective.
        rival: how the adversary is trained in an objective of two players, such as `adversarial`; by default by the
            same optimizer, one step each.
        warmup: number of steps over which the learning rate rises linearly from zero.
        decay: shape of the decay of the learning rate after the warm-up.
        final_lr: fraction of the learning rate that remains at the last step; 1 keeps the rate constant.
        clip_gradient: maximum norm of the gradient over all parameters; larger gradients are scaled down to it.
        ema: decay of the exponential moving average of the weights, which is used for sampling and evaluation; 0 turns
            it off.
        stop: when to stop early.
    """

    steps: Annotated[int, Ge(1)]
    part: Annotated[int, Ge(1)] | str | None = None
    objective: Objective | None = None
    batch_size: Annotated[int, Ge(1)] = 256
    optimizer: Optimizer = Adam()
    rival: Rival | None = None
    warmup: Annotated[int, Ge(0)] = 0
    decay: Literal["cosine", "linear", "exponential"] = "cosine"
    final_lr: Annotated[float, Gt(0), Le(1)] = 0.01
    clip_gradient: Annotated[float, Gt(0)] | None = None
    ema: Annotated[float, Ge(0), Lt(1)] = 0.0
    stop: EarlyStop | None = None

    def __post_init__(self) -> None:
        if self.warmup >= self.steps:
            raise ValueError(f"'warmup' must be less than 'steps', but {self.warmup} is not less than {self.steps}")


@section
class Chains:
    """A few long chains that keep many states each, instead of many chains that keep only their last state.

    Every chain keeps `samples / count` states, rounded up, so the sampler's own `steps` must not be set.

    Parameters:
        count: number of parallel chains. Use at least four to diagnose convergence.
        warmup: number of initial steps, discarded, in which the step size and the masses of `mala`, `hmc` and `nuts`
            are tuned. `auto` is 500 if the sampler can be tuned, else 0.
        burn_in: number of steps after the warm-up that are also discarded.
        thin: keep one state out of this many.
    """

    count: Annotated[int, Ge(1), Le(1_000_000)] = 4
    warmup: Annotated[int, Ge(0)] | Literal["auto"] = "auto"
    burn_in: Annotated[int, Ge(0)] = 500
    thin: Annotated[int, Ge(1)] = 1

    def draws(self, samples: int) -> int:
        """Number of states that each chain keeps, so that there are at least `samples` in total."""
        return -(-samples // self.count)

    def warmup_of(self, sampler: Sampler) -> int:
        """Number of steps of the warm-up."""
        return (500 if sampler.tunes() else 0) if self.warmup == "auto" else self.warmup

    def length(self, sampler: Sampler, samples: int) -> int:
        """Total number of steps of a chain."""
        return self.warmup_of(sampler) + self.burn_in + self.draws(samples) * self.thin


@section
class Checkpoint:
    """When the state of training, or of long chains, is saved; a run continues from it bit for bit.

    Parameters:
        every: number of training steps between checkpoints, or of steps of the chains in a spec without training.
            `auto` saves every minute, or less often if saving is slow. The last step and an interrupted one are always
            saved. The final chains of a trained model are saved as by `auto`.
        keep: number of checkpoints to keep.
    """

    every: Annotated[int, Ge(1)] | Literal["auto"] = "auto"
    keep: Annotated[int, Ge(1)] = 2


@section
class Expectation:
    """A claim about a measured value, checked when the run ends. If it does not hold, the exit status is 6.

    Parameters:
        metric: the name of a value reported by a metric under `evaluate:`.
        below: the value must be less than this.
        above: the value must be greater than this.
    """

    metric: str
    below: float | None = None
    above: float | None = None

    def __post_init__(self) -> None:
        if self.below is None and self.above is None:
            raise ValueError("an expectation needs 'below', 'above' or both")
        if self.below is not None and self.above is not None and self.above >= self.below:
            raise ValueError(f"no value is above {self.above} and below {self.below}")


#: Descriptions of patterns, for messages. The name becomes a folder, so it must not contain a path.
_FILE_NAME = "a name of at most 100 letters, digits, '.', '_' and '-', beginning with a letter or digit"
_DEVICE = "auto, cpu, mps, cuda or cuda:N"


@section
class Spec:
    """An experiment.

    Parameters:
        ebmkit: version of the spec language.
        name: name of the run and of its folder in `runs/`; by default the name of the file.
        seed: seed of all random number generators.
        device: the device of all tensors; `auto` uses a GPU if there is one.
        dtype: the floating-point type of all tensors.
        threads: number of CPU threads. `auto` uses one for small networks, for which more threads are slower; a
            different number changes the results in their last bits.
        deterministic: refuse nondeterministic operations, such as some GPU kernels.
        compile: compile the energy and its gradient for chains. The first chain takes a minute longer, later steps are
            faster.
        scale: the space in which networks, noise and chains work. `standardize` subtracts the mean of every column of
            the training points and divides by its standard deviation, `whiten` also removes their correlations,
            `range` maps every column to [-1, 1], and `none` keeps the units of the data. Samples, energies and all
            results are in the units of the data; step sizes, noise levels and the like are in those of this space.
            `auto` whitens points of files, but standardizes them for a network that is conditioned on noise, and
            leaves images, data of unit scale and models that are not trained as they are.
        data: training and held-out points.
        model: the energy.
        objective: the objective that training minimises, in all stages that have none of their own.
        train: how it is minimised, or a list of stages; without it the spec is a sampling experiment. A model that can
            only be trained part by part, such as `dbn`, has a stage for each part by default.
        sampler: draws the samples for evaluation and the report; by default the objective's own sampler, with chains as
            long as those of training live on average, at most 1000 evaluations of the model; 1000 for each unit if the
            sampler updates one after the other. If the objective has none, a trained model is sampled by
            `mixed_mala` if its points have unit scale and the objective sees more than their surroundings, else by
            `mala`, or by `annealed_langevin`, `reverse_sde` or `gibbs` if it suits them. With a trained model, the
            first half of the steps of `mala`, `hmc` and `nuts` tunes them, unless there are `chains`.
        init: initial states of the chains of `sampler`. The default is noise; without `sampler`, that from which the
            objective starts new chains.
        chains: a few long chains; without it each sample is the end of a separate chain.
        samples: number of samples saved in the run folder, and the largest number drawn for a metric that does not set
            its own.
        samples_every: number of training steps between previews, smaller sets of samples saved for the report. `auto`
            makes at most nine if the report can show them, and fewer, smaller ones or none if they would cost more
            than a tenth of the training; null makes none.
        evaluate: metrics, measured at the end and during training if they have `every`.
        expect: claims about measured values.
        trackers: where measurements are written.
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
    scale: Literal["auto", "none", "standardize", "whiten", "range"] = "auto"
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
        """The sampler that draws samples: the spec's own, that of the objective, or a default for a trained model."""
        final = self.final_objective
        of_training = final.traits().sampler if final else None
        trained = self.stages and (final or self.final_stage is None)
        if self.sampler or of_training or not trained:
            return self.sampler or of_training
        known = self.scale in ("whiten", "standardize") or (self.data is not None and self.data.traits().known)
        return default_sampler(self.model, mixed=known and not (final and final.traits().local))

    @property
    def tuning_steps(self) -> int:
        """Number of steps of a chain, if each sample is the end of a separate one, that tune the sampler and are not
        those of a chain with a fixed step. Targets that are not trained keep the steps that their spec sets."""
        sampler = self.chain_sampler
        return sampler.steps // 2 if sampler and self.stages and not self.chains and sampler.tunes() else 0

    @property
    def chain_sampler_path(self) -> Path:
        """The path of that sampler in the spec: of the parameter that holds it, or of the objective that makes it."""
        if self.sampler:
            return ("sampler",)
        at = self.final_objective_path
        sampler, inside = self.chain_sampler, walk(self.final_objective, at)
        return next((path for path, component in inside if component is sampler), at)

    @property
    def stages(self) -> tuple[Train, ...]:
        """The stages of training: none, one, or several."""
        return self.train if isinstance(self.train, tuple) else (self.train,) if self.train else ()

    def stage_path(self, stage: int) -> Path:
        """The path of a stage in the spec."""
        return ("train", stage) if isinstance(self.train, tuple) else ("train",)

    def objective_of(self, stage: int) -> Objective | None:
        """The objective of a stage: its own, or that of the spec."""
        return self.stages[stage].objective or self.objective

    def objective_path(self, stage: int) -> Path:
        """The path of that objective in the spec."""
        return (*self.stage_path(stage), "objective") if self.stages[stage].objective else ("objective",)

    def is_shared(self, stage: int) -> bool:
        """Whether a stage trains the whole model by the objective of the spec. Such stages share auxiliary modules."""
        return self.stages[stage].part is None and self.stages[stage].objective is None

    @property
    def final_stage(self) -> int | None:
        """The last stage that trains the whole model; None if there is none."""
        return next((index for index in reversed(range(len(self.stages))) if self.stages[index].part is None), None)

    @property
    def final_objective(self) -> Objective | None:
        """The objective of that stage: that of the model as a whole. None if it was trained in parts only."""
        if not self.stages:
            return self.objective
        return None if self.final_stage is None else self.objective_of(self.final_stage)

    @property
    def final_objective_path(self) -> Path:
        """The path of that objective."""
        return ("objective",) if self.final_stage is None else self.objective_path(self.final_stage)

    @property
    def steps(self) -> int:
        """Total number of training steps."""
        return sum(stage.steps for stage in self.stages)
