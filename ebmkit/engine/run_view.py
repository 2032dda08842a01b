"""The view of a run that metrics, hooks and panels receive."""

from __future__ import annotations

import copy
import dataclasses
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Generator, Tensor, nn

from ebmkit.contracts.draws import Draws
from ebmkit.contracts.extractor import Trained
from ebmkit.contracts.judgement import Judgement
from ebmkit.contracts.kinds import Event, Schedule
from ebmkit.contracts.kinds.data import Split
from ebmkit.engine import from_noise
from ebmkit.engine.chain_course import chain_course
from ebmkit.engine.conditioning import Condition
from ebmkit.engine.data_units import InDataUnits
from ebmkit.engine.evaluated import Evaluated
from ebmkit.engine.folder.history import History
from ebmkit.engine.mixing import Mixing, mixing
from ebmkit.engine.names import Names
from ebmkit.engine.parts import Parts
from ebmkit.engine.rng import Streams
from ebmkit.engine.sample_drawing import ChainsOnDisk, Drawn, SampleDrawing
from ebmkit.engine.shared_tensors import SharedTensors
from ebmkit.errors.base import EbmkitError
from ebmkit.language.plan import Plan
from ebmkit.language.sections import Spec
from ebmkit.maths.units import Units


class RunView:
    """Read-only access to a run. The weights are the running mean if the spec requests one.

    `contracts.view.View` is the part of it that is promised to authors. `assemble` creates one.
    """

    def __init__(self, plan: Plan, parts: Parts, streams: Streams, history: History, folder: Path | None) -> None:
        self.plan = plan
        self.parts = parts
        self.streams = streams
        self.history = history
        self.folder = folder
        self.evaluated = Evaluated(plan, parts)
        self.names = Names(plan)
        self.shared, self._called = SharedTensors(), "view"  # for messages about what this view handed out
        self._drawing = SampleDrawing(self.evaluated, streams)
        #: The generator for the current evaluation. By default a stream that continues from step to step.
        self.rng = streams.ongoing("view")
        self.results: dict[str, float] = {}  # of the last evaluation
        self.judgement: Judgement | None = None  # on the last samples
        #: For the chains that drew the last samples; see `Drawn`.
        self.traces: dict[str, Tensor] = {}
        self.draws: Draws | None = None
        self.sample_labels: Tensor | None = None
        self.on_warning: Callable[[str], None] = lambda doubt: None  # receives the doubts of metrics
        self.condition: Condition | None = None  # on the samples, if the caller sets one
        #: Why there are no samples, or not even usable weights; see `refuse_samples` and `refuse_weights`.
        self.no_samples: EbmkitError | None = None
        self._no_weights: EbmkitError | None = None
        self._mixing: tuple[Draws, Mixing] | None = None
        self._drawn: Drawn | None = None
        self._drawn_at = -1
        self._most = sys.maxsize

    @contextmanager
    def drawing_from(self, path: str) -> Iterator[None]:
        """Set `rng` to a separate stream, from its beginning: evaluations then do not affect each other."""
        before, self.rng = self.rng, self.streams.generator(path)
        try:
            yield
        finally:
            self.rng = before

    @contextmanager
    def at_most(self, samples: int) -> Iterator[None]:
        """Give no more than this number of samples, however many are requested."""
        before, self._most = self._most, samples
        try:
            yield
        finally:
            self._most = before

    def generator(self, path: str, device: torch.device | None = None) -> Generator:
        """A new generator at the beginning of the random stream `path` of this run."""
        return self.streams.generator(path, device)

    def trained(self, spec: str) -> Trained:
        """The network of a packaged spec: from the cache, or trained now."""
        from ebmkit.engine.trained import trained  # it runs a session, which imports this module

        return trained(spec)

    @property
    def spec(self) -> Spec:
        """The spec, with every default."""
        return self.plan.spec

    @property
    def event(self) -> Event:
        """The shape of one state."""
        return self.plan.event

    @property
    def step(self) -> int:
        """The number of training steps done."""
        return self.history.step

    @property
    def moment(self) -> str:
        """When something happened, for messages; empty in a spec without training."""
        return f" after {self.step} training steps" if self.plan.spec.stages else ""

    @property
    def series(self) -> dict[str, list[tuple[int, float]]]:
        """All recorded numbers: lists of (step, value) by name."""
        return self.history.series

    @property
    def units(self) -> Units:
        """The map between the units of the data and the space in which the network works."""
        return self.parts.units

    @property
    def module(self) -> nn.Module:
        """The model of states in the units of the data, with the weights that are sampled and measured."""
        if self.units.are_those_of_the_data:
            return self.parts.evaluated
        return InDataUnits(self.parts.evaluated, self.units)

    @property
    def scaled(self) -> RunView:
        """The same run as its network sees it: points, samples, energies and scores in the space of `scale`."""
        if self.units.are_those_of_the_data:
            return self
        parts = dataclasses.replace(self.parts, units=Units(), raw_train=None, raw_test=None)
        inside = RunView(self.plan, parts, self.streams, self.history, self.folder)
        inside.rng, inside.on_warning = self.rng, self.on_warning
        inside.shared, inside._called = self.shared, f"{self._called}.scaled"
        inside.no_samples, inside._no_weights = self.no_samples, self._no_weights
        return inside

    @property
    def device(self) -> torch.device:
        """The device of the model and of its inputs."""
        return self.parts.device

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the model and of its inputs."""
        return self.parts.dtype

    @property
    def can_sample(self) -> bool:
        """Whether the spec has a sampler, of its own or of its objective."""
        return self.plan.chain_sampler is not None

    @property
    def has_energy(self) -> bool:
        """Whether the model maps a state, without a noise level or time, to an energy."""
        return self.evaluated.has_energy

    @property
    def schedule(self) -> Schedule | None:
        """The noise schedule of a conditioned model, with the values derived from data; None for other models."""
        return self.evaluated.schedule

    def data(self, split: Split) -> Tensor | None:
        """The points of a split in the units of the data, on the run's device; if all samples have one label, those
        with this label. None in a spec without data, or if no point has the label."""
        return self.shared.hand_out(f"{self._called}.data('{split}')", self.parts.points(split, self.condition)[0])

    def labels(self, split: Split) -> Tensor | None:
        """The labels of these points, one integer per point, or None for unlabelled data."""
        return self.shared.hand_out(f"{self._called}.labels('{split}')", self.parts.points(split, self.condition)[1])

    def warn(self, doubt: str) -> None:
        """A warning of the run, for a metric whose numbers are doubtful."""
        self.on_warning(doubt)

    def energy(self, x: Tensor, level: float | None = None) -> Tensor:
        """Energies `(B,)` of states in the units of the data, without a graph; see `Evaluated.energy`."""
        with self._explained():
            energies = self.evaluated.energy(self.units.into(x, self.dtype), level)
            return energies if self.units.are_those_of_the_data else energies + self.units.log_volume

    def score(self, x: Tensor, level: float | None = None, labels: Tensor | None = None) -> Tensor:
        """`-dE/dx`, the direction in which states become more likely; see `Evaluated.score`."""
        with self._explained():
            return self.units.gradient(self.evaluated.score(self.units.into(x, self.dtype), level, labels))

    def starts(self, n: int) -> Tensor:
        """`n` starting points of chains."""
        _raise_again(self.no_samples)
        return self.units.out_of(self._drawing.starts(n, self.step))

    def inpainted(self, known: Tensor, mask: Tensor, rng: Generator, labels: Tensor | None = None) -> Tensor:
        """States that are `known` where the mask is true, and drawn by the sampler of the spec elsewhere."""
        _raise_again(self.no_samples)
        return from_noise.inpainted(self.evaluated, known, mask, rng, labels)

    def trajectory(self, n: int, moments: int, rng: Generator) -> list[tuple[float | None, Tensor]]:
        """The way of `n` new chains from noise to samples; see `from_noise.trajectory`."""
        _raise_again(self.no_samples)
        labels = self._drawing.labels(n, rng, self.condition)
        return from_noise.trajectory(self.evaluated, n, moments, labels, rng)

    def course(self, n: int, moments: int, rng: Generator) -> list[tuple[int, Tensor]]:
        """`n` new chains of the sampler of the spec at their start and some later steps; see `chain_course`."""
        _raise_again(self.no_samples)
        return chain_course(self.evaluated, n, moments, rng)

    def give(self, samples: Tensor | None, traces: dict[str, Tensor], draws: Draws | None = None) -> None:
        """Use samples that were drawn before as those of this step."""
        self._take(Drawn(None if draws else samples, traces, draws))

    def run_chains(self, on_disk: ChainsOnDisk) -> None:
        """Draw the samples of this step by long chains that are kept on disk."""
        self._take(self._drawing.draw(self.plan.spec.samples, self.step, None, on_disk))

    def samples(self, n: int) -> Tensor:
        """`n` model samples `(n, *event)`, drawn once per step and shared: request the largest number first.

        There may be fewer: long chains have the length that the spec sets, whatever `n` is, and a metric gets at most
        the `samples` of the spec, or those that it announces in its traits.
        """
        called = f"{self._called}.samples({n})"
        n = min(n, self._most)
        self.draw(n)
        assert self._drawn is not None
        return self.shared.hand_out(called, self._drawn.states(n).to(self.parts.device))

    def draw(self, n: int) -> None:
        """Draw `n` samples, unless there are some of this step; those of long chains need not fit into memory."""
        wanted = self.plan.spec.samples if self.plan.spec.chains else n
        if self._drawn is None or self._drawn_at != self.step or self._drawn.total < wanted:
            _raise_again(self.no_samples)
            self._take(self._drawing.draw(wanted, self.step, self.condition))

    def _take(self, drawn: Drawn) -> None:
        self._drawn, self._drawn_at = drawn, self.step
        self.traces, self.draws, self.sample_labels = drawn.traces, drawn.draws, drawn.labels

    def refuse_samples(self, why: EbmkitError) -> None:
        """Draw no more samples: a request for some raises this error, so that its user says why there are none."""
        self.no_samples = why

    def refuse_weights(self, why: EbmkitError) -> None:
        """The same for samples, energies and scores, if the weights are not those of a model."""
        self.no_samples = self._no_weights = why

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """In a run that failed, its error says why there is no energy: weights may be finite, but too large for one."""
        _raise_again(self._no_weights)
        try:
            yield
        except FloatingPointError:
            _raise_again(self.no_samples)
            raise

    @property
    def mixing(self) -> Mixing | None:
        """The diagnostics of long chains, computed once; None without `chains:`."""
        if self.draws is not None and (self._mixing is None or self._mixing[0] is not self.draws):
            self._mixing = self.draws, mixing(self.draws, self.names.shown)
        return self._mixing[1] if self._mixing and self.draws is not None else None

    def chain_length(self, n: int) -> int:
        """The number of chain steps for `n` samples, summed over blocks."""
        return self._drawing.length(n)

    def chain_position(self) -> tuple[int, str]:
        """The number of chain steps done, for the progress bar."""
        return self._drawing.steps_done, ""

    def reseeded(self, samples: int, seed: int | None, condition: Condition | None) -> RunView:
        """The same run, for new samples; with the seed of the run if none is given."""
        plan = dataclasses.replace(self.plan, spec=dataclasses.replace(self.plan.spec, samples=samples))
        streams = Streams(plan.spec.seed if seed is None else seed, self.parts.device)
        fresh = RunView(plan, self.parts, streams, self.history, self.folder)
        fresh.condition = condition
        return fresh


def _raise_again(error: EbmkitError | None) -> None:
    if error is not None:
        raise copy.copy(error)  # a copy, so that the traceback of the first one stays as it was
