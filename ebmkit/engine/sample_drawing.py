"""Drawing the samples of a run: the ends of many chains, or the states of a few long ones."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import torch
from torch import Generator, Tensor

from ebmkit.chains.chain import run_chain
from ebmkit.chains.draws import Length, LongChains, Memory, Sink
from ebmkit.chains.energy import frozen
from ebmkit.contracts.draws import Draws, blocks
from ebmkit.contracts.kinds import Sampler
from ebmkit.engine.chain_starts import ChainStarts
from ebmkit.engine.conditioning import Condition
from ebmkit.engine.data_units import DataUnitsSink
from ebmkit.engine.evaluated import Evaluated
from ebmkit.engine.rng import Streams
from ebmkit.engine.statistic import Statistic, Turn
from ebmkit.engine.telling.divergence import diverged
from ebmkit.engine.telling.error_site import ErrorSite


class ChainsOnDisk(Protocol):
    """Keeps the draws and the state of long chains; see `folder/chain_checkpoints.py`."""

    @property
    def sink(self) -> Sink: ...

    def begin(self, chains: LongChains, training_step: int) -> None:
        """Continue chains that were saved."""

    def at_step(self) -> None:
        """Called after every step; it may raise to stop the chains."""

    def finish(self) -> None:
        """All steps are done."""


class Drawn(NamedTuple):
    """Samples `(n, *event)`, and statistics of the chains that drew them."""

    #: None for those of long chains, which need not fit into memory.
    x: Tensor | None
    #: Means over chains of `energy`, `gradient_norm` and `acceptance`, if the sampler reports them.
    traces: dict[str, Tensor]
    #: The draws of long chains; `traces` then has one number per draw.
    draws: Draws | None = None
    labels: Tensor | None = None

    @property
    def total(self) -> int:
        """The number of samples."""
        return self.draws.total if self.draws else 0 if self.x is None else len(self.x)

    def states(self, n: int) -> Tensor:
        """The first `n` samples; those of long chains are taken evenly from all of them."""
        if self.draws:
            return self.draws.evenly(n)
        assert self.x is not None
        return self.x[:n]


class SampleDrawing:
    """Draws with the sampler of the spec, or that of the objective if the spec has none."""

    def __init__(self, evaluated: Evaluated, streams: Streams) -> None:
        self.evaluated, self.parts, self.plan = evaluated, evaluated.parts, evaluated.plan
        self.streams = streams
        #: The number of chain steps done since the last call of `draw`.
        self.steps_done = 0

    def draw(self, n: int, step: int, condition: Condition | None, on_disk: ChainsOnDisk | None = None) -> Drawn:
        """`n` samples of the model after `step` training steps, all of them finite.

        `on_disk` takes the draws of long chains, and continues chains that it has; without it they stay in memory.
        """
        sampler, chains = self.plan.chain_sampler, self.plan.spec.chains
        if sampler is None:
            raise ValueError("the spec has no sampler, so there are no samples")
        path = self.plan.spec.chain_sampler_path
        self.steps_done = 0
        when = f", after {step} training steps" if self.plan.spec.stages else ""
        with ErrorSite(self.plan, path, lambda: when):
            drawn = (
                self._long(sampler, n, step, condition, on_disk) if chains else self._ends(sampler, n, step, condition)
            )
        wrong, detail = _wrong(drawn)
        if wrong:
            samples = Statistic("samples", path, Turn.CHAIN)
            raise diverged(self.plan, self.parts, samples, f"{wrong}{when}{detail}")
        return drawn

    def length(self, n: int) -> int:
        """The number of chain steps for `n` samples, summed over blocks."""
        sampler, chains = self.plan.chain_sampler, self.plan.spec.chains
        if sampler is None:
            return 0
        if chains:
            return chains.length(sampler, self.plan.spec.samples)
        return math.ceil(n / ChainStarts(self.evaluated).rows) * sampler.steps

    def starts(self, n: int, step: int) -> Tensor:
        """`n` starting points of chains."""
        starts, rng = ChainStarts(self.evaluated), self.streams.generator(f"starts/{step}")
        return torch.cat([starts.draw(min(n - first, starts.rows), rng) for first in range(0, n, starts.rows)])

    def labels(self, n: int, rng: Generator, condition: Condition | None, first: int = 0) -> Tensor | None:
        """Labels of `n` samples from `first` on: those of the condition, or random ones of the data for a model that
        takes labels. A classifier is sampled without labels unless the condition has some."""
        if condition and (given := condition.labels_of(first, n)) is not None:
            return given.to(self.parts.device)
        known = self.parts.train_labels
        if not self.plan.spec.model.traits().labelled or known is None:
            return None
        rows = torch.randint(len(known), (n,), generator=rng, device=self.parts.device)
        return known.index_select(0, rows.to(known.device)).to(self.parts.device)

    def _ends(self, sampler: Sampler, n: int, step: int, condition: Condition | None) -> Drawn:
        """The ends of `n` chains, in blocks."""
        starts, units = ChainStarts(self.evaluated), self.parts.units
        within = condition.within(units, self.parts.dtype) if condition else None
        blocks: list[Tensor] = []
        labels: list[Tensor] = []
        traces: list[dict[str, Tensor]] = []
        for first in range(0, n, starts.rows):
            # One stream per step: further evaluations during training do not change the final samples.
            rng = self.streams.generator(f"samples/{step}/{first}")
            count = min(n - first, starts.rows)
            start, some = starts.draw_finite(count, rng), self.labels(count, rng, condition, first)
            project = within.projection(first, start, self.evaluated.schedule) if within else None
            module = self.evaluated.with_labels(some)
            labels += [] if some is None else [some]
            chain = run_chain(
                sampler,
                module,
                start,
                rng,
                traces=True,
                on_step=self._count,
                project=project,
                warmup=self.plan.spec.tuning_steps,
                starts=starts.source,
            )
            x = units.out_of(chain.x)
            blocks.append(condition.with_known(x, first) if condition else x)
            traces.append({name: trace * len(chain.x) / n for name, trace in chain.traces.items()})
        means = {name: torch.stack([block[name] for block in traces]).sum(dim=0) for name in traces[0]}
        if "energy" in means and not units.are_those_of_the_data:
            means["energy"] += units.log_volume
        return Drawn(torch.cat(blocks), means, labels=torch.cat(labels) if labels else None)

    def _long(
        self, sampler: Sampler, n: int, step: int, condition: Condition | None, on_disk: ChainsOnDisk | None
    ) -> Drawn:
        """The states that a few long chains keep."""
        chains = self.plan.spec.chains
        assert chains is not None
        starts, rng = ChainStarts(self.evaluated), self.streams.generator(f"samples/{step}/0")
        length = Length(chains.draws(n), chains.thin, chains.burn_in, chains.warmup_of(sampler))
        start, labels = starts.draw_finite(chains.count, rng), self.labels(chains.count, rng, condition)
        sink: Sink = on_disk.sink if on_disk else Memory()
        if not self.parts.units.are_those_of_the_data:
            sink = DataUnitsSink(sink, self.parts.units)
        with frozen(self.evaluated.with_labels(labels)) as energy:
            long = LongChains(sampler, energy, start, rng, length, sink, starts.source)
            if on_disk:
                on_disk.begin(long, step)
            self.steps_done = long.steps
            while not long.are_over:
                long.advance()
                self._count()
                if on_disk:
                    on_disk.at_step()
            if on_disk:
                on_disk.finish()
            draws = long.finish()
        if "energy" not in draws.seen and self.evaluated.has_energy and labels is None:
            draws.seen["energy"] = self._energies(draws, sink)
        # Contiguous, as draws in memory are: sums in another order differ in their last bits.
        means = {
            name: torch.cat([block.contiguous().mean(0) for block in blocks(values)])
            for name, values in draws.seen.items()
        }
        each = None if labels is None else labels.repeat_interleave(draws.x.shape[1])
        return Drawn(None, means, draws, each)

    def _energies(self, draws: Draws, sink: Sink) -> Tensor:
        """The energies of all draws, for samplers that do not report them."""
        for block in draws.blocks():
            by_draw = block.transpose(0, 1)
            z = self.parts.units.into(by_draw.flatten(0, 1), self.parts.dtype)
            for row in self.evaluated.energy(z).view(by_draw.shape[:2]):
                sink.add("energy", row)
        return sink.column("energy")

    def _count(self) -> None:
        self.steps_done += 1


def _wrong(drawn: Drawn) -> tuple[str, str]:
    """Which samples, or which statistics of their chains, are not finite, and more about it; empty if none."""
    for name, value in drawn.draws.tuning.items() if drawn.draws else ():
        if not bool(value.isfinite().all()):
            return f"the {name.replace('_', ' ')} of the warm-up is not finite", ""
    lost = {name: trace.isfinite().logical_not().nonzero().flatten().tolist() for name, trace in drawn.traces.items()}
    found = ""
    if steps := {name: indices[0] for name, indices in lost.items() if indices}:
        name, what = min(steps, key=lambda name: steps[name]), "draw" if drawn.draws else "step"
        mean = drawn.traces[name][steps[name]].item()
        found = f"the mean {name} of the chains is {mean} at their {what} {steps[name] + 1}"
    blocks = (block.flatten(0, 1) for block in drawn.draws.blocks()) if drawn.draws else (drawn.states(drawn.total),)
    if wrong := sum(len(x) - int(x.flatten(1).isfinite().all(dim=1).sum()) for x in blocks):
        return f"{wrong} of {drawn.total} samples are not finite", f": {found}" if found else ""
    return found, ""
