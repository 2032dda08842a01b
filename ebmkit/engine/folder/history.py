"""The recorded numbers of a run, in order."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor

from ebmkit.engine.statistic import Statistic
from ebmkit.errors.base import EbmkitError

#: `write(step, values)`: receives numbers once they are on the host.
Write: TypeAlias = Callable[[int, dict[str, float]], None]
#: `explain(statistic, value, step)`: the error for a number that is not finite.
Explain: TypeAlias = Callable[[Statistic, float, int], EbmkitError]


class History:
    """Checks the numbers of every step, and records the means over windows of steps.

    On a CPU the numbers of a step are read at once. On other devices they are read one step later, when they are
    already computed, so that the host does not wait. Evaluation results are recorded without averaging.
    """

    def __init__(self, steps: int, write: Write, explain: Explain, *, lag: int) -> None:
        self.series: dict[str, list[tuple[int, float]]] = defaultdict(list)
        #: Everything that was written to the trackers.
        self.records: list[tuple[int, dict[str, float]]] = []
        #: The last step whose numbers were added.
        self.step = 0
        self._write = write
        self._explain = explain
        self._lag = lag
        #: Short runs record every step, long ones a few hundred to a few thousand points.
        self._window = min(50, max(1, steps // 200))
        self._pending: deque[tuple[int, Sequence[Statistic], Tensor]] = deque()
        self._collected: list[tuple[int, dict[str, float]]] = []

    def add(self, step: int, statistics: Sequence[Statistic], numbers: Sequence[Tensor]) -> None:
        """Add the numbers of a step, scalars on the device. Raises if one is not finite."""
        self.step = step
        if self._lag:
            self._pending.append((step, statistics, torch.stack([number.detach() for number in numbers])))
            self.collect(but=self._lag)
        else:
            self._collect(step, statistics, [number.item() for number in numbers])

    def check_finite(self, step: int, statistic: Statistic, number: Tensor) -> None:
        """Raise if a number that is not recorded is not finite. It is read with the other numbers of the step."""
        if self._lag:
            _, statistics, numbers = self._pending.pop()
            self._pending.append((step, [*statistics, statistic], torch.cat([numbers, number.detach().view(1)])))
        elif not math.isfinite(value := number.item()):
            raise self._explain(statistic, value, step)

    def collect(self, but: int = 0) -> None:
        """Read and check the numbers still on the device, except those of the last `but` steps."""
        while len(self._pending) > but:
            step, statistics, numbers = self._pending.popleft()
            self._collect(step, statistics, numbers.tolist())

    def flush(self) -> None:
        """Record the current window, even if it is incomplete."""
        self.collect()
        if self._collected:
            self._record_window()

    def record(self, step: int, values: dict[str, float]) -> None:
        """Record numbers that are on the host already, and write them."""
        self._keep(step, values)
        self._write(step, values)

    def latest(self, name: str) -> float | None:
        """The last value of a series."""
        return self.series[name][-1][1] if name in self.series else None

    def values(self, name: str) -> list[float]:
        """All values of a statistic: means over windows of steps, then those of the current window."""
        recorded = [value for _, value in self.series.get(name, ())]
        return recorded + [values[name] for _, values in self._collected if name in values]

    def state(self) -> dict[str, Any]:
        """The whole history, for JSON."""
        self.collect()
        return {"step": self.step, "records": self.records, "collected": self._collected}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state. Its records were written before and are not written again."""
        self.step = state["step"]
        for step, values in state["records"]:
            self._keep(step, values)
        self._collected = [(step, values) for step, values in state["collected"]]

    def _keep(self, step: int, values: dict[str, float]) -> None:
        self.records.append((step, values))
        for name, value in values.items():
            self.series[name].append((step, value))

    def _collect(self, step: int, statistics: Sequence[Statistic], numbers: Sequence[float]) -> None:
        if not all(map(math.isfinite, numbers)):
            wrong = [pair for pair in zip(statistics, numbers, strict=True) if not math.isfinite(pair[1])]
            raise self._explain(*min(wrong, key=lambda pair: pair[0].turn), step)
        pairs = zip(statistics, numbers, strict=True)
        self._collected.append((step, {statistic.name: number for statistic, number in pairs if statistic.recorded}))
        if step % self._window == 0:
            self._record_window()

    def _record_window(self) -> None:
        window: dict[str, list[float]] = defaultdict(list)
        for _, values in self._collected:
            for name, value in values.items():
                window[name].append(value)
        step = self._collected[-1][0]
        self._collected = []
        self.record(step, {name: math.fsum(values) / len(values) for name, values in window.items()})
