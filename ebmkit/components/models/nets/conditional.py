"""Networks that take a noise level, or a time, in addition to x."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from ebmkit.contracts.abilities import Scores
from ebmkit.contracts.kinds import Schedule
from ebmkit.contracts.modules.live import LiveModule
from ebmkit.contracts.setting import Setting
from ebmkit.maths.process import check_schedule, signal_and_noise

#: A noise level or a time, for all states or for each.
Level: TypeAlias = float | Tensor


class Conditional(LiveModule):
    """The score of noised data at each level: `s(x, level) = d log q_level(x) / dx`.

    A level is a sigma or a time, depending on `schedule`: a number, which is fastest in chains, a tensor `()` for all
    states, or a tensor `(B,)` with one level per state.
    """

    #: The noise levels, if the schedule has any. They are derived from the data, like the schedule, and not saved.
    levels: Tensor | None

    def __init__(self, schedule: Schedule, classes: int | None = None) -> None:
        super().__init__()
        self.schedule = schedule
        #: Number of labels, for a network conditioned on them.
        self.classes = classes
        self.register_buffer("levels", self._levels(), persistent=False)

    def prepare(self, setting: Setting) -> None:
        """Fit the schedule to the data, and raise a ValueError if a label is not below `classes`.

        Without data nothing changes.
        """
        if setting.data is None:
            return
        self.schedule = self.schedule.fitted(setting.data)
        check_schedule(self.schedule)
        if self.levels is not None:
            self.levels = self.schedule.levels().to(self.levels)
        self._check_labels(setting.labels)
        self._check_labels(setting.test_labels)

    def _check_labels(self, labels: Tensor | None) -> None:
        if self.classes is not None and labels is not None:
            low, high = map(int, labels.aminmax())
            if low < 0 or high >= self.classes:
                wrong, last = low if low < 0 else high, self.classes - 1
                raise ValueError(f"there is a label {wrong}, but 'classes' is {self.classes}: labels are 0 to {last}")

    @abstractmethod
    def score(self, x: Tensor, level: Level, labels: Tensor | None = None) -> Tensor:
        """The score `(B, *event)`, differentiable in the parameters, and in x if it requires a gradient."""

    def prior_mean(self) -> Tensor | float:
        """The approximate mean of the initial distribution of sampling: for one state, or a number."""
        return 0.0

    def noise_at(self, level: Level, x: Tensor) -> tuple[Any, Any]:
        """Signal and noise at a level, plain numbers or in a shape that broadcasts against `x`."""
        if not isinstance(level, Tensor):
            return signal_and_noise(self.schedule, level)
        if self.schedule.conditioning == "sigma":
            signal, noise = torch.ones_like(level), level
        else:
            signal, noise = self.schedule.at(level)
        shape = [-1, *[1] * (x.dim() - 1)] if level.dim() else []
        return signal.to(x).view(shape), noise.to(x).view(shape)  # levels may be more precise than states

    def _levels(self) -> Tensor | None:
        if self.schedule.conditioning != "sigma":
            return None
        unknown = self.schedule.needs_data
        levels = torch.full((self.schedule.count,), torch.nan) if unknown else self.schedule.levels()
        return levels.to(torch.get_default_dtype())


def score_of_energy(module: nn.Module, x: Tensor, level: Level, labels: Tensor | None) -> Tensor:
    """Minus the gradient of `module(x, level, labels)` with respect to x; with a graph if gradients are enabled."""
    wanted = torch.is_grad_enabled()
    with torch.enable_grad():
        point = x if wanted and x.requires_grad else x.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(module(point, level, labels).sum(), point, create_graph=wanted)
    return -gradient


class Labelled(nn.Module):
    """A network with fixed labels of its states, for chains, which do not pass labels."""

    def __init__(self, module: Scores, labels: Tensor) -> None:
        super().__init__()
        self.module = module
        self.schedule = module.schedule
        self.labels = labels

    def score(self, x: Tensor, level: Level, labels: Tensor | None = None) -> Tensor:
        """The score, given the labels that are fixed here."""
        return self.module.score(x, level, self.labels)

    def prior_mean(self) -> Tensor | float:
        """As without labels."""
        return self.module.prior_mean()
