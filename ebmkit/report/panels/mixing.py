"""Panels of convergence diagnostics of long chains: R-hat, effective sample size, and ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ebmkit.contracts.panel import Panel
from ebmkit.contracts.states import image_shape
from ebmkit.diagnostics.ranks import normal_scores
from ebmkit.engine.mixing import RHAT, Mixing
from ebmkit.report.panels.coordinates import is_discrete, quantities
from ebmkit.report.style import BAD, CHAINS, ENERGY, FAINT, INK, SAMPLES, corner, number, small_axes

if TYPE_CHECKING:
    from ebmkit.engine.run_view import RunView

#: Maximum number of coordinates that are shown in separate rows.
FEW = 10
BINS = 20


def panels(view: RunView) -> list[Panel]:
    """Panels of diagnostics, if chains keep enough draws."""
    found = view.mixing
    if found is None or bool(found.coordinates.ess_bulk.isnan().all()):
        return []
    panels = [Panel("mixing", "R-hat and effective draws", draw_figures, wide=True)]
    if image_shape(view.event):
        panels.append(Panel("mixing-map", "R-hat and effective draws by pixel", draw_map, wide=True))
    even = not is_discrete(view) or found.still.numel() > BINS  # few units have few distinct means and ranks
    if found.chains > 1 and found.draws >= 2 * BINS and even:
        panels.append(Panel("ranks", "Ranks by chain", draw_ranks, wide=True, detail=True))
    return panels


def draw_figures(axes: Any, view: RunView) -> str:
    """R-hat on the left, effective sample size on the right: one row per coordinate, or sorted curves of many."""
    found = view.mixing
    assert found is not None
    (_rows if found.still.numel() <= FEW else _curves)(axes, view, found)
    return f"{_agreement(found)} {_effective(view, found)}"


def draw_map(axes: Any, view: RunView) -> str:
    """The diagnostics as maps of pixels; the worst of several channels."""
    import torch
    from matplotlib.colors import LinearSegmentedColormap

    found = view.mixing
    form = image_shape(view.event)
    assert found is not None
    assert form is not None
    bulk = found.coordinates.ess_bulk.reshape(form)
    maps = {"bulk ESS": torch.nan_to_num(bulk, nan=0.0).amin(0)}
    if found.chains > 1:
        agreement = torch.nan_to_num(found.coordinates.rhat.reshape(form), nan=1.0, posinf=float("inf"))
        maps = {"R-hat": agreement.amax(0), **maps}
    words = []
    for small, (name, values) in zip(
        small_axes(axes, 1, len(maps), gap=(0.35, 0), room=(0.0, 0.12)), maps.items(), strict=True
    ):
        colors = ENERGY if name == "bulk ESS" else ENERGY[::-1]  # dark means poor mixing
        drawn = small.imshow(values.numpy(), cmap=LinearSegmentedColormap.from_list(name, colors), interpolation="none")
        small.set(xticks=[], yticks=[], xlabel=name)
        scale = small.inset_axes((1.04, 0, 0.05, 1))
        bar = axes.figure.colorbar(drawn, cax=scale)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=7, colors=FAINT, length=2, width=0.6)
        bar.ax.locator_params(nbins=4)
        words.append(f"{name} {number(float(values.min()))} to {number(float(values.max()))}")
    still = int(found.still.sum())
    never = f" {still:,} pixels never moved." if still else ""
    return f"Dark means poor mixing: {', '.join(words)}.{never}"


def draw_ranks(axes: Any, view: RunView) -> str:
    """Histograms of the ranks of each chain's draws among all draws: uniform if the chains agree."""
    import torch

    name, values = next(iter(quantities(view, 1).items()))
    # The scores are normal quantiles of the ranks.
    ranks = torch.special.ndtr(normal_scores(values.unsqueeze(2))).squeeze(2)
    counts = torch.stack([torch.histc(chain, BINS, 0, 1) for chain in ranks]) * BINS / values.shape[1]
    edges = torch.linspace(0, 1, BINS + 1)
    for color, chain in zip(CHAINS, counts, strict=False):
        axes.stairs(chain, edges, color=color, linewidth=1.1)
    axes.axhline(1, color=FAINT, linewidth=0.8, linestyle="--")
    axes.set(xlabel=f"rank of {name} among all draws", ylabel="share / uniform share", xlim=(0, 1), ylim=(0, None))
    few = f" Shown: {len(CHAINS)} of {len(values):,} chains." if len(values) > len(CHAINS) else ""
    return (
        f"Ranks are uniform (dashed) if the chains agree. Over {BINS} bins and all chains: "
        f"{number(float(counts.min()))} to {number(float(counts.max()))} times the uniform share.{few}"
    )


def _rows(axes: Any, view: RunView, found: Mixing) -> None:
    """Dots, with their values next to them."""
    parts = [found.coordinates, *([found.energy] if found.energy else [])]
    names = [view.names.coordinate(index) for index in range(found.still.numel())] + ["energy"] * (len(parts) - 1)
    agreement, bulk, tail = (
        [float(value) for part in parts for value in getattr(part, figure).flatten()]
        for figure in ("rhat", "ess_bulk", "ess_tail")
    )
    left, right = small_axes(axes, 1, 2, gap=(0.55, 0), room=(0.04, 0.2))
    rows = range(len(names))
    finite = [value for value in agreement if value < float("inf")]
    most = max([1.25 * (RHAT - 1), *(1.1 * (value - 1) for value in finite)])
    left.axvline(RHAT, color=BAD, linewidth=0.8, linestyle="--")
    _dots(left, [min(value, 1 + most) for value in agreement], [value > RHAT for value in agreement])
    left.set(xlim=(1 - 0.1 * most, 1 + 1.05 * most), xlabel="R-hat")
    left.set_yticks(rows, names)
    right.axvline(found.wanted, color=BAD, linewidth=0.8, linestyle="--")
    _dots(right, bulk, [value < found.wanted for value in bulk], label="bulk")
    _dots(right, tail, [value < found.wanted for value in tail], hollow=True, label="tail")
    right.set(xlim=(0, 1.08 * max(value for value in (*bulk, *tail, found.wanted) if value == value)))
    right.set(xlabel="effective draws (● bulk, ○ tail)")
    right.set_yticks(rows, [""] * len(names))
    for small, nbins in ((left, 3), (right, 4)):
        small.set_ylim(len(names) - 0.5, -0.5)
        small.locator_params(axis="x", nbins=nbins)
        small.grid(axis="y", color=FAINT, alpha=0.25, linewidth=0.5)
        small.set_axisbelow(True)
    for row in rows:
        still = bulk[row] != bulk[row]
        beside = {"va": "center", "ha": "left", "fontsize": 7, "color": INK}
        left.text(
            1.04,
            row,
            "" if agreement[row] != agreement[row] else f"{agreement[row]:.3f}",
            **beside,
            transform=left.get_yaxis_transform(),
        )
        shown = "never moved" if still else f"{bulk[row]:,.0f} / {tail[row]:,.0f}"
        right.text(1.03, row, shown, **beside, transform=right.get_yaxis_transform())


def _dots(axes: Any, values: list[float], bad: list[bool], *, hollow: bool = False, label: str = "") -> None:
    for row, (value, wrong) in enumerate(zip(values, bad, strict=True)):
        color = BAD if wrong else SAMPLES
        axes.plot(
            [value], [row], "o", color=color, markersize=4.5, markerfacecolor="none" if hollow else color, clip_on=False
        )


def _curves(axes: Any, view: RunView, found: Mixing) -> None:
    """All coordinates in order, worst first."""
    import torch

    left, right = small_axes(axes, 1, 2, gap=(0.32, 0))
    of = found.coordinates
    places = torch.arange(1, found.still.numel() + 1)
    agreement = of.rhat.flatten().nan_to_num(nan=1.0, posinf=float("nan")).sort(descending=True).values
    left.plot(places, agreement, color=SAMPLES, linewidth=1.2)
    left.axhline(RHAT, color=BAD, linewidth=0.8, linestyle="--")
    corner(left, "R-hat", right=True)
    for name, ess, line in (("bulk", of.ess_bulk, "-"), ("tail", of.ess_tail, ":")):
        ordered = ess.flatten().nan_to_num(nan=0.0).sort().values
        right.plot(places, ordered, color=SAMPLES, linewidth=1.2, linestyle=line, label=name)
    right.axhline(found.wanted, color=BAD, linewidth=0.8, linestyle="--")
    right.set_ylim(0, 1.15 * max(float(ess.nan_to_num(0.0).max()) for ess in (of.ess_bulk, of.ess_tail)))
    corner(right, "effective (dots: tail)")
    for small in (left, right):
        small.set(xlim=(1, len(places)), xlabel="coordinates, worst first")
        small.locator_params(nbins=4)


def _agreement(found: Mixing) -> str:
    worst, where = found.largest("rhat")
    if found.chains == 1:
        return "R-hat needs more than one chain."
    many = int((found.coordinates.rhat > RHAT).sum())
    beyond = (
        f"; {many:,} of {found.still.numel():,} coordinates are above {RHAT}"
        if many
        else f"; {RHAT} is the usual limit"
    )
    return f"R-hat, rank-normalised and split: at most {worst:.4f} ({where}){beyond}."


def _effective(view: RunView, found: Mixing) -> str:
    (bulk, bulk_at), (tail, tail_at) = found.largest("ess_bulk", -1), found.largest("ess_tail", -1)
    assert view.draws is not None
    asked = view.draws.evaluations * found.chains
    least = float(found.coordinates.ess_bulk.nan_to_num(float("inf")).min())
    price = f" Per 1,000 energy evaluations: {number(1000 * least / asked)}." if asked else ""
    return (
        f"Effective sample size of {found.chains * found.draws:,} draws: at least {bulk:,.0f} for the bulk ({bulk_at}) "
        f"and {tail:,.0f} for the tails ({tail_at}); {found.wanted} are recommended.{price}"
    )
