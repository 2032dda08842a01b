"""Every number of a run, in order."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable

import torch
from torch import Tensor

from ebmkit.errors.running import Diverged
from ebmkit.kinds import Loss
from ebmkit.plan import Plan

#: `write(step, values)`: where numbers go when they have come to the host.
Write = Callable[[int, dict[str, float]], None]


class History:
    """Losses stay on the device until a window of steps is full; then they come to the host in one transfer, every one
    is checked, and their means are recorded. Evaluation results are recorded as they are."""

    def __init__(self, plan: Plan, write: Write) -> None:
        self.series: dict[str, list[tuple[int, float]]] = defaultdict(list)
        self.step = 0
        self.loss = math.nan
        self._write = write
        self._plan = plan
        #: Short runs keep every step, long ones a few hundred to a few thousand points.
        self._window = min(50, max(1, plan.spec.train.steps // 200)) if plan.spec.train else 1
        self._rows: list[tuple[int, list[str], Tensor]] = []

    def add(self, step: int, loss: Loss) -> None:
        """Take in the loss of a step. Raises `Diverged` when a window is full and something in it is not."""
        self.step = step
        # Stacked at once: a statistic may be a view of a parameter, which the next step changes.
        numbers = torch.stack([loss.value.detach(), *loss.metrics.values()])
        self._rows.append((step, ["loss", *loss.metrics], numbers))
        if step % self._window == 0:
            self.flush()

    def flush(self) -> None:
        """Bring to the host, check and record what has gathered."""
        if not self._rows:
            return
        numbers = iter(torch.cat([row for _, _, row in self._rows]).tolist())
        window: dict[str, list[float]] = defaultdict(list)
        for step, names, _ in self._rows:
            for name in names:
                window[name].append(self._checked(name, next(numbers), step))
        self._rows = []
        self.record(self.step, {name: sum(values) / len(values) for name, values in window.items()})
        self.loss = self.series["loss"][-1][1]

    def record(self, step: int, values: dict[str, float]) -> None:
        """Keep numbers that are on the host already, and hand them on."""
        for name, value in values.items():
            self.series[name].append((step, value))
        self._write(step, values)

    def position(self) -> tuple[int, str]:
        """Where training is: the step, and the loss of the last full window."""
        return self.step, "" if math.isnan(self.loss) else f"loss {self.loss:.4g}"

    def _checked(self, name: str, number: float, step: int) -> float:
        if math.isfinite(number):
            return number
        objective = self._plan.spec.objective
        assert objective is not None
        raise Diverged(
            f"objective {objective.component_name!r}: {name} became {number} at step {step}",
            self._plan.place(("objective",)),
            label=f"{name} = {number}",
        )
