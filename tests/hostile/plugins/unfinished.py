"""A plugin whose sampler lacks its step."""

from ebmkit.api import Sampler, component


@component("hmc")
class HMC(Sampler):
    """A sampler without a step."""

    def init(self, energy, x, rng):
        return x
