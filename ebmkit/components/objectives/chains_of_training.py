"""The default chains of objectives that draw model samples in every step of training."""

from __future__ import annotations

from ebmkit.components.samplers.gibbs import Gibbs
from ebmkit.components.samplers.mixed_mala import MixedMALA
from ebmkit.contracts.kinds import Sampler
from ebmkit.contracts.traits import ModelTraits

#: Chains on points, for any energy that has a gradient.
ON_POINTS = MixedMALA(steps=20)
#: Sweeps over the units of a model that draws them exactly, given all others.
ON_UNITS = Gibbs(steps=5)


def chains_for(model: ModelTraits) -> dict[str, Sampler]:
    """The sampler that suits a model, where it is not that on points."""
    return {"sampler": ON_UNITS} if "blocks" in model.offers else {}
