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
        #: For the numbers of `AT_ONCE`: the sum over steps, and the last step of it.
        self._sums: dict[str, tuple[float, int]] = {}

    def look(self, step: int, values: dict[str, float]) -> None:
        """Check what was recorded at a step, as means over the steps since the last record."""
        for name, value in values.items():
            self._series.setdefault(name, []).append(value)
        for name in AT_ONCE.keys() & values:
            before, since = self._sums.get(name, (0.0, 0))
            self._sums[name] = before + values[name] * (step - since), step
            if values[name] and name not in self._warned:
                self._warned.add(name)
                self.warn(f"step {step}: {AT_ONCE[name](values[name])}")
        for name, check in CHECKS.items():
            points = self._series.get(name, [])
            if name not in values or name in self._warned or len(points) < FIRST + LAST:
                continue
            if found := check(points[:FIRST], points[-LAST:]):
                self._warned.add(name)
                self.warn(f"step {step}: {found}")

    def conclude(self) -> None:
        """After training: the mean over all steps of what was warned of when it first occurred."""
        for name, (sums, steps) in self._sums.items():
            if sums:
                self.warn(f"in all of the training, {AT_ONCE[name](sums / steps)}")


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


def _divergence(share: float) -> str:
    return (
        f"{share:.3%} of the steps of chains diverged and were rejected: the energy was not finite, or its error very "
        "large; use smaller steps"
    )


#: For numbers that are zero unless something is wrong: what is said when the first one is not.
AT_ONCE: dict[str, Callable[[float], str]] = {"chain_divergence": _divergence}

CHECKS: dict[str, Callable[[list[float], list[float]], str]] = {
    "gap": _gap,
    "chain_acceptance": _acceptance,
    "v": _v,
    "buffer_age": _age,
}
