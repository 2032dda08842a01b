"""The sampler of a trained model whose spec and objective have none."""

from __future__ import annotations

from ebmkit.components.samplers.annealed_langevin import AnnealedLangevin
from ebmkit.components.samplers.gibbs import Gibbs
from ebmkit.components.samplers.mala import MALA
from ebmkit.components.samplers.reverse_sde import ReverseSDE
from ebmkit.contracts.kinds import Model, Sampler

#: Steps of separate chains from noise, half of which tune the step size.
STEPS = 400


def default_sampler(model: Model) -> Sampler | None:
    """A sampler for what the model offers: samples are what most of its users want to see. None if there is none."""
    traits = model.traits()
    if traits.schedule is not None and "score" in traits.offers:
        if traits.conditioning == "sigma":
            return AnnealedLangevin(schedule=traits.schedule)
        return ReverseSDE(schedule=traits.schedule) if traits.conditioning == "time" else None
    if traits.space == "real" and {"energy", "gradient"} <= traits.offers:
        return MALA(steps=STEPS)
    return Gibbs() if {"energy", "conditionals"} <= traits.offers else None
