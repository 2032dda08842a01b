"""A run as metrics, hooks and panels see it."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Generator, Tensor

from ebmkit.build import Parts
from ebmkit.engine.blame import Blame, called
from ebmkit.engine.chain import run_chain
from ebmkit.engine.energy import frozen
from ebmkit.engine.history import History
from ebmkit.engine.streams import Streams
from ebmkit.errors.running import Diverged
from ebmkit.kinds import Event
from ebmkit.kinds.data import Split
from ebmkit.nets.starts import Starts
from ebmkit.plan import Plan

#: Chains per block on a CPU. Measured on a 2-128-128-1 network: blocks whose activations stay in the caches are 1.5
#: times as fast as 10,000 chains at once.
CPU_ROWS = 4096
#: Numbers in the states of one block, so that images do not fill the memory.
BLOCK = 1 << 24


class View:
    """Reads, and changes nothing. The weights seen are the running mean where the spec asks for one."""

    def __init__(self, plan: Plan, parts: Parts, streams: Streams, history: History, folder: Path | None) -> None:
        self.plan = plan
        self.parts = parts
        self.streams = streams
        self.history = history
        self.folder = folder
        #: For whoever looks at the moment. It goes on from step to step, and with the run.
        self.rng = streams.ongoing("view")
        #: What the last evaluation found.
        self.results: dict[str, float] = {}
        #: Of the chains that drew the last samples: the means over chains of `energy`, `gradient_norm` and
        #: `acceptance`, as far as the sampler reports them, each `(steps,)`.
        self.traces: dict[str, Tensor] = {}
        self._drawn: Tensor | None = None
        self._drawn_at = -1
        self._chain_steps = 0

    @contextmanager
    def drawing_from(self, path: str) -> Iterator[None]:
        """Give whoever looks a stream of their own, from its beginning: how often they look then moves nothing."""
        before, self.rng = self.rng, self.streams.generator(path)
        try:
            yield
        finally:
            self.rng = before

    @property
    def event(self) -> Event:
        """The shape of one state."""
        return self.plan.event

    @property
    def step(self) -> int:
        """How many training steps are done."""
        return self.history.step

    @property
    def can_sample(self) -> bool:
        """Whether the spec has something that draws samples."""
        return self.plan.chain_sampler is not None

    @property
    def has_energy(self) -> bool:
        """Whether the model maps a state, and nothing beside it, to an energy."""
        model = self.plan.spec.model
        return "energy" in model.offers and model.conditioning is None

    def data(self, split: Split) -> Tensor | None:
        """The points of a split on the run's device, or None in a spec without data."""
        return self.parts.train if split == "train" else self.parts.test

    def energy(self, x: Tensor) -> Tensor:
        """Energies `(B,)`, without a graph."""
        with frozen(self.parts.evaluated) as energy:
            return torch.cat(
                [energy(block) for block in torch.split(x.to(self.parts.device, self.parts.dtype), self._rows())]
            )

    def score(self, x: Tensor) -> Tensor:
        """`-dE/dx`, the direction in which states become more likely."""
        with frozen(self.parts.evaluated) as energy:
            blocks = torch.split(x.to(self.parts.device, self.parts.dtype), self._rows())
            return torch.cat([-energy.value_and_grad(block)[1] for block in blocks])

    def starts(self, n: int) -> Tensor:
        """`n` points where chains begin."""
        starts, rows = self._starts()
        sizes = [min(n - first, rows) for first in range(0, n, rows)]
        rng = self.streams.generator(f"starts/{self.step}")
        return torch.cat([starts.draw(self._like(size, rng), rng) for size in sizes])

    def give(self, samples: Tensor, traces: dict[str, Tensor]) -> None:
        """Let samples that were drawn before stand for those of this step."""
        self._drawn, self._drawn_at = samples.to(self.parts.device), self.step
        self.traces = traces

    def samples(self, n: int) -> Tensor:
        """`n` model samples `(n, *event)`. Those of one step are drawn once and shared; ask for the most first."""
        if self._drawn is None or self._drawn_at != self.step or len(self._drawn) < n:
            self._drawn, self._drawn_at = self._draw(n), self.step
        return self._drawn[:n]

    def chain_length(self, n: int) -> int:
        """How many steps `n` samples take, block by block."""
        sampler = self.plan.chain_sampler
        _, rows = self._starts()
        return math.ceil(n / rows) * sampler.steps if sampler else 0

    def chain_position(self) -> tuple[int, str]:
        """How many of them are done."""
        return self._chain_steps, ""

    def _count(self) -> None:
        self._chain_steps += 1

    def _draw(self, n: int) -> Tensor:
        sampler = self.plan.chain_sampler
        if sampler is None:
            raise ValueError("the spec has no sampler, so there are no samples")
        path = ("sampler",) if self.plan.spec.sampler else ("objective", "sampler")
        starts, rows = self._starts()
        self._chain_steps = 0
        blocks: list[Tensor] = []
        traces: list[dict[str, Tensor]] = []
        with Blame(self.plan, path):
            for first in range(0, n, rows):
                # A stream per step: another evaluation on the way does not move the samples of the last one.
                rng = self.streams.generator(f"samples/{self.step}/{first}")
                start = starts.draw(self._like(min(n - first, rows), rng), rng)
                chain = run_chain(sampler, self.parts.evaluated, start, rng, traces=True, on_step=self._count)
                blocks.append(chain.x)
                traces.append({name: trace * len(chain.x) / n for name, trace in chain.traces.items()})
        x = torch.cat(blocks)
        self.traces = {name: torch.stack([block[name] for block in traces]).sum(dim=0) for name in traces[0]}
        if wrong := _wrong(x, self.traces):
            raise Diverged(
                f"{called(self.plan, path)}: {wrong}, after {self.step} training steps",
                self.plan.place(path),
                help="a smaller step_size, or an energy that is confined, keeps chains from running away",
            )
        return x

    def _starts(self) -> tuple[Starts, int]:
        """Where chains begin, and how many at a time.

        A sampler of the spec's own begins where `init` says. An objective's sampler is tuned to go on from where its
        chains are, in a replay buffer perhaps. Both are copied, so that looking at a run does not change it.
        """
        if self.plan.spec.sampler is None and self.parts.extras is not None:
            for module in self.parts.extras.modules():
                if isinstance(module, Starts):
                    return copy.deepcopy(module), min(self._rows(), module.capacity or self._rows())
        return copy.deepcopy(self.parts.starts), min(self._rows(), self.parts.starts.capacity or self._rows())

    def _like(self, n: int, rng: Generator) -> Tensor:
        """The shape that starts imitate: random training points, which some of them use as they are."""
        train, device = self.parts.train, self.parts.device
        if train is None:
            return torch.zeros(n, *self.event, device=device, dtype=self.parts.dtype)
        rows = torch.randint(len(train), (n,), generator=rng, device=device)
        return train.index_select(0, rows.to(train.device)).to(device)

    def _rows(self) -> int:
        rows = max(1, BLOCK // max(1, math.prod(self.event)))
        return min(rows, CPU_ROWS) if self.parts.device.type == "cpu" else rows


def _wrong(x: Tensor, traces: dict[str, Tensor]) -> str:
    """Which of the samples, or of what their chains saw on the way, is not finite."""
    whole = x.flatten(1).isfinite().all(dim=1)
    if not bool(whole.all()):
        return f"{len(x) - int(whole.sum())} of {len(x)} samples are not finite"
    for name, trace in traces.items():
        if not bool(trace.isfinite().all()):
            step = int(trace.isfinite().logical_not().nonzero()[0])
            return f"the mean {name} of the chains is {trace[step].item()} at their step {step + 1}"
    return ""
