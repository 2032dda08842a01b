"""What a file may say: the sections of the spec language, as types. Components bring their own parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeVar, cast, dataclass_transform

from annotated_types import Ge, Gt, Le, Lt
from pydantic import Field

from ebmkit.component import STRICT, Component
from ebmkit.inits.noise import NoiseStart
from ebmkit.kinds import Data, Init, Metric, Model, Objective, Optimizer, Sampler, Tracker
from ebmkit.optimizers.adam import Adam
from ebmkit.place import Path
from ebmkit.trackers.jsonl import Jsonl

S = TypeVar("S", bound=type[Any])


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,))
def section(cls: S) -> S:
    """A part of the language that has one form and so needs no `use:`; checked as strictly as a component."""
    made: Any = dataclasses.dataclass(frozen=True, kw_only=True)(cls)
    made.__pydantic_config__ = STRICT
    return cast(S, made)


@section
class Train:
    """How the objective is minimised.

    Parameters:
        steps: how many steps of the optimizer.
        batch_size: data points a step.
        optimizer: how parameters follow the gradient.
        final_lr: the learning rate falls along half a cosine to this fraction of where it began; 1 keeps it constant.
        ema: decay of the running mean of the weights, which is what samples and is measured; 0 turns it off.
    """

    steps: Annotated[int, Ge(1)]
    batch_size: Annotated[int, Ge(1)] = 256
    optimizer: Optimizer = Adam()
    final_lr: Annotated[float, Gt(0), Le(1)] = 1.0
    ema: Annotated[float, Ge(0), Lt(1)] = 0.0


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
        threads: threads of the CPU. `auto` takes one for small networks, where more are slower; another number gives
            other bits.
        data: training and held-out points.
        model: the energy.
        objective: what training minimises.
        train: how it is minimised; without it a spec is a sampling experiment.
        sampler: makes the samples for evaluation and report; without it the objective's own sampler does.
        init: where the chains of `sampler` begin.
        samples: how many samples the run folder keeps.
        evaluate: metrics, measured at the end and where they say `every`.
        expect: claims about what is measured.
        trackers: where measurements go.
    """

    ebmkit: Literal[1]
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$", description=_FILE_NAME)]
    seed: Annotated[int, Ge(0), Lt(2**63)] = 0
    device: Annotated[str, Field(pattern=r"^(auto|cpu|mps|cuda(:[0-9]{1,3})?)$", description=_DEVICE)] = "auto"
    threads: Annotated[int, Ge(1), Le(1024)] | Literal["auto"] = "auto"
    data: Data | None = None
    model: Model
    objective: Objective | None = None
    train: Train | None = None
    sampler: Sampler | None = None
    init: Init = NoiseStart()
    samples: Annotated[int, Ge(1), Le(10_000_000)] = 10_000
    evaluate: tuple[Metric, ...] = ()
    expect: tuple[Expectation, ...] = ()
    trackers: tuple[Tracker, ...] = (Jsonl(),)

    @property
    def chain_sampler(self) -> Sampler | None:
        """What draws samples: the spec's own sampler, or that of the objective."""
        return self.sampler or getattr(self.objective, "sampler", None)


def walk(value: Any, path: Path = ()) -> Iterator[tuple[Path, Component]]:
    """All components of a spec with their paths. A shared one is met wherever it is used, what it holds only once."""
    return _walk(value, path, set())


def _walk(value: Any, path: Path, seen: set[int]) -> Iterator[tuple[Path, Component]]:
    if isinstance(value, Component) and path:
        yield path, value
    if dataclasses.is_dataclass(value):
        if id(value) in seen:  # parts that hold parts would otherwise be walked through exponentially often
            return
        seen.add(id(value))
        for field in dataclasses.fields(value):
            yield from _walk(getattr(value, field.name), (*path, field.name), seen)
    elif isinstance(value, tuple):
        for position, item in enumerate(value):
            yield from _walk(item, (*path, position), seen)
