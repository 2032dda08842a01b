"""A run as metrics, hooks and panels see it."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import torch
from torch import Generator, Tensor, nn

from ebmkit.chains.chain import run_chain
from ebmkit.chains.draws import run_chains
from ebmkit.chains.energy import frozen
from ebmkit.components.models.nets.conditional import Conditional, Labelled
from ebmkit.contracts.draws import Draws
from ebmkit.contracts.extractor import Trained
from ebmkit.contracts.kinds import Event, Sampler, Schedule
from ebmkit.contracts.kinds.data import Split
from ebmkit.contracts.modules.starts import Starts
from ebmkit.engine.conditioning import Condition
from ebmkit.engine.folder.history import History
from ebmkit.engine.mixing import Mixing, mixing
from ebmkit.engine.parts import Parts
from ebmkit.engine.rng import Streams
from ebmkit.engine.telling.error_site import ErrorSite, label_at
from ebmkit.errors.running import Diverged
from ebmkit.language.plan import Plan
from ebmkit.language.sections import Chains, Spec
from ebmkit.maths.process import least_noise

#: Chains per block on a CPU. Measured on a 2-128-128-1 network: blocks whose activations stay in the caches are 1.5
#: times as fast as 10,000 chains at once.
CPU_ROWS = 4096
#: Numbers in the states of one block, so that images do not fill the memory.
BLOCK = 1 << 24


class RunView:
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
        #: What they kept, where `chains:` asks for long ones; `traces` then has one number a draw.
        self.draws: Draws | None = None
        #: What samples are to have, for whoever wants some of a kind.
        self.condition: Condition | None = None
        self._mixing: tuple[Draws, Mixing] | None = None
        self._drawn: Tensor | None = None
        self._drawn_at = -1
        #: Of a model that takes labels, those of the last samples that were drawn, in their order.
        self.sample_labels: Tensor | None = None
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
    def spec(self) -> Spec:
        """What the spec says, with every default."""
        return self.plan.spec

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

    def generator(self, path: str, device: torch.device | None = None) -> Generator:
        """A new generator at the beginning of the random stream `path` of this run."""
        return self.streams.generator(path, device)

    def trained(self, spec: str) -> Trained:
        """The network of a packaged spec: as it was kept, or trained now."""
        from ebmkit.engine.trained import trained  # which runs a session, and so views

        return trained(spec)

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
        return "energy" in model.traits().offers and model.traits().conditioning is None

    def data(self, split: Split) -> Tensor | None:
        """The points of a split on the run's device, or None in a spec without data."""
        return self.parts.train if split == "train" else self.parts.test

    def labels(self, split: Split) -> Tensor | None:
        """Whole numbers beside the points of a split, or None for data without."""
        return self.parts.train_labels if split == "train" else self.parts.test_labels

    def energy(self, x: Tensor, level: float | None = None) -> Tensor:
        """Energies `(B,)`, without a graph; of a conditioned model at a noise level or time, by default the least."""
        blocks = torch.split(x.to(self.parts.device, self.parts.dtype), self._rows())
        with frozen(self.parts.evaluated) as energy, torch.no_grad():
            if self.schedule is None:
                return torch.cat([energy(block) for block in blocks])
            at = blocks[0].new_full((), least_noise(self.schedule) if level is None else level)
            return torch.cat([energy.module(block, at) for block in blocks])

    @property
    def schedule(self) -> Schedule | None:
        """The noise that a conditioned model is made for, with the numbers that data gave it; None for others."""
        module = self.parts.evaluated
        return module.schedule if isinstance(module, Conditional) else None

    def score(self, x: Tensor, level: float | None = None, labels: Tensor | None = None) -> Tensor:
        """`-dE/dx`, the direction in which states become more likely.

        A conditioned model has one for every noise level, or time: that of the least noise by default. Where it takes
        labels, `labels` are those of the states.
        """
        blocks = torch.split(x.to(self.parts.device, self.parts.dtype), self._rows())
        with frozen(self.parts.evaluated) as energy, torch.no_grad():
            if self.schedule is None:
                return torch.cat([-energy.value_and_grad(block)[1] for block in blocks])
            module = cast("Conditional", energy.module)
            at = x.new_full((), least_noise(self.schedule) if level is None else level).to(blocks[0])
            named = [None] * len(blocks) if labels is None else torch.split(labels.to(blocks[0].device), self._rows())
            return torch.cat([module.score(block, at, some) for block, some in zip(blocks, named, strict=True)])

    def starts(self, n: int) -> Tensor:
        """`n` points where chains begin."""
        starts, rows = self._starts()
        sizes = [min(n - first, rows) for first in range(0, n, rows)]
        rng = self.streams.generator(f"starts/{self.step}")
        return torch.cat([starts.draw(self._like(size, rng), rng) for size in sizes])

    def inpainted(self, known: Tensor, mask: Tensor, rng: Generator, labels: Tensor | None = None) -> Tensor:
        """States `(n, *event)` that are `known` where the mask, of the shape of one, is true, and else as the spec's
        sampler draws them. Where the model takes labels, `labels` are those of the states."""
        sampler, rows, blocks = self._from_noise(), self._rows(), []
        for first in range(0, len(known), rows):
            start = known[first : first + rows].to(self.parts.device, self.parts.dtype)
            module = self._told(None if labels is None else labels[first : first + rows].to(start.device))
            condition = Condition(known=start, mask=mask)
            project = condition.projection(0, start, self.schedule)
            blocks.append(condition.with_known(run_chain(sampler, module, start, rng, project=project).x))
        return torch.cat(blocks)

    def trajectory(self, n: int, moments: int, rng: Generator) -> list[tuple[float | None, Tensor]]:
        """How `n` new chains go from noise to samples: noise level or time, and states, at so many moments evenly from
        the first step to the last. The level is None where states are clean."""
        sampler = self._from_noise()
        wanted = {round(k * sampler.steps / (moments - 1)) for k in range(moments)}
        seen = itertools.count()
        found: list[tuple[float | None, Tensor]] = []

        def record(state: Any, rng: Generator) -> Any:
            if next(seen) in wanted:
                found.append((state.level, state.x.clone()))
            return state

        start = torch.zeros(n, *self.event, device=self.parts.device, dtype=self.parts.dtype)
        run_chain(sampler, self._told(self._labels(n, rng)), start, rng, project=record)
        return found

    def give(self, samples: Tensor, traces: dict[str, Tensor], draws: Draws | None = None) -> None:
        """Let samples that were drawn before stand for those of this step."""
        self._drawn, self._drawn_at = samples.to(self.parts.device), self.step
        self.traces, self.draws = traces, draws

    def samples(self, n: int) -> Tensor:
        """`n` model samples `(n, *event)`. Those of one step are drawn once and shared; ask for the most first.

        Long chains are as long as the spec says, whoever asks: of them there may be fewer.
        """
        wanted = self.plan.spec.samples if self.plan.spec.chains else n
        if self._drawn is None or self._drawn_at != self.step or len(self._drawn) < wanted:
            self._drawn, self._drawn_at = self._draw(wanted), self.step
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
        """How many steps `n` samples take, block by block."""
        sampler, chains = self.plan.chain_sampler, self.plan.spec.chains
        if sampler is None:
            return 0
        if chains:
            return chains.length(sampler, self.plan.spec.samples)
        _, rows = self._starts()
        return math.ceil(n / rows) * sampler.steps

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
        self._chain_steps = 0
        with ErrorSite(self.plan, path):
            x = self._draw_long(sampler, self.plan.spec.chains, n) if self.plan.spec.chains else self._ends(sampler, n)
        if wrong := _wrong(x, self.traces):
            raise Diverged(
                f"{label_at(self.plan, path)}: {wrong}, after {self.step} training steps",
                self.plan.place(path),
                help="a smaller step_size, or an energy that is confined, keeps chains from running away",
            )
        return x

    def _ends(self, sampler: Sampler, n: int) -> Tensor:
        """Where `n` chains end, block by block."""
        starts, rows = self._starts()
        blocks: list[Tensor] = []
        told: list[Tensor] = []
        traces: list[dict[str, Tensor]] = []
        for first in range(0, n, rows):
            # A stream per step: another evaluation on the way does not move the samples of the last one.
            rng = self.streams.generator(f"samples/{self.step}/{first}")
            count = min(n - first, rows)
            start, labels = self._begin(starts, count, rng), self._labels(count, rng)
            project = self.condition.projection(first, start, self.schedule) if self.condition else None
            module = self._told(labels)
            told += [] if labels is None else [labels]
            chain = run_chain(sampler, module, start, rng, traces=True, on_step=self._count, project=project)
            blocks.append(self.condition.with_known(chain.x, first) if self.condition else chain.x)
            traces.append({name: trace * len(chain.x) / n for name, trace in chain.traces.items()})
        self.traces = {name: torch.stack([block[name] for block in traces]).sum(dim=0) for name in traces[0]}
        self.sample_labels = torch.cat(told) if told else None
        return torch.cat(blocks)

    def _from_noise(self) -> Sampler:
        """The sampler of the spec, where its chains go once from noise to a sample, wherever they begin."""
        sampler = self.plan.chain_sampler
        if sampler is None or not sampler.traits().from_noise or self.schedule is None:
            raise ValueError("the spec has no sampler whose chains go from noise to samples, as 'reverse_sde' has")
        return sampler

    def _told(self, labels: Tensor | None) -> nn.Module:
        """The model as chains see it, which know nothing of labels."""
        module = self.parts.evaluated
        return module if labels is None else Labelled(cast("Conditional", module), labels)

    def _labels(self, n: int, rng: Generator) -> Tensor | None:
        """Labels of so many samples, for a model that takes some: the one that is wanted, or as the data have them."""
        known = self.parts.train_labels
        if not self.plan.spec.model.traits().labelled or known is None:
            return None
        if self.condition and self.condition.label is not None:
            return torch.full((n,), self.condition.label, device=self.parts.device)
        rows = torch.randint(len(known), (n,), generator=rng, device=self.parts.device)
        return known.index_select(0, rows.to(known.device)).to(self.parts.device)

    def _draw_long(self, sampler: Sampler, chains: Chains, n: int) -> Tensor:
        """What few long chains keep, chain by chain."""
        starts, _ = self._starts()
        rng = self.streams.generator(f"samples/{self.step}/0")
        draws = run_chains(
            sampler,
            self.parts.evaluated,
            self._begin(starts, chains.count, rng),
            rng,
            draws=chains.draws(n),
            thin=chains.thin,
            burn_in=chains.burn_in,
            warmup=chains.warmup_of(sampler),
            on_step=self._count,
        )
        x = draws.x.flatten(0, 1)
        if "energy" not in draws.seen and self.has_energy:
            draws.seen["energy"] = self.energy(x).view(draws.x.shape[:2])
        self.draws, self.traces = draws, {name: values.mean(0) for name, values in draws.seen.items()}
        return x

    def _begin(self, starts: Starts, n: int, rng: Generator) -> Tensor:
        """Starts that the model gives a finite energy, or an error."""
        x = starts.draw(self._like(n, rng), rng)
        outside = int((~self.energy(x).isfinite()).sum()) if self.has_energy else 0
        if outside:
            raise Diverged(
                f"{label_at(self.plan, ('init',))}: {outside} of {n} chains begin where the energy is not finite",
                self.plan.place(("init",)),
                help="no chain finds its way from there; begin it where the model has mass",
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
