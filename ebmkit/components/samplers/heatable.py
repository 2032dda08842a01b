"""Samplers that can run at several temperatures inside another one."""

from __future__ import annotations

from ebmkit.contracts.ability import info_of
from ebmkit.contracts.kinds import Sampler
from ebmkit.contracts.known_abilities import abilities_for


def check_heatable(sampler: Sampler, where: str) -> None:
    """Raise a ValueError unless the sampler can run on `E / T`. `where` is the parameter with the temperatures."""
    inner, called = sampler.traits(), f"sampler '{sampler.component_name}'"
    if inner.conditioning is not None:
        raise ValueError(f"{called} passes a {inner.conditioning} to the model, but the chains differ in temperature")
    if inner.searches:
        raise ValueError(f"{called} searches for low energies, but a sampler of exp(-E/T) is needed")
    known = abilities_for(type(sampler))
    for name in sorted(inner.needs & known.keys()):
        info = info_of(known[name])
        if info.heated is None and not info.by_energy:
            raise ValueError(f"{called} needs '{name}', which is not defined at other temperatures than 1")
    if inner.temperature != 1:
        raise ValueError(f"{called} sets its own 'temperature'; remove it, because '{where}' sets it")
