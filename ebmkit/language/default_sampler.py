"""The sampler of a trained model whose spec and objective have none."""

from __future__ import annotations

from ebmkit.components.samplers.ancestral import Ancestral
from ebmkit.components.samplers.annealed_langevin import AnnealedLangevin
from ebmkit.components.samplers.gibbs import Gibbs
from ebmkit.components.samplers.mala import MALA
from ebmkit.components.samplers.mixed_mala import MixedMALA
from ebmkit.components.samplers.reverse_sde import ReverseSDE
from ebmkit.contracts.kinds import Model, Sampler
from ebmkit.contracts.traits import offered_to

#: Steps of separate chains from noise, half of which tune the step size, and of those that need no tuning.
TUNED, MIXED = 400, 600


def default_sampler(model: Model, *, mixed: bool) -> Sampler | None:
    """A sampler for what the model offers: samples are what most of its users want to see. None if there is none.

    `mixed` is for energies of unit scale that are right everywhere: steps of all sizes and independent proposals reach
    narrow and separated modes. Where an energy was learned near the data only, they would find what it has elsewhere.
    """
    traits = model.traits()
    if "ancestral" in traits.offers:
        return Ancestral()
    if traits.schedule is not None and "score" in traits.offers:
        if traits.conditioning == "sigma":
            return AnnealedLangevin(schedule=traits.schedule, predict=True)
        return ReverseSDE(schedule=traits.schedule) if traits.conditioning == "time" else None
    sweeps = Gibbs()
    if sweeps.traits().needs <= offered_to(sweeps.traits(), traits):
        return sweeps
    if traits.space == "real" and {"energy", "gradient"} <= traits.offers:
        return MixedMALA(steps=MIXED) if mixed else MALA(steps=TUNED)
    return None
