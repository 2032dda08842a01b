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

    p = _probabilities(view)
    count = len(p)
    found = torch.stack([torch.bincount(numbers(x, _values(view)).cpu(), minlength=count) for x in _all(view)]).sum(0)
    total = int(found.sum())
    share = found.double() / total
    places = torch.arange(count)
    axes.bar(places.numpy(), share.numpy(), width=0.7, color=SAMPLES, alpha=0.55, linewidth=0, label="samples")
    axes.hlines(p, places - 0.35, places + 0.35, color=EXACT, linewidth=1.4, label="exp(-E) / Z")
    bits = [f"{number:0{prod(view.event)}b}" for number in range(count)]
    axes.set_xticks(places.tolist(), bits, rotation=90 * (count > 8))
    axes.set(ylabel="probability", xlim=(-0.7, count - 0.3))
    legend(axes)
    listed = (
        ", ".join(f"{state} {a:.3f} ({b:.3f})" for state, a, b in zip(bits, share, p, strict=True))
        if count <= 8
        else ""
    )
    return (
        f"Share of {total:,} samples in each of {count} states, written as the lower (0) and higher (1) values of "
        f"their units{': ' if listed else ''}{listed}. The total variation distance from exp(-E) / Z is "
        f"{number(float((share - p).abs().sum() / 2))}."
    )


def _values(view: RunView) -> tuple[float, float]:
    from ebmkit.maths.enumeration import VALUES

    return VALUES[view.plan.spec.model.traits().space]


def _probabilities(view: RunView) -> Tensor:
    """Probabilities of all states, in order."""
    from ebmkit.maths.enumeration import log_weights

    like = view.samples(1)
    return (log_weights(view.energy, view.event, _values(view), like).cpu().double() / temperature(view)).softmax(0)


def _exact_means(view: RunView) -> tuple[Tensor | None, str]:
    """Exact means by enumeration if possible, or means of exact draws; and a label for them."""
    import torch

    from ebmkit.maths.enumeration import ENUMERABLE, states

    if prod(view.event) <= ENUMERABLE and view.has_energy:
        p = _probabilities(view)
        everything = states(torch.arange(len(p)), view.event, _values(view), torch.float64)
        return p @ everything.flatten(1), "exact means"
    if has_exact(view):
        return exact_draws(view).flatten(1).double().mean(0), "means of exact draws"
    return None, ""


def _means(view: RunView) -> tuple[Tensor, Tensor, int]:
    """The means of units, their standard errors, corrected for autocorrelation in long chains, and how many samples."""
    import torch

    from ebmkit.diagnostics.mcse import mcse_mean

    sums, count = torch.zeros(prod(view.event), dtype=torch.float64), 0
    for x in _all(view):
        sums, count = sums + x.flatten(1).cpu().double().sum(0), count + len(x)
    if view.draws is not None:
        return sums / count, mcse_mean(view.draws.x.flatten(2)).cpu().nan_to_num(0.0), count
    (x,) = _all(view)
    return sums / count, x.flatten(1).cpu().double().std(0) / count**0.5, count


def _all(view: RunView) -> Iterator[Tensor]:
    """All samples; those of long chains in blocks."""
    if view.draws is None:
        yield view.samples(view.plan.spec.samples)
    else:
        yield from (block.flatten(0, 1) for block in view.draws.blocks())
