"""Signs that a run is going wrong, told while there is time to stop it. Each is told once."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

#: Points of a series at its beginning that say what is usual, and how many later ones are looked at together.
FIRST, LAST = 10, 10


class Health:
    """Looks at every record and warns."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self.warn = warn
        self._told: set[str] = set()
        self._series: dict[str, list[float]] = {}

    def look(self, step: int, values: dict[str, float]) -> None:
        """Take in what was recorded at a step."""
        for name, value in values.items():
            self._series.setdefault(name, []).append(value)
        for name, check in CHECKS.items():
            points = self._series.get(name, [])
            if name not in values or name in self._told or len(points) < FIRST + LAST:
                continue
            if found := check(points[:FIRST], points[-LAST:]):
                self._told.add(name)
                self.warn(f"step {step}: {found}")


def _gap(first: list[float], last: list[float]) -> str:
    usual, now = max(1.0, median(map(abs, first))), median(last)
    if abs(now) < 10 * usual:
        return ""
    return (
        f"the energies of data and samples run away from each other (gap {now:.3g}, at first {usual:.3g}): "
        "chains that are longer, or begin nearer, or energy_l2 hold them together"
    )


def _acceptance(first: list[float], last: list[float]) -> str:
    now = median(last)
    if now < 0.4:
        return f"only {now:.0%} of the proposals are accepted: smaller steps are accepted more often"
    if now > 0.9:
        return f"{now:.0%} of the proposals are accepted: larger steps explore faster"
    return ""


def _v(first: list[float], last: list[float]) -> str:
    usual, now = median(first), median(last)
    if now < 10 * usual:
        return ""
    return (
        f"v, the gradient of the energy along chains, has grown from {usual:.3g} to {now:.3g}: "
        "spectral_norm or energy_l2 keep the energy smooth"
    )


def _age(first: list[float], last: list[float]) -> str:
    now = median(last)
    if now < 500:
        return ""
    return f"chains wait {now:.0f} steps in the replay buffer between two visits: a smaller 'size' keeps them fresh"


CHECKS: dict[str, Callable[[list[float], list[float]], str]] = {
    "gap": _gap,
    "chain_acceptance": _acceptance,
    "v": _v,
    "buffer_age": _age,
}
