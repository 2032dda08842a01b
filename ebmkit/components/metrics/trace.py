"""Traces of the chains that drew the samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ebmkit.contracts.view import View


def trace(view: View, name: str, samples: int) -> list[float]:
    """The mean over chains at each step, for chains that draw at least `samples` samples."""
    view.samples(samples)
    if name not in view.traces:
        raise ValueError(f"the sampler does not report '{name}'")
    numbers: list[float] = view.traces[name].tolist()
    return numbers
