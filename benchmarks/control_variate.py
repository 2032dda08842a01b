"""What the control variate does to the gradient of `adaptive_nce`, by interval K: docs/control-variate.md.

    .venv/bin/python benchmarks/control_variate.py [--steps 600] [--seeds 3] [--batches 250]

A small network is trained on two moons with the term switched on. At the last step of an interval, where the copy is
oldest, everything is frozen, and the gradient of the noise phase is computed for many independent batches of noise.
The noise is drawn in two ways: exactly (the copy's density on a fine grid), and by the chains of the training. The same
batches are used with the term and without it.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import torch
from torch import Tensor, nn

from ebmkit.chains.context import StepContext
from ebmkit.components.bregman.logistic import Logistic
from ebmkit.components.data.two_moons import TwoMoons
from ebmkit.components.models.mlp import MLP
from ebmkit.components.objectives.adaptive_nce import AdaptiveNCE
from ebmkit.components.objectives.nets.contrast import Contrast
from ebmkit.components.objectives.nets.control_variate import stein
from ebmkit.contracts.modules.live import prepare_modules
from ebmkit.testing.setting import small_setting

PAGE = Path(__file__).resolve().parents[1] / "docs" / "control-variate.md"
INTERVALS = (1, 5, 10, 20, 50)
BATCH = 128
#: The box that the copy's density is looked at in, and cells a side.
REACH, CELLS = 5.0, 1000
PSI = Logistic()


@dataclass(frozen=True)
class Found:
    """What one frozen moment showed. Scatter is the trace of the covariance of one batch's gradient."""

    #: Standard deviation of log u under the copy: how far the model has gone from it.
    spread: float
    beta: float
    #: The factor with which the term would have taken out most.
    best_beta: float
    #: Scatter of the noise phase without the term and with it, for exact draws, and for the ends of chains.
    plain: float
    with_term: float
    with_best: float
    plain_chains: float
    with_term_chains: float
    #: Of the data phase, which the term does not touch.
    data: float
    #: How far the term moves the mean over exact draws, in standard errors of its coordinates: 1 is chance.
    shift: float
    #: How far the mean over chains is from that over exact draws, in lengths of the latter.
    bias: float
    bias_with_term: float

    @property
    def ratio(self) -> float:
        return self.with_term / self.plain

    @property
    def ratio_best(self) -> float:
        return self.with_best / self.plain

    @property
    def ratio_whole(self) -> float:
        return (self.with_term + self.data) / (self.plain + self.data)

    @property
    def ratio_chains(self) -> float:
        return self.with_term_chains / self.plain_chains


def rng(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def gradient(value: Tensor, model: nn.Module) -> Tensor:
    slopes = torch.autograd.grad(value, list(model.parameters()), retain_graph=True, materialize_grads=True)
    return torch.cat([slope.flatten() for slope in slopes])


def trained(
    interval: int, steps: int, seed: int, *, control: bool = True
) -> tuple[nn.Module, Contrast, AdaptiveNCE, Tensor]:
    """The model as it is when the last loss of an interval is computed, and all that this loss needs."""
    torch.manual_seed(seed)
    data, _ = TwoMoons(noise=0.15).load("train", rng(seed))
    data = data.double()
    model = MLP(hidden=(32, 32)).build((2,)).double()
    objective = AdaptiveNCE(interval=interval, control_variate=control)
    extras = objective.extras((2,), data)
    prepare_modules(extras, small_setting(model))
    extras = extras.double()
    adam, generator = torch.optim.Adam(model.parameters(), lr=3e-3), rng(1000 + seed)
    last = steps // interval * interval
    for step in range(1, last + 1):
        batch = data[torch.randint(len(data), (BATCH,), generator=generator)]
        loss = objective.loss(model, batch, StepContext(generator, extras, step))
        if step < last:
            adam.zero_grad()
            loss.value.backward()
            adam.step()
    return model, extras, objective, data


def exact(noise: nn.Module, count: int, generator: torch.Generator) -> Tensor:
    """Draws from `exp(-E_m)`: a cell of a fine grid, and a place in it."""
    side = 2 * REACH / CELLS
    axis = (torch.arange(CELLS, dtype=torch.float64) + 0.5) * side - REACH
    grid = torch.cartesian_prod(axis, axis)
    with torch.no_grad():
        log_p = torch.cat([-noise(block) for block in grid.split(1 << 15)])
    edge = (grid.abs() > REACH - 4 * side).any(1)
    share = torch.softmax(log_p, 0)
    if float(share[edge].sum()) > 1e-6:
        raise ValueError("the copy has mass at the edge of the grid")
    cumulative = share.cumsum(0)
    drawn = torch.searchsorted(cumulative, torch.rand(count, generator=generator, dtype=torch.float64) * cumulative[-1])
    within = torch.rand(count, 2, generator=generator, dtype=torch.float64) - 0.5
    return grid[drawn.clamp(max=len(grid) - 1)] + side * within


def chains(objective: AdaptiveNCE, extras: Contrast, data: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Ends of the training's own chains, from copies of its replay buffer: one call a batch."""
    found = []
    for _ in range(count // BATCH):
        starts = copy.deepcopy(extras.noise.starts)
        start = starts.draw(data[:BATCH], generator)
        context = StepContext(generator, None, 2)
        found.append(context.chain(objective.sampler, extras.noise.model, start))
    return torch.cat(found)


def phases(model: nn.Module, noise: nn.Module, samples: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Gradients of the noise phase and of the term, one row a batch."""
    plain, term = [], []
    for x in samples.split(BATCH):
        log_u = noise(x) - model(x)
        plain.append(gradient(PSI.s0(log_u).mean(), model))
        term.append(gradient(stein(PSI.s0, log_u, x, model, noise, generator).mean(), model))
    return torch.stack(plain), torch.stack(term)


def variance(rows: Tensor) -> float:
    return float(rows.var(0).sum())


def measured(interval: int, steps: int, seed: int, batches: int) -> Found:
    model, extras, objective, data = trained(interval, steps, seed)
    generator, count = rng(5000 + seed), batches * BATCH
    noise, beta = extras.noise.model, float(extras.control.beta)
    drawn = exact(noise, count, generator)
    f, a = phases(model, noise, drawn, generator)
    f_chains, a_chains = phases(model, noise, chains(objective, extras, data, count, generator), generator)
    d = []
    for _ in range(batches):
        batch = data[torch.randint(len(data), (BATCH,), generator=generator)]
        d.append(gradient(-PSI.s1(noise(batch) - model(batch)).mean(), model))
    centred_f, centred_a = f - f.mean(0), a - a.mean(0)
    best = -float((centred_f * centred_a).sum() / centred_a.square().sum())
    truth = (f + best * a).mean(0)
    with torch.no_grad():
        spread = float((noise(drawn) - model(drawn)).std())
    return Found(
        spread=spread,
        beta=beta,
        best_beta=best,
        plain=variance(f),
        with_term=variance(f + beta * a),
        with_best=variance(f + best * a),
        plain_chains=variance(f_chains),
        with_term_chains=variance(f_chains + beta * a_chains),
        data=variance(torch.stack(d)),
        shift=float(a.mean(0).norm()) / (variance(a) / batches) ** 0.5,
        bias=float((f_chains.mean(0) - truth).norm() / truth.norm()),
        bias_with_term=float(((f_chains + beta * a_chains).mean(0) - truth).norm() / truth.norm()),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the control variate, and write docs/control-variate.md.")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--batches", type=int, default=250)
    words = parser.parse_args()
    torch.set_num_threads(1)
    began, found = time.process_time(), {}
    for interval in INTERVALS:
        found[interval] = [measured(interval, words.steps, seed, words.batches) for seed in range(words.seeds)]
        print(f"K = {interval}: {found[interval]}", file=sys.stderr, flush=True)
    cost = price()
    text = page(found, words, cost, time.process_time() - began)
    print(text)
    PAGE.write_text(text)


def price(turns: int = 5, steps: int = 100) -> float:
    """The time of a training step with the term, in steps without it: the median of some turns."""
    ratios = []
    for seed in range(turns):
        taken = []
        for control in (True, False):
            began = time.process_time()
            trained(20, steps, seed, control=control)
            taken.append(time.process_time() - began)
        ratios.append(taken[0] / taken[1])
    return median(ratios)


def page(found: dict[int, list[Found]], words: argparse.Namespace, price: float, seconds: float) -> str:
    def mid(interval: int, name: str) -> float:
        return median(getattr(one, name) for one in found[interval])

    def between(name: str) -> str:
        values = [getattr(one, name) for each in found.values() for one in each]
        return f"{min(values):.2f} to {max(values):.2f}"

    scatter = [
        "| K | std of log u | beta | best beta | variance without | with | ratio | with best beta | whole gradient |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    means = [
        "| K | shift by the term, standard errors | chains: ratio | chains: bias without | chains: bias with |",
        "|---:|---:|---:|---:|---:|",
    ]
    for k in found:
        scatter.append(
            f"| {k} | {mid(k, 'spread'):.3f} | {mid(k, 'beta'):.3f} | {mid(k, 'best_beta'):.3f} | "
            f"{mid(k, 'plain'):.4f} | {mid(k, 'with_term'):.4f} | {mid(k, 'ratio'):.2f} | {mid(k, 'ratio_best'):.2f} | "
            f"{mid(k, 'ratio_whole'):.2f} |"
        )
        means.append(
            f"| {k} | {mid(k, 'shift'):.2f} | {mid(k, 'ratio_chains'):.2f} | {mid(k, 'bias'):.2f} | "
            f"{mid(k, 'bias_with_term'):.2f} |"
        )
    everything = [one for each in found.values() for one in each]
    nearer = sum(one.bias_with_term < one.bias for one in everything)
    lines = [
        "# Effect of the control variate",
        "`control_variate: true` of `adaptive_nce` and `adaptive_bregman` adds Stein's operator of the copy, applied "
        "to S0 and times a fitted factor beta, to the noise phase (`ebmkit show objective adaptive_bregman`; the "
        "formula is in `ebmkit/components/objectives/nets/control_variate.py`). Xu's thesis proposes such "
        "a term in its chapter 6, for long intervals K.",
        f"Made by `python benchmarks/control_variate.py --steps {words.steps} --seeds {words.seeds} --batches "
        f"{words.batches}` in {seconds:.0f} s on one core, torch {torch.__version__}. Medians over seeds 0 to "
        f"{words.seeds - 1}. Two moons (noise 0.15), `mlp` with `hidden: [32, 32]`, `adaptive_nce` with default "
        f"parameters and the term, Adam at 3e-3, batches of {BATCH}, float64. Everything is frozen at the last step of "
        f"an interval, and {words.batches} independent batches of noise are drawn. Variance is the trace of the "
        "covariance of one batch's gradient.",
        "## Variance, with exact draws from the copy",
        "\n".join(scatter),
        "Ratio is variance with the term over variance without, for the noise phase. The whole gradient also has a "
        "data phase, which the term does not affect. Best beta is fitted to the same batches that are evaluated.",
        "## Means",
        "\n".join(means),
        "Shift: the norm of the term's mean gradient over its standard error with exact draws; 1 is chance. "
        "Chains are those of the training, from its replay buffer. Bias is the distance of the mean gradient over "
        "their ends from that over exact draws, relative to the norm of the latter.",
        "## Findings",
        f"- With exact draws the term reduces the variance of the noise phase to {between('ratio')} over all seeds, "
        f"and that of the whole gradient to {between('ratio_whole')}. It does so at every K, and not more at large K: "
        "it reduces the variance of dE/dtheta itself, which is also present at K = 1.",
        f"- On this toy problem the variance without the term is {mid(1, 'plain'):.4f} at K = 1 and "
        f"{mid(50, 'plain'):.4f} at K = 50, where log u has a standard deviation of {mid(50, 'spread'):.2f}. The "
        "thesis expects it to grow with the variance of the ratio.",
        "- With exact draws the mean does not change, except by chance.",
        "- Chains of a few steps are not exact, and for them the term does shift the mean: towards the exact one in "
        f"{nearer} of {len(everything)} cases.",
        f"- A training step takes {price:.2f} times as long with it. A batch larger by that factor costs the same and "
        f"reduces the variance of the whole gradient to {1 / price:.2f}, without second derivatives.",
    ]
    return "\n\n".join(lines[:-5]) + "\n\n" + "\n".join(lines[-5:]) + "\n"


if __name__ == "__main__":
    main()
