"""The contract of a noise schedule."""

from __future__ import annotations

from abc import ABC
from typing import TYPE_CHECKING, ClassVar, Literal

from ebmkit.contracts.component import Component

if TYPE_CHECKING:
    from torch import Tensor


class Schedule(Component, ABC):
    """How noise grows on a state: `x_level = signal x + noise xi`, with `xi ~ N(0, I)`.

    There are two sorts. One is a list of noise levels sigma, with a signal of 1, for networks conditioned on sigma: it
    says `levels` and `count`. The other is a process in time, for networks conditioned on t: it says `at`, from which
    the engine derives drift, diffusion and every step of a sampler.

    `parts:` shares one between model, objective and sampler, which have to agree on it.
    """

    component_kind: ClassVar[str] = "schedule"
    #: What a network with this schedule takes beside x: a time where it says `at`, a level where it says `levels`.
    conditioning: ClassVar[Literal["sigma", "time"]]

    #: Of the first sort: how many levels there are. A parameter, or fixed.
    count: int
    #: Of the second: the last time T, and the earliest one that is learnt and sampled down to. Parameters, or fixed.
    horizon: float
    earliest: float

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.at is not Schedule.at:
            cls.conditioning = "time"
        elif cls.levels is not Schedule.levels:
            cls.conditioning = "sigma"
        else:
            raise TypeError(f"{cls.__qualname__}: a schedule says either levels() or at(t)")

    @property
    def needs_data(self) -> bool:
        """Whether a parameter is left to the data (`auto`)."""
        return False

    def fitted(self, data: Tensor) -> Schedule:
        """The schedule with numbers in place of what is left to the data."""
        return self

    def levels(self) -> Tensor:
        """The noise levels, shape `(count,)`, on the CPU in float64, from the largest to the smallest."""
        raise NotImplementedError(f"schedule '{self.component_name}' is a process in time, and has no levels")

    def at(self, t: Tensor) -> tuple[Tensor, Tensor]:
        """Signal and noise at times t, of any shape: positive, smooth, and noise / signal grows with t."""
        raise NotImplementedError(f"schedule '{self.component_name}' is a list of levels, and has no time")

    def prior_std(self) -> float:
        """Standard deviation of the Gaussian that sampling begins with."""
        raise NotImplementedError(f"schedule '{self.component_name}' does not say prior_std(), where sampling begins")
