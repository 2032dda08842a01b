"""The contract of a noise distribution."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from ebmkit.contracts.built import Builder
from ebmkit.contracts.states import Event, Space
from ebmkit.contracts.traits import NoiseTraits

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.contracts.modules.conditional_density import ConditionalDensity
    from ebmkit.contracts.modules.density import Density


#: What noise can be.
NOISE_OFFERS = frozenset({"density", "normalised", "learnable", "conditional"})


class Noise(Builder, ABC):
    """A noise distribution to contrast data with, which can be evaluated and sampled.

    `offers` announces the abilities of the module that `build` returns:

    `density`      a `Density`: `log_prob(x) -> (B,)` and `sample(n, rng) -> (n, *event)`
    `normalised`   the density integrates to one
    `learnable`    it has trainable parameters, and gradients flow through `sample` and `log_prob` into them
    `conditional`  a `ConditionalDensity` instead: noise around a given point
    """

    component_kind: ClassVar[str] = "noise"
    offers: ClassVar[frozenset[str]] = frozenset({"density", "normalised"})
    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})

    def traits(self) -> NoiseTraits:
        """Properties and abilities of this noise. Override it if parameters decide."""
        return NoiseTraits(self.offers, self.spaces, own_units=self.event() is not None)

    def event(self) -> Event | None:
        """The shape fixed by the parameters, or None for noise that takes the shape of the data."""
        return None

    def parameter_count(self, event: Event) -> int | None:
        """The number of trainable numbers of the module, or None if it is not known before it is built."""
        return None if "learnable" in self.traits().offers else 0

    def builds(self) -> type:
        from ebmkit.contracts.modules.conditional_density import ConditionalDensity
        from ebmkit.contracts.modules.density import Density

        return ConditionalDensity if "conditional" in self.traits().offers else Density

    @abstractmethod
    def build(self, event: Event, data: Tensor) -> Density | ConditionalDensity:
        """The module, on the CPU, fitted to `data` if applicable."""
