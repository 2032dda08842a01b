"""Chain starts that break one law each."""

import itertools

import torch

from ebmkit.api import Init, Starts, component
from ebmkit.components.inits.nets.replay import ReplayStarts
from ebmkit.testing.laws import init as laws


def planted(net, chains=None):
    @component("planted")
    class Planted(Init):
        def capacity(self):
            return chains

        def build(self, event):
            return net(event)

    return Planted()


class Fresh(Starts):
    """Noise, drawn as it should be."""

    def __init__(self, event):
        super().__init__()
        self.event = event

    def draw(self, like, rng):
        return torch.empty_like(like).normal_(generator=rng)


class Single(Fresh):
    def draw(self, like, rng):
        return super().draw(like, rng).float()


class OwnSeeds(Fresh):
    seeds = itertools.count()

    def draw(self, like, rng):
        return super().draw(like, torch.Generator().manual_seed(next(self.seeds)))


class GlobalNoise(Fresh):
    def draw(self, like, rng):
        return torch.randn_like(like)


class TheBatchItself(Fresh):
    def draw(self, like, rng):
        return like


class Forgetful(Fresh):
    """Remembers where chains ended, but not in a buffer."""

    last = None

    def draw(self, like, rng):
        return self.last if self.last is not None else super().draw(like, rng)

    def keep(self, x):
        self.last = x


class TakesAny(Fresh):
    capacity = 5


class CountsWrongly(Fresh):
    capacity = 6

    def draw(self, like, rng):
        if len(like) > 5:
            raise ValueError("too many")
        return super().draw(like, rng)


class Masked(ReplayStarts):
    def __init__(self, event):
        super().__init__(event, 20, 0.5, Fresh(event))

    def keep(self, x):
        wanted = x.flatten(1).sum(1) > 0
        self.positions[: len(x)][wanted] = x[wanted]
        self.used[: len(x)] = True


PLANTED = [
    (laws.draws_like_the_batch, planted(Single)),
    (laws.is_deterministic, planted(OwnSeeds)),
    (laws.uses_no_global_randomness, planted(GlobalNoise)),
    (laws.leaves_the_batch_alone, planted(TheBatchItself)),
    (laws.remembers_in_its_buffers_alone, planted(Forgetful)),
    (laws.holds_as_many_chains_as_it_says, planted(TakesAny, chains=5)),
    (laws.holds_as_many_chains_as_it_says, planted(CountsWrongly, chains=5)),
    (laws.runs_on_the_device, planted(Masked, chains=20)),
]
