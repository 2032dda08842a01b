"""Panels of models of two-valued units: means of units and, if there are few units, probabilities of states."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING, Any

from ebmkit.contracts.panel import Panel
from ebmkit.report.panels.exact import exact_draws, has_exact, temperature
from ebmkit.report.style import EXACT, SAMPLES, legend, number

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.engine.run_view import RunView

#: Maximum numbers of units for which every state is shown, and for which units are labelled.
STATES, NAMED = 5, 16


def panels(view: RunView) -> list[Panel]:
    """Means of units and, if there are few units, the probabilities of all states."""
    if not view.can_sample:
        return []
    found = [Panel("units", "Unit means", draw_units, wide=True)]
    if prod(view.event) <= STATES and view.has_energy:
        found.append(Panel("states", "Every state", draw_states, wide=True))
    return found


def draw_units(axes: Any, view: RunView) -> str:
    """One dot per unit with two standard errors, and a line at the exact mean."""
    import torch

    mean, error, count = _means(view)
    units = torch.arange(len(mean))
    few = len(mean) <= NAMED
    if few:
        axes.errorbar(
            units.numpy(),
            mean.numpy(),
            2 * error.numpy(),
            fmt="o",
            color=SAMPLES,
            markersize=4,
            linewidth=1,
            label="samples",
        )
    else:
        axes.scatter(units, mean, s=6, color=SAMPLES, linewidths=0, label="samples")
    words = f"Means over {count:,} samples"
    words += (
        ", with two standard errors." if few else f"; their standard errors are at most {number(float(error.max()))}."
    )
    exact, how = _exact_means(view)
    if exact is not None:
        axes.hlines(exact, units - 0.35, units + 0.35, color=EXACT, linewidth=1.2, label=how)
        off = (mean - exact).abs()
        worst = int(off.argmax())
        apart = f"{number(float(off[worst]))} at {view.names.coordinate(worst)}"
        words += f" The largest distance from the {how} is {apart}"
        words += f", {float(off[worst] / error[worst]):.1f} standard errors." if error[worst] > 0 else "."
    axes.set(ylabel="mean", xlim=(-0.7, len(mean) - 0.3))
    if few:
        axes.set_xticks(
            units.tolist(), [view.names.coordinate(int(unit)) for unit in units], rotation=90 * (len(mean) > 6)
        )
    else:
        axes.set_xlabel("unit")
    legend(axes)
    return words


def draw_states(axes: Any, view: RunView) -> str:
    """One bar per state, and a line at the exact probability."""
    import torch

    from ebmkit.maths.enumeration import numbers

    p = probabilities(view)
    count = len(p)
    values = unit_values(view)
    found = sum(torch.bincount(numbers(x, values).cpu(), minlength=count) for x in all_samples(view))
    assert isinstance(found, torch.Tensor)
    total = int(found.sum())
    share = found.double() / total
    places = torch.arange(count)
    axes.bar(places.numpy(), share.numpy(), width=0.7, color=SAMPLES, alpha=0.55, linewidth=0, label="samples")
    axes.hlines(p, places - 0.35, places + 0.35, color=EXACT, linewidth=1.4, label="exp(-E) / Z")
    bits = _state_names(view, count)
    axes.set_xticks(places.tolist(), bits, rotation=90 * (count > 8))
    axes.set(ylabel="probability", xlim=(-0.7, count - 0.3))
    legend(axes)
    listed = (
        ", ".join(f"{state} {a:.3f} ({b:.3f})" for state, a, b in zip(bits, share, p, strict=True))
        if count <= 8
        else ""
    )
    written = "lower (0) and higher (1) values" if len(values) == 2 else "categories"
    return (
        f"Share of {total:,} samples in each of {count} states, written as the {written} of "
        f"their units{': ' if listed else ''}{listed}. The total variation distance from exp(-E) / Z is "
        f"{number(float((share - p).abs().sum() / 2))}."
    )


def unit_values(view: RunView) -> tuple[float, ...]:
    """All values of a unit."""
    return view.plan.spec.model.traits().unit_values


def _state_names(view: RunView, count: int) -> list[str]:
    """Each state by the positions of the values of its units, or by the names of its categories."""
    base, units = len(unit_values(view)), prod(view.event)
    digits = [[number // base**place % base for place in range(units - 1, -1, -1)] for number in range(count)]
    if view.plan.spec.model.traits().categories is None:
        return ["".join(map(str, row)) for row in digits]
    names = [[view.names.category(unit, category) for unit, category in enumerate(row)] for row in digits]
    short = all(len(name) == 1 for row in names for name in row)
    return [("" if short else " ").join(row) for row in names]


def probabilities(view: RunView) -> Tensor:
    """Probabilities of all states, in order."""
    from ebmkit.maths.enumeration import log_weights

    like = view.samples(1)
    return (log_weights(view.energy, view.event, unit_values(view), like).cpu().double() / temperature(view)).softmax(0)


def _exact_means(view: RunView) -> tuple[Tensor | None, str]:
    """Exact means by enumeration if possible, or means of exact draws; and a label for them."""
    import torch

    from ebmkit.maths.enumeration import ENUMERABLE, states

    if prod(view.event) <= ENUMERABLE and view.has_energy:
        p = probabilities(view)
        everything = states(torch.arange(len(p)), view.event, unit_values(view), torch.float64)
        return p @ everything.flatten(1), "exact means"
    if has_exact(view):
        return exact_draws(view).flatten(1).double().mean(0), "means of exact draws"
    return None, ""


def _means(view: RunView) -> tuple[Tensor, Tensor, int]:
    """The means of units, their standard errors, corrected for autocorrelation in long chains, and how many samples."""
    import torch

    from ebmkit.diagnostics.mcse import mcse_mean

    sums, count = torch.zeros(prod(view.event), dtype=torch.float64), 0
    for x in all_samples(view):
        sums, count = sums + x.flatten(1).cpu().double().sum(0), count + len(x)
    if view.draws is not None:
        return sums / count, mcse_mean(view.draws.x.flatten(2)).cpu().nan_to_num(0.0), count
    (x,) = all_samples(view)
    return sums / count, x.flatten(1).cpu().double().std(0) / count**0.5, count


def all_samples(view: RunView) -> Iterator[Tensor]:
    """All samples; those of long chains in blocks."""
    if view.draws is None:
        yield view.samples(view.plan.spec.samples)
    else:
        yield from (block.flatten(0, 1) for block in view.draws.blocks())
