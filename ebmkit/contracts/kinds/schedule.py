"""The contract of a noise schedule."""

from __future__ import annotations

from abc import ABC
from typing import TYPE_CHECKING, ClassVar, Literal

from ebmkit.contracts.component import Component

if TYPE_CHECKING:
    from torch import Tensor


class Schedule(Component, ABC):
    """A noise schedule: `x_level = signal x + noise xi`, with `xi ~ N(0, I)`.

    There are two types. A list of noise levels sigma, with a signal of 1, is for networks conditioned on sigma: it
    defines `levels` and `count`. A process in time is for networks conditioned on t: it defines `at`, from which the
    engine derives drift, diffusion and every step of a sampler.

    Model, objective and sampler must use the same schedule; define it once in `parts:` to share it.
    """

    component_kind: ClassVar[str] = "schedule"
    #: The input of the network in addition to x: a time if the schedule defines `at`, a level if it defines `levels`.
    conditioning: ClassVar[Literal["sigma", "time"]]

    #: First type: the number of levels. A parameter, or fixed.
    count: int
    #: Second type: the final time T and the earliest time of training and sampling. Parameters, or fixed.
    horizon: float
    earliest: float

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.at is not Schedule.at:
            cls.conditioning = "time"
        elif cls.levels is not Schedule.levels:
            cls.conditioning = "sigma"
        else:
            raise TypeError(f"{cls.__qualname__}: a schedule must define either levels() or at(t)")

    @property
    def needs_data(self) -> bool:
        """Whether a parameter is set to `auto` and estimated from the data."""
        return False

    def fitted(self, data: Tensor) -> Schedule:
        """The schedule with parameters set to `auto` estimated from the data."""
        return self

    def levels(self) -> Tensor:
        """The noise levels, shape `(count,)`, on the CPU in float64, from the largest to the smallest."""
        raise NotImplementedError(f"schedule '{self.component_name}' is a process in time and has no levels")

    def at(self, t: Tensor) -> tuple[Tensor, Tensor]:
        """Signal and noise at times t of any shape: positive and smooth, with noise / signal increasing in t."""
        raise NotImplementedError(f"schedule '{self.component_name}' is a list of levels and has no time")

    def prior_std(self) -> float:
        """Standard deviation of the Gaussian from which sampling starts."""
        raise NotImplementedError(f"schedule '{self.component_name}' must define prior_std() to be sampled")
