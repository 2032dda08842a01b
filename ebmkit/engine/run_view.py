"""A run as metrics, hooks and panels see it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import torch
from torch import Generator, Tensor, nn

from ebmkit.contracts.draws import Draws
from ebmkit.contracts.extractor import Trained
from ebmkit.contracts.kinds import Event, Schedule
from ebmkit.contracts.kinds.data import Split
from ebmkit.engine import from_noise
from ebmkit.engine.conditioning import Condition
from ebmkit.engine.evaluated import Evaluated
from ebmkit.engine.folder.history import History, Write
from ebmkit.engine.mixing import Mixing, mixing
from ebmkit.engine.parts import Parts
from ebmkit.engine.rng import Streams
from ebmkit.engine.sample_drawing import SampleDrawing
from ebmkit.engine.telling.divergence import explain
from ebmkit.language.plan import Plan
from ebmkit.language.sections import Spec


class RunView:
    """Reads, and changes nothing. The weights seen are the running mean where the spec asks for one.

    `contracts.view.View` is the part of it that authors are promised. `assemble` makes one.
    """

    def __init__(self, plan: Plan, parts: Parts, streams: Streams, history: History, folder: Path | None) -> None:
        self.plan = plan
        self.parts = parts
        self.streams = streams
        self.history = history
        self.folder = folder
        self.evaluated = Evaluated(plan, parts)
        self._drawing = SampleDrawing(self.evaluated, streams)
        #: For what looks at the moment. It goes on from step to step, and with the run.
        self.rng = streams.ongoing("view")
        #: What the last evaluation found.
        self.results: dict[str, float] = {}
        #: Of the chains that drew the last samples: see `Drawn`.
        self.traces: dict[str, Tensor] = {}
        self.draws: Draws | None = None
        self.sample_labels: Tensor | None = None
        #: What samples are to have, for callers that want some of a kind.
        self.condition: Condition | None = None
        self._mixing: tuple[Draws, Mixing] | None = None
        self._drawn: Tensor | None = None
        self._drawn_at = -1

    @contextmanager
    def drawing_from(self, path: str) -> Iterator[None]:
        """Give what looks a stream of its own, from its beginning: how often it looks then moves nothing."""
        before, self.rng = self.rng, self.streams.generator(path)
        try:
            yield
        finally:
            self.rng = before

    def generator(self, path: str, device: torch.device | None = None) -> Generator:
        """A new generator at the beginning of the random stream `path` of this run."""
        return self.streams.generator(path, device)

    def trained(self, spec: str) -> Trained:
        """The network of a packaged spec: as it was kept, or trained now."""
        from ebmkit.engine.trained import trained  # which runs a session, and so views

        return trained(spec)

    @property
    def spec(self) -> Spec:
        """What the spec says, with every default."""
        return self.plan.spec

    @property
    def event(self) -> Event:
        """The shape of one state."""
        return self.plan.event

    @property
    def step(self) -> int:
        """The number of training steps that are done."""
        return self.history.step

    @property
    def series(self) -> dict[str, list[tuple[int, float]]]:
        """All recorded numbers, as (step, value) by name."""
        return self.history.series

    @property
    def module(self) -> nn.Module:
        """The model, with the weights that are sampled and measured."""
        return self.parts.evaluated

    @property
    def device(self) -> torch.device:
        """Of the model and of the states that it is given."""
        return self.parts.device

    @property
    def dtype(self) -> torch.dtype:
        """Of the model and of the states that it is given."""
        return self.parts.dtype

    @property
    def can_sample(self) -> bool:
        """Whether the spec has something that draws samples."""
        return self.plan.chain_sampler is not None

    @property
    def has_energy(self) -> bool:
        """Whether the model maps a state, without a noise level or time, to an energy."""
        return self.evaluated.has_energy

    @property
    def schedule(self) -> Schedule | None:
        """The noise that a conditioned model is made for, with the numbers that data gave it; None for others."""
        return self.evaluated.schedule

    def data(self, split: Split) -> Tensor | None:
        """The points of a split on the run's device, or None in a spec without data."""
        return self.parts.train if split == "train" else self.parts.test

    def labels(self, split: Split) -> Tensor | None:
        """Whole numbers, one for each point of a split, or None for data without."""
        return self.parts.train_labels if split == "train" else self.parts.test_labels

    def energy(self, x: Tensor, level: float | None = None) -> Tensor:
        """Energies `(B,)`, without a graph; of a conditioned model at a noise level or time, by default the least."""
        return self.evaluated.energy(x, level)

    def score(self, x: Tensor, level: float | None = None, labels: Tensor | None = None) -> Tensor:
        """`-dE/dx`, the direction in which states become more likely; see `Evaluated.score`."""
        return self.evaluated.score(x, level, labels)

    def starts(self, n: int) -> Tensor:
        """`n` points where chains begin."""
        return self._drawing.starts(n, self.step)

    def inpainted(self, known: Tensor, mask: Tensor, rng: Generator, labels: Tensor | None = None) -> Tensor:
        """States that are `known` where the mask is true, and elsewhere as the spec's sampler draws them."""
        return from_noise.inpainted(self.evaluated, known, mask, rng, labels)

    def trajectory(self, n: int, moments: int, rng: Generator) -> list[tuple[float | None, Tensor]]:
        """How `n` new chains go from noise to samples; see `from_noise.trajectory`."""
        labels = self._drawing.labels(n, rng, self.condition)
        return from_noise.trajectory(self.evaluated, n, moments, labels, rng)

    def give(self, samples: Tensor, traces: dict[str, Tensor], draws: Draws | None = None) -> None:
        """Let samples that were drawn before stand for those of this step."""
        self._drawn, self._drawn_at = samples.to(self.parts.device), self.step
        self.traces, self.draws = traces, draws

    def samples(self, n: int) -> Tensor:
        """`n` model samples `(n, *event)`. Those of one step are drawn once and shared; ask for the most first.

        Long chains are as long as the spec says, whatever `n` is: of them there may be fewer.
        """
        wanted = self.plan.spec.samples if self.plan.spec.chains else n
        if self._drawn is None or self._drawn_at != self.step or len(self._drawn) < wanted:
            drawn = self._drawing.draw(wanted, self.step, self.condition)
            self._drawn, self._drawn_at = drawn.x, self.step
            self.traces, self.draws, self.sample_labels = drawn.traces, drawn.draws, drawn.labels
        if self.draws is None or len(self._drawn) <= n:
            return self._drawn[:n]
        return self._drawn[torch.arange(n, device=self._drawn.device) * len(self._drawn) // n]  # of every chain some

    @property
    def mixing(self) -> Mixing | None:
        """How well long chains have mixed, measured once; None without `chains:`."""
        if self.draws is not None and (self._mixing is None or self._mixing[0] is not self.draws):
            self._mixing = self.draws, mixing(self.draws)
        return self._mixing[1] if self._mixing and self.draws is not None else None

    def chain_length(self, n: int) -> int:
        """The number of chain steps that `n` samples take, block by block."""
        return self._drawing.length(n)

    def chain_position(self) -> tuple[int, str]:
        """How many of them are done."""
        return self._drawing.steps_done, ""

    def reseeded(self, samples: int, seed: int | None, condition: Condition | None) -> RunView:
        """The same run, for fresh samples; with its own seed where none is given."""
        plan = dataclasses.replace(self.plan, spec=dataclasses.replace(self.plan.spec, samples=samples))
        streams = Streams(plan.spec.seed if seed is None else seed, self.parts.device)
        fresh = RunView(plan, self.parts, streams, self.history, self.folder)
        fresh.condition = condition
        return fresh


def assemble(
    plan: Plan,
    parts: Parts,
    folder: Path | None = None,
    *,
    streams: Streams | None = None,
    write: Write = lambda step, values: None,
    lag: int = 0,
) -> RunView:
    """A view of parts that were just built, with a history of no steps; `write` takes what is recorded."""
    history = History(plan.spec.steps, write, partial(explain, plan, parts), lag=lag)
    return RunView(plan, parts, streams or Streams(plan.spec.seed, parts.device), history, folder)
