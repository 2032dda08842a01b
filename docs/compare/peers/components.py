"""The experiment's parts as an author would write them for Hydra or confection: typed, checked when they are made."""

from __future__ import annotations

from dataclasses import dataclass


class Data: ...


@dataclass
class TwoMoons(Data):
    noise: float = 0.05


class Model:
    exact_samples = False


@dataclass
class Mlp(Model):
    width: int = 64


@dataclass
class Gaussian(Model):
    scale: float = 1.0
    exact_samples = True


class Sampler:
    needs_exact_samples = False


@dataclass
class Langevin(Sampler):
    steps: int = 100
    step_size: float = 0.01

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError(f"steps must be at least 1, not {self.steps}")


@dataclass
class Exact(Sampler):
    needs_exact_samples = True


class Objective: ...


@dataclass
class Mle(Objective):
    sampler: Sampler


@dataclass
class Train:
    steps: int
    batch_size: int = 128


@dataclass
class Experiment:
    name: str
    data: Data
    model: Model
    objective: Mle
    train: Train

    def __post_init__(self) -> None:
        check_fit(self.objective.sampler, self.model)


def check_fit(sampler: Sampler, model: Model) -> None:
    if sampler.needs_exact_samples and not model.exact_samples:
        raise ValueError(
            f"sampler {type(sampler).__name__} needs exact samples, which model {type(model).__name__} has not"
        )
