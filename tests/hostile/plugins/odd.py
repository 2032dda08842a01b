"""Components that no built-in is like, to see what the checks say about them. Nothing here is ever built."""

from dataclasses import field
from typing import Annotated, ClassVar

from annotated_types import MaxLen

from ebmkit.api import Data, Init, Model, Sampler, Schedule, component
from ebmkit.components.schedules.constant import Constant


@component("bits")
class Bits(Data):
    """Four switches."""

    space: ClassVar = "binary"

    def event(self):
        return (4,)

    def load(self, split, rng):
        raise AssertionError("a wrong spec loads nothing")


@component("switches")
class Switches(Model):
    """An energy of switches."""

    space: ClassVar = "binary"
    offers: ClassVar = frozenset({"energy", "gradient", "sample_exact"})

    def build(self, event):
        raise AssertionError("a wrong spec builds nothing")


@component("conditioned")
class Conditioned(Model):
    """An energy for each noise level."""

    schedule: Schedule = Constant()

    def build(self, event):
        raise AssertionError("a wrong spec builds nothing")


@component("grumpy")
class Grumpy(Model):
    """A model whose own check raises something that is not a ValueError."""

    offers: ClassVar = frozenset({"energy", "sample_exact"})

    mood: int
    word: Annotated[str, MaxLen(3)] = "no"
    weights: dict[str, float] = field(default_factory=dict)

    def __post_init__(self):
        if self.mood == 3:
            raise KeyError("not today")

    def event(self):
        return (2,)

    def build(self, event):
        raise AssertionError("a wrong spec builds nothing")


class Still(Sampler):
    """A chain that does not move."""

    steps: ClassVar[int] = 1

    def init(self, energy, x, rng):
        raise AssertionError("a wrong spec starts no chain")

    def step(self, energy, state, rng):
        raise AssertionError("a wrong spec makes no step")


@component("conditioning")
class Conditioning(Still):
    """A sampler that goes through noise levels."""

    conditioning: ClassVar = "sigma"


@component("annealed")
class Annealed(Still):
    """A sampler with a schedule."""

    levels: Schedule


@component("twins")
class Twins(Init):
    """Two starts in one: parts that hold twins of parts double at every level."""

    left: Init
    right: Init

    def build(self, event):
        raise AssertionError("a wrong spec builds nothing")
