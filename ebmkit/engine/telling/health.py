"""Warnings during and after training that a run is going wrong, each given once, with what to try."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf, prod, sqrt
from statistics import median
from typing import Any

from ebmkit.contracts.kinds import Objective, Sampler
from ebmkit.contracts.walk import walk
from ebmkit.engine.telling.advice import learning_rate, one_of, parameter, step_length
from ebmkit.errors.source import Path
from ebmkit.language.plan import Plan

#: The number of points at the beginning of a series that define its usual value, and of recent points to compare.
FIRST, LAST = 10, 10
#: Energies that differ by this many times what is usual have run away: during training, and at its end. On the way to a
#: good model they may differ by much for a while.
APART_NOW, APART_AT_END = 100.0, 10.0
#: A gradient that has grown by this factor, if it also makes steps unstable.
GROWN = 10.0
#: A loss this many times that of a model that knows nothing is a failure of training.
BLIND = 1.05


class Health:
    """Checks every record and warns."""

    def __init__(self, warn: Callable[[str], None], plan: Plan) -> None:
        self.warn, self.plan = warn, plan
        self.stage = 0
        self._warned: set[str] = set()
        self._series: dict[str, list[float]] = {}
        #: The sum of divergences over steps, and the last step of it.
        self._diverged: tuple[float, int] = (0.0, 0)
        self._checks: dict[str, Callable[[list[float], list[float]], str]] = {
            "gap": self._gap,
            "chain_acceptance": self._acceptance,
            "v": self._v,
            "buffer_age": self._age,
        }

    def begin_stage(self, stage: int) -> None:
        """A stage with its own part or objective: its numbers are not compared with those of the stages before."""
        if stage != self.stage and not (self.plan.spec.is_shared(stage) and self.plan.spec.is_shared(self.stage)):
            self._series.clear()
        self.stage = stage

    def restore(self, stage: int, began: int, records: Iterable[tuple[int, dict[str, float]]]) -> None:
        """Check what was recorded before a run is continued, in a stage that began after the step `began`."""
        self.stage = stage
        own = bool(self.plan.spec.stages) and not self.plan.spec.is_shared(stage)
        for step, values in records:
            if not own or step > began:
                self.look(step, values)

    def look(self, step: int, values: dict[str, float]) -> None:
        """Check what was recorded at a step, as means over the steps since the last record."""
        for name, value in values.items():
            self._series.setdefault(name, []).append(value)
        if "chain_divergence" in values:
            share, (before, since) = values["chain_divergence"], self._diverged
            self._diverged = before + share * (step - since), step
            if share:
                self._say("chain_divergence", f"step {step}: {self._divergence(share)}")
        for name, check in self._checks.items():
            if name in values and len(self._series[name]) >= FIRST + LAST:
                first, last = self._ends(name)
                self._say(name, (found := check(first, last)) and f"step {step}: {found}")

    def conclude(self) -> None:
        """After training: what only the end shows, and the mean over all steps of what was warned of when it first
        occurred."""
        sums, steps = self._diverged
        if sums:
            self.warn(f"in all of the training, {self._divergence(sums / steps)}")
        for name, check in {"gap": self._final_gap, "loss": self._blind}.items():
            if len(self._series.get(name, [])) >= FIRST + LAST:
                self._say(name, check(*self._ends(name)))

    def _ends(self, name: str) -> tuple[list[float], list[float]]:
        points = self._series[name]
        return points[:FIRST], points[-LAST:]

    def _say(self, name: str, words: str) -> None:
        if words and name not in self._warned:
            self._warned.add(name)
            self.warn(words)

    def _gap(self, first: list[float], last: list[float], times: float = APART_NOW) -> str:
        # Energies of d coordinates fluctuate by about sqrt(d / 2).
        usual = max(1.0, sqrt(prod(self.plan.event)), median(map(abs, first)))
        now = median(last)
        if abs(now) < times * usual:
            return ""
        options = one_of(
            f"a larger {of}" if (of := self._of_sampler("steps")) else "",
            f"a larger {of}" if (of := parameter(self.plan, self._at, "energy_l2")) else "",
            f"a smaller {of}" if (of := learning_rate(self.plan)) else "",
        )
        return (
            f"the energies of data and samples have run away from each other (gap {now:.3g}, at first "
            f"{median(first):.3g}): try {options}"
        )

    def _final_gap(self, first: list[float], last: list[float]) -> str:
        return self._gap(first, last, APART_AT_END)

    def _blind(self, first: list[float], last: list[float]) -> str:
        """A loss above that of a model for which data and noise are the same."""
        objective = self._objective
        blind, now = objective.traits().blind_loss if objective else inf, median(last)
        if now <= BLIND * blind:
            return ""
        options = one_of(
            f"another {of}" if (of := learning_rate(self.plan)) else "",
            f"another {of}" if (of := parameter(self.plan, self._at, "noise")) else "",
        )
        return (
            f"the loss is {now:.3g} at the end of training, {now / blind:.2g} times that of a classifier that cannot "
            f"tell data from noise ({blind:.3g}): nothing was learned; try {options}"
        )

    def _acceptance(self, first: list[float], last: list[float]) -> str:
        now = median(last)
        if now < 0.4:
            return f"only {now:.0%} of the proposals are accepted: {self._steps('smaller')}"
        if now > 0.9:
            return f"{now:.0%} of the proposals are accepted: {self._steps('larger')} explores faster"
        return ""

    def _v(self, first: list[float], last: list[float]) -> str:
        """A gradient that has grown until the drift of a step exceeds its noise: the chain is then unstable.

        In equilibrium E|dE/dx|^2 is the mean trace of the second derivatives, so that v^2 step_size / d is about
        step_size times the curvature, which must be less than 2.
        """
        usual, now = median(first), median(last)
        length, random = self._lengths(now)
        if now < GROWN * usual or length < random:
            return ""
        options = one_of(
            self._steps("smaller"),
            f"{of}" if (of := parameter(self.plan, ("model",), "spectral_norm")) else "",
            f"a larger {of}" if (of := parameter(self.plan, self._at, "energy_l2")) else "",
        )
        return (
            f"v, the gradient of the energy along chains, has grown from {usual:.3g} to {now:.3g}, so that a step "
            f"drifts by {length:.3g}, more than its noise of {random:.3g}: try {options}"
        )

    def _lengths(self, v: float) -> tuple[float, float]:
        """The drift of a step of chains with gradient v, and the length of its noise; no drift if it is corrected."""
        objective = self._objective
        sampler: Any = objective.traits().sampler if objective else None
        step = getattr(sampler, "step_size", None)
        if step is None or "acceptance" in sampler.traits().traces:
            return 0.0, 1.0
        noise = getattr(sampler, "noise_std", None)
        if noise is not None:  # a chain that follows the gradient; its step must not be longer than the data are wide
            return step * v, sqrt(prod(self.plan.event))
        return step * v, sqrt(2 * step * sampler.traits().temperature * prod(self.plan.event))

    def _age(self, first: list[float], last: list[float]) -> str:
        now = median(last)
        if now < 500:
            return ""
        size = parameter(self.plan, (*self._at, "init"), "size") or "'size'"
        return f"replay-buffer entries are reused only every {now:.0f} steps; use a smaller {size}"

    def _divergence(self, share: float) -> str:
        return (
            f"{share:.3%} of the steps of chains diverged and were rejected: the energy was not finite, or its error "
            f"very large; use {self._steps('smaller')}"
        )

    @property
    def _objective(self) -> Objective | None:
        """The objective of the current stage."""
        return self.plan.spec.objective_of(self.stage) if self.plan.spec.stages else self.plan.spec.objective

    @property
    def _at(self) -> Path:
        """Where it is."""
        return self.plan.spec.objective_path(self.stage) if self.plan.spec.stages else ("objective",)

    @property
    def sampler(self) -> Path | None:
        """Where its sampler is."""
        inside = walk(self._objective, self._at)
        return next((path for path, component in inside if isinstance(component, Sampler)), None)

    def _of_sampler(self, name: str) -> str:
        return parameter(self.plan, self.sampler, name) if self.sampler else ""

    def _steps(self, change: str) -> str:
        """`a smaller 'step_size' of sampler 'mala' (spec.yaml:6:12)`."""
        found = step_length(self.plan, self.sampler) if self.sampler else ""
        return f"a {change} {found or 'step'}"
