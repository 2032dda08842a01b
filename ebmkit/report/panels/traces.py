"""Panels of long chains: traces, autocorrelation, acceptance, divergences and warm-up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ebmkit.contracts.panel import Panel
from ebmkit.diagnostics.autocorrelation import autocorrelation
from ebmkit.report.panels.coordinates import quantities, which
from ebmkit.report.style import BAD, CHAINS, DATA, FAINT, INK, SAMPLES, corner, label, legend, number, small_axes

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.contracts.draws import Draws
    from ebmkit.engine.run_view import RunView

#: Numbers of coordinates shown in addition to the energy, and maximum points of a line; more draws are thinned.
STRIPS, LINES, POINTS = 2, 3, 400
#: Number of segments over which rates are averaged.
STRETCHES = 50
#: Autocorrelation considered negligible.
FORGOTTEN = 0.05
LAGS = 1000
COLORS = (SAMPLES, DATA, INK)


def panels(view: RunView) -> list[Panel]:
    """Panels of long chains, if there are any."""
    draws = view.draws
    if draws is None or draws.x.shape[1] < 2:
        return []
    found = [Panel("traces", "Traces of the chains", draw_traces, wide=True)]
    if draws.x.shape[1] >= 20:
        found.append(Panel("autocorrelation", "Autocorrelation", draw_autocorrelation, wide=True))
    if "acceptance" in draws.seen:
        found.append(Panel("acceptance", "Acceptance along the chains", draw_acceptance, wide=True, detail=True))
    if "divergence" in draws.seen and bool(draws.seen["divergence"].any()):
        found.append(Panel("divergences", "Divergences along the chains", draw_divergences, wide=True, detail=True))
    if "step_sizes" in draws.tuning:
        found.append(Panel("warmup", "Step size along the warm-up", draw_warmup, wide=True, detail=True))
    return found


def draw_traces(axes: Any, view: RunView) -> str:
    """One strip per coordinate and one for the energy; one line per chain."""
    shown = quantities(view, STRIPS)
    draws = view.draws
    assert draws is not None
    chains, count = draws.x.shape[:2]
    stride = -(-count // POINTS)
    at = range(1, count + 1, stride)
    strips = small_axes(axes, len(shown), 1, gap=(0, 0.12))
    for strip, (name, values) in zip(strips, shown.items(), strict=True):
        for color, line in zip(CHAINS, values[:, ::stride], strict=False):
            strip.plot(at, line, color=color, linewidth=0.7, alpha=0.85)
        strip.set_xlim(0, count)
        corner(strip, name)
        strip.locator_params(axis="y", nbins=3)
        if strip is not strips[-1]:
            strip.set_xticklabels([])
    strips[-1].set_xlabel("draw")
    few = min(chains, len(CHAINS))
    thinned = f"One in {stride} of {count:,} draws" if stride > 1 else f"{count:,} draws"
    of = f"{few} of {chains:,} chains" if chains > few else "one chain" if chains == 1 else f"{chains} chains"
    return f"{which(view, STRIPS)}{thinned} of {of}, one colour each. {_means(shown, few)}"


def draw_autocorrelation(axes: Any, view: RunView) -> str:
    """Means over chains, with the range between chains."""
    import torch

    words = []
    lines: dict[str, Tensor] = {}
    for name, values in quantities(view, LINES).items():
        rho = autocorrelation(values, min(LAGS, values.shape[1] // 2))
        rho = rho[~rho.isnan().any(1)]
        if len(rho):
            lines[name] = rho
    first = {name: _forgotten(rho.mean(0)) for name, rho in lines.items()}
    most = max((len(rho[0]) for rho in lines.values()), default=1)
    end = min(max([20, *(round(1.5 * lag) for lag in first.values())]), most)
    stride = -(-end // POINTS)
    for name, color in zip(lines, [*COLORS, FAINT], strict=False):
        rho = lines[name][:, :end:stride]
        lags = torch.arange(0, end, stride)
        color = FAINT if name == "energy" else color
        if len(rho) > 1:
            axes.fill_between(lags, rho.amin(0), rho.amax(0), color=color, alpha=0.13, linewidth=0)
        axes.plot(
            lags, rho.mean(0), color=color, linewidth=1.2, linestyle="--" if name == "energy" else "-", label=name
        )
        reached = first[name] < len(lines[name][0])
        words.append(f"{name} {f'at lag {first[name]:,}' if reached else 'at no computed lag'}")
    axes.axhline(0, color=FAINT, linewidth=0.6)
    axes.set(xlabel="lag in draws", ylabel="autocorrelation", xlim=(0, max(1, end - 1)))
    axes.locator_params(axis="x", integer=True)
    legend(axes)
    return (
        f"{which(view, LINES)}Lines: means over chains; bands: range between chains. "
        f"The mean falls below {FORGOTTEN}: {', '.join(words) or 'nowhere'}."
    )


def draw_acceptance(axes: Any, view: RunView) -> str:
    """Averages over segments of draws, for some chains and for all."""
    draws, sampler = view.draws, view.plan.chain_sampler
    assert draws is not None
    assert sampler is not None
    seen = draws.seen["acceptance"].cpu().double()
    at, rates = _stretches(seen)
    for color, line in zip(CHAINS, rates, strict=False):
        axes.plot(at, line, color=color, linewidth=0.8, alpha=0.8)
    axes.plot(at, rates.mean(0), color=INK, linewidth=1.3, label="all chains")
    words = ""
    if "step_size" in draws.tuning and sampler.target_acceptance is not None:
        axes.axhline(
            sampler.target_acceptance, color=FAINT, linewidth=0.8, linestyle="--", label="target of the warm-up"
        )
        words = f" The warm-up aimed at {number(sampler.target_acceptance)}."
    axes.set(xlabel="draw", ylabel="accepted", xlim=(0, seen.shape[1]), ylim=(-0.02, 1.02))
    legend(axes)
    by_chain = seen.mean(1)
    between = f", {number(float(by_chain.min()))} to {number(float(by_chain.max()))} by chain" if len(seen) > 1 else ""
    return f"Probability of accepting a proposal: {number(float(seen.mean()))} on average{between}.{words}"


def draw_divergences(axes: Any, view: RunView) -> str:
    """Number of divergent steps in each segment of draws."""
    draws, chains = view.draws, view.plan.spec.chains
    assert draws is not None
    assert chains is not None
    seen = draws.seen["divergence"].cpu().double() * chains.thin
    at, rates = _stretches(seen)
    counts = rates.sum(0) * (seen.shape[1] / len(at))
    axes.bar(at.numpy(), counts.numpy(), width=0.9 * seen.shape[1] / len(at), color=BAD, alpha=0.7, linewidth=0)
    axes.set(xlabel="draw", ylabel="diverged", xlim=(0, seen.shape[1]))
    by_chain = seen.sum(1).round().long()
    often = f"{int((by_chain > 0).sum())} of {len(by_chain):,} chains"
    return (
        f"{int(by_chain.sum()):,} of {seen.numel() * chains.thin:,} steps diverged (energy not finite or far too high) "
        f"in {often}; at most {int(by_chain.max()):,} in one chain. Samples may be missing in the regions concerned."
    )


def draw_warmup(axes: Any, view: RunView) -> str:
    """The step sizes tried, and the one kept."""
    draws = view.draws
    assert draws is not None
    tried, kept = draws.tuning["step_sizes"].cpu().double(), float(draws.tuning["step_size"])
    stride = -(-len(tried) // POINTS)
    axes.plot(range(1, len(tried) + 1, stride), tried[::stride], color=SAMPLES, linewidth=1)
    axes.axhline(kept, color=INK, linewidth=0.9, linestyle="--")
    axes.set(xlabel="step of the warm-up", ylabel="step size", xlim=(0, len(tried)), yscale="log")
    label(axes, f"kept: {number(kept)}")
    return f"From {number(float(tried[0]))} to {number(kept)} in {len(tried):,} steps.{_masses(draws)}"


def _masses(draws: Draws) -> str:
    if "inverse_mass" not in draws.tuning:
        return ""
    inverse = draws.tuning["inverse_mass"].cpu().double()
    if inverse.numel() == 1:
        return ""
    low, high = (number(float(end)) for end in inverse.aminmax())
    return f" Inverse masses, the variances of the coordinates during the warm-up: {low} to {high}."


def _means(shown: dict[str, Tensor], few: int) -> str:
    """The means of the chains shown, for every quantity."""
    by_name = {name: ", ".join(number(float(mean)) for mean in values[:few].mean(1)) for name, values in shown.items()}
    return f"Means by chain: {'; '.join(f'{name} {means}' for name, means in by_name.items())}."


def _forgotten(rho: Tensor) -> int:
    """The first lag with a negligible autocorrelation; the number of lags if there is none."""
    below = (rho < FORGOTTEN).nonzero()
    return int(below[0]) if len(below) else len(rho)


def _stretches(seen: Tensor) -> tuple[Tensor, Tensor]:
    """The midpoints of segments of draws, and the means over each `(chains, segments)`."""
    import torch

    pieces = torch.tensor_split(torch.arange(seen.shape[1]), min(STRETCHES, seen.shape[1]))
    return torch.stack([piece.double().mean() + 1 for piece in pieces]), torch.stack(
        [seen[:, piece].mean(1) for piece in pieces], 1
    )
