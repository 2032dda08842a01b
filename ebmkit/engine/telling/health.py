"""Warnings during training that a run is going wrong, each given once."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

#: The number of points at the beginning of a series that define its usual value, and of recent points to compare.
FIRST, LAST = 10, 10


class Health:
    """Checks every record and warns."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self.warn = warn
        self._warned: set[str] = set()
        self._series: dict[str, list[float]] = {}

    def look(self, step: int, values: dict[str, float]) -> None:
        """Check what was recorded at a step."""
        for name, value in values.items():
            self._series.setdefault(name, []).append(value)
        for name, check in CHECKS.items():
            points = self._series.get(name, [])
            if name not in values or name in self._warned or len(points) < FIRST + LAST:
                continue
            if found := check(points[:FIRST], points[-LAST:]):
                self._warned.add(name)
                self.warn(f"step {step}: {found}")


def _gap(first: list[float], last: list[float]) -> str:
    usual, now = max(1.0, median(map(abs, first))), median(last)
    if abs(now) < 10 * usual:
        return ""
    return (
        f"the energies of data and samples are diverging (gap {now:.3g}, at first {usual:.3g}): "
        "use longer chains, starts nearer the data, or energy_l2"
    )


def _acceptance(first: list[float], last: list[float]) -> str:
    now = median(last)
    if now < 0.4:
        return f"only {now:.0%} of the proposals are accepted: use smaller steps"
    if now > 0.9:
        return f"{now:.0%} of the proposals are accepted: larger steps explore faster"
    return ""


def _v(first: list[float], last: list[float]) -> str:
    usual, now = median(first), median(last)
    if now < 10 * usual:
        return ""
    return (
        f"v, the gradient of the energy along chains, has grown from {usual:.3g} to {now:.3g}: "
        "spectral_norm or energy_l2 keeps the energy smooth"
    )


def _age(first: list[float], last: list[float]) -> str:
    now = median(last)
    if now < 500:
        return ""
    return f"replay-buffer entries are reused only every {now:.0f} steps; use a smaller 'size'"


CHECKS: dict[str, Callable[[list[float], list[float]], str]] = {
    "gap": _gap,
    "chain_acceptance": _acceptance,
    "v": _v,
    "buffer_age": _age,
}
