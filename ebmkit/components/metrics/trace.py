"""What the chains that drew the samples saw on their way."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ebmkit.contracts.view import View


def trace(view: View, name: str, samples: int) -> list[float]:
    """The mean over chains at each step, where the chains are those that draw at least so many samples."""
    view.samples(samples)
    if name not in view.traces:
        raise ValueError(f"the steps of the sampler report no {name}")
    numbers: list[float] = view.traces[name].tolist()
    return numbers
