"""The map between the units of the data and the space in which the network works, in words."""

from __future__ import annotations

from ebmkit.language.plan import Plan
from ebmkit.maths.units import Units

#: The most columns that are listed.
FEW = 4


def unit_words(plan: Plan, units: Units) -> str:
    """What is subtracted from the columns and what they are divided by; empty if they are left as they are."""
    if units.shift is None or units.out_matrix is None:
        return ""
    spread = units.out_matrix if units.by_column else units.out_matrix.square().sum(0).sqrt()
    centres, widths = (_listed(values.tolist()) for values in (units.shift, spread))
    scale = plan.spec.scale
    if scale == "range":
        return f"range: centre {centres}, half width {widths}"
    return f"{scale}: mean {centres}, standard deviation {widths}" + ("" if units.by_column else ", no correlations")


def _listed(values: list[float]) -> str:
    more = f", ... ({len(values)} columns)" if len(values) > FEW else ""
    return ", ".join(f"{value:.4g}" for value in values[:FEW]) + more
