"""Long chains that keep many states each, and can be saved between any two steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import torch
from torch import Generator, Tensor

from ebmkit.chains.energy import Energy
from ebmkit.chains.joint import ChainSpace
from ebmkit.chains.leaves import Leaves, Unsaveable, paths, put_together, take_apart
from ebmkit.chains.unseen import Unseen
from ebmkit.chains.warmup import WarmUp
from ebmkit.contracts.draws import Draws
from ebmkit.contracts.kinds import Sampler, StepInfo
from ebmkit.contracts.modules.starts import Starts

#: Rates of the steps to a draw, which are averaged.
RATES = ("acceptance", "divergence")


class Length(NamedTuple):
    """Numbers of steps: `warmup` that tune the sampler, `burn_in`, and `thin` to each of the `draws` that are kept."""

    draws: int
    thin: int = 1
    burn_in: int = 0
    warmup: int = 0

    @property
    def discarded(self) -> int:
        """Steps before those to the first draw."""
        return self.warmup + self.burn_in

    @property
    def total(self) -> int:
        """All steps of a chain."""
        return self.discarded + self.draws * self.thin


class Sink(Protocol):
    """Where draws go: memory, or files. Rows have one entry per chain and are added in the order of the draws."""

    def add(self, name: str, row: Tensor) -> None:
        """One more row of the column `name`."""

    def rows(self, name: str) -> int:
        """The number of rows of a column."""

    def column(self, name: str) -> Tensor:
        """All rows, chains first: `(chains, rows, ...)`."""


class Memory:
    """Draws that stay in memory, on the device of the chains."""

    def __init__(self) -> None:
        self._rows: dict[str, list[Tensor]] = {}

    def add(self, name: str, row: Tensor) -> None:
        """One more row of the column `name`."""
        self._rows.setdefault(name, []).append(row)

    def rows(self, name: str) -> int:
        """The number of rows of a column."""
        return len(self._rows.get(name, ()))

    def column(self, name: str) -> Tensor:
        """All rows, chains first."""
        return torch.stack(self._rows[name], 1)


class SavedChains(NamedTuple):
    """What the next steps of chains depend on, for a checkpoint: tensors by group and name, and JSON."""

    tensors: dict[str, dict[str, Tensor]]
    values: dict[str, Any]


class LongChains:
    """Chains from `x` on a frozen network. There is no host synchronisation.

    draws = LongChains(sampler, energy, x, rng, Length(draws=100), Memory()).run()
    """

    def __init__(
        self,
        sampler: Sampler,
        energy: Energy,
        x: Tensor,
        rng: Generator,
        length: Length,
        sink: Sink,
        starts: Starts | None = None,
    ) -> None:
        """`starts`, if `x` was drawn from some, have the hidden units of the chains that are continued."""
        self.sampler, self.rng, self.length, self.sink = sampler, rng, length, sink
        self._space = ChainSpace(sampler, energy, x.detach(), rng, starts)
        self.energy = self._space.energy
        self.state: Any = sampler.init(self.energy, self._space.start, rng)
        #: Steps done, and draws kept, of each chain.
        self.steps, self.kept = 0, 0
        self.count = len(x)
        self.tuning: dict[str, Tensor] = {}
        self._warmup = WarmUp(sampler, self.state, length.warmup) if length.warmup else None
        #: What the steps to the next draw reported.
        self._rates: dict[str, list[Tensor]] = {name: [] for name in RATES}
        self._unseen = Unseen(x)
        self._reports_energy = False
        self._evaluations_before = self.energy.evaluations
        self._paths = paths(self._tree())

    @property
    def are_over(self) -> bool:
        """Whether all steps are done."""
        return self.steps >= self.length.total

    def advance(self) -> None:
        """One step of all chains."""
        self.state, info = self.sampler.step(self.energy, self.state, self.rng)
        self.steps += 1
        if self.steps > self.length.discarded:
            self._keep(info)
            return
        self._unseen.add(info)
        if self._warmup and self.steps <= self.length.warmup:
            self.state = self._warmup.adapt(self.steps, self.state, info)
            if self.steps == self.length.warmup:
                self.tuning = self._warmup.found(self.state)
        if self.steps == self.length.discarded:
            self._evaluations_before = self.energy.evaluations
            if info.divergence is not None:
                self.tuning["discarded_divergences"] = self._unseen.sums.divergence.sum()

    def run(self, on_step: Callable[[], None] | None = None) -> Draws:
        """All steps that are left, and the draws. `on_step` is called after every step; it may raise to stop."""
        while not self.are_over:
            self.advance()
            if on_step:
                on_step()
        return self.finish()

    def finish(self) -> Draws:
        """The draws, when all steps are done. To be called once."""
        if self._reports_energy and self.sink.rows("energy") == self.kept - 1:
            self.sink.add("energy", self._marked(self.energy(self.state.x)))
            self._evaluations_before += 1  # this one belongs to no step
        names = [name for name in ("energy", *RATES) if self.sink.rows(name) == self.kept]
        seen = {name: self.sink.column(name) for name in names}
        return Draws(self.sink.column("x"), seen, self.evaluations, self.tuning)

    @property
    def evaluations(self) -> int:
        """The number of energy evaluations since the steps to the first draw began."""
        return self.energy.evaluations - self._evaluations_before

    def _keep(self, info: StepInfo) -> None:
        """After a step to a draw."""
        self._reports_energy |= info.energy is not None
        if self.kept and (self.steps - self.length.discarded - 1) % self.length.thin == 0:
            if info.energy is not None:  # a step reports the energy at its start, which is that of the previous draw
                self.sink.add("energy", self._marked(info.energy))
        else:
            self._unseen.add(info)
        for name in RATES:
            if (rate := getattr(info, name)) is not None:
                self._rates[name].append(rate)
        if (self.steps - self.length.discarded) % self.length.thin == 0:
            self.sink.add("x", self._space.visible(self.state.x.detach()))
            self.kept += 1
            for name, rates in self._rates.items():
                if rates:
                    self.sink.add(name, torch.stack(rates).mean(0) if len(rates) > 1 else rates[0])
            self._rates = {name: [] for name in RATES}

    def _marked(self, energy: Tensor) -> Tensor:
        """The energies of the draw that is next to get them, which also stand for those of steps before it."""
        is_first = self.sink.rows("energy") == 0
        return self._unseen.marked(energy) if is_first or self.length.thin > 1 else energy

    # To and from a checkpoint -----------------------------------------------------------------------------------------

    def save(self) -> SavedChains:
        """Everything but the draws, which are in the sink. Raises `Unsaveable`."""
        if changed := paths(self._tree()) ^ self._paths:
            raise Unsaveable(f"'{min(changed)}' is in its state at some steps only")
        leaves = take_apart(self._tree())
        tuning = self.tuning
        if self._warmup and not tuning and self._warmup.tried:
            tuning = {"step_sizes": torch.stack(self._warmup.tried)}
        tensors = {
            "chains": leaves.tensors,
            "rates": {name: torch.stack(rates) for name, rates in self._rates.items() if rates},
            "tuning": tuning,
            "random": {"chains": self.rng.get_state()},
        }
        values = {
            "state": leaves.values,
            "kept": self.kept,
            "evaluations": self.evaluations,
            "reports_energy": self._reports_energy,
        }
        return SavedChains(tensors, values)

    def restore(self, steps: int, saved: SavedChains) -> None:
        """Continue after this many steps. The sink must have the rows that it had when the chains were saved."""
        tensors, values, device = saved.tensors, saved.values, self.state.x.device
        tree = put_together(self._tree(), Leaves(tensors["chains"], values["state"]), device)
        x = tree["state"].x
        if (x.shape, x.dtype) != (self.state.x.shape, self.state.x.dtype):
            raise ValueError(f"states of shape {tuple(x.shape)}, not {tuple(self.state.x.shape)}")
        tuning = {name: tensor.to(device) for name, tensor in tensors["tuning"].items()}
        rates = {name: list(tensors["rates"].get(name, x[:0]).to(device).unbind()) for name in RATES}
        kept, evaluations, reports_energy = values["kept"], values["evaluations"], values["reports_energy"]
        if not 0 <= steps <= self.length.total or kept != max(0, steps - self.length.discarded) // self.length.thin:
            raise ValueError(f"{kept} draws after {steps} steps")
        self.rng.set_state(tensors["random"]["chains"])
        # From here on nothing can fail.
        self.state, self.steps, self.kept = tree["state"], steps, kept
        self._unseen.sums = tree["unseen"]
        if self._warmup:
            self._warmup.average, self._warmup.spread = tree["average"], tree["spread"]
            self._warmup.tried = list(tuning.get("step_sizes", x.new_empty(0)).unbind())
        self.tuning = tuning if steps >= self.length.warmup else {}
        self._rates, self._reports_energy = rates, bool(reports_energy)
        self._evaluations_before = self.energy.evaluations - int(evaluations)

    def _tree(self) -> dict[str, Any]:
        warmup = self._warmup
        return {"state": self.state, "unseen": self._unseen.sums} | (
            {"average": warmup.average, "spread": warmup.spread} if warmup else {}
        )
