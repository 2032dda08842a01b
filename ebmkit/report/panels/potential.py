"""Energies that depend on the noise level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.maths.process import least_noise

if TYPE_CHECKING:
    from ebmkit.contracts.kinds import Schedule
    from ebmkit.engine.run_view import RunView

SIGMA = "\N{GREEK SMALL LETTER SIGMA}"


def has_potential(view: RunView) -> bool:
    """Whether there is an energy at every noise level that needs no label."""
    model = view.plan.spec.model
    return "energy" in model.traits().offers and model.traits().conditioning is not None and not model.traits().labelled


def named(schedule: Schedule, level: float | None) -> str:
    """A noise level or a time, None for a state without noise."""
    if level is None:
        return "clean"
    return f"{SIGMA if schedule.conditioning == 'sigma' else 't'} = {level:.3g}".replace(" ", "\N{NO-BREAK SPACE}")


def at_least_noise(view: RunView) -> str:
    """The noise level at which the energy is drawn, as a suffix of a title; empty for other models."""
    if not has_potential(view):
        return ""
    assert view.schedule is not None
    return f" at {named(view.schedule, least_noise(view.schedule))}"
