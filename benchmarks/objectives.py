"""What a training step costs: ours, that of two libraries, and that which a user would write.

    .venv/bin/python benchmarks/objectives.py [cd] [dsm] [sliced] [exact] [--json FILE]

Tables go to the terminal as Markdown. The unit is the limit: forward and backward pass of the same network over the
batch, to all weights. A step is a loss and its backward pass, without the optimizer, on an MLP d-128-128-1 with SiLU
and 256 points. Everybody runs in one process on one thread and takes turns; a figure is the median over the turns of
the ratio to the limit's turn, of CPU time. Before the clock starts, the gradients of those that claim to compute the
same are compared.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from measuring import Report, run_sections, seconds, take_turns
from torch import Generator, Tensor, nn

from ebmkit.chains.compiled import compile_energy
from ebmkit.chains.context import StepContext
from ebmkit.components.inits.data import DataStart
from ebmkit.components.models.mlp import MLP
from ebmkit.components.objectives.denoising_score_matching import DenoisingScoreMatching
from ebmkit.components.objectives.hutchinson_score_matching import HutchinsonScoreMatching
from ebmkit.components.objectives.mle import MLE
from ebmkit.components.objectives.score_matching import ScoreMatching
from ebmkit.components.objectives.sliced_score_matching import SlicedScoreMatching
from ebmkit.components.samplers.langevin import Langevin
from ebmkit.contracts.kinds import Objective

BATCH, WIDTH, SIGMA = 256, 128, 0.1
CHAIN, STEP = 20, 0.01
TURNS, TURN = 25, 0.05  # how many, and about how many seconds the turn of the slowest takes at least

#: A loss of the batch that it was made for.
Loss = Callable[[], Tensor]


@dataclass
class Setting:
    """A network and a batch."""

    dimension: int

    def __post_init__(self) -> None:
        torch.manual_seed(0)
        self.module = MLP(hidden=(WIDTH, WIDTH), base_scale=None).build((self.dimension,))
        self.x = torch.randn(BATCH, self.dimension)
        self.rng = Generator()

    def network(self) -> nn.Module:
        """A copy for a contender of its own."""
        return copy.deepcopy(self.module)

    def limit(self) -> tuple[nn.Module, Loss]:
        network = self.network()
        return network, lambda: network(self.x).mean()

    def ours(self, objective: Objective, *, compiled: bool = False) -> tuple[nn.Module, Loss]:
        network = self.network()
        if compiled:
            compile_energy(network)
        extras = objective.extras((self.dimension,), self.x)
        return network, lambda: objective.loss(network, self.x, StepContext(self.rng, extras, 1)).value

    def torchebm(self, make: Callable[[Any], Any]) -> tuple[nn.Module, Loss]:
        from torchebm.core import BaseModel

        class Model(BaseModel):  # type: ignore[misc, no-any-unimported]
            def __init__(self, network: nn.Module) -> None:
                super().__init__()
                self.network = network

            def forward(self, x: Tensor) -> Tensor:
                return self.network(x)

        model = Model(self.network())
        loss = make(model)

        def value() -> Tensor:
            found = loss(self.x, generator=self.rng)
            return found[0] if isinstance(found, tuple) else found

        return model.network, value

    def ebm(self, loss: nn.Module) -> tuple[nn.Module, Loss]:
        network = self.network()
        return network, lambda: loss(network, self.x).loss

    def plain(self, loss: Callable[[nn.Module, Tensor], Tensor]) -> tuple[nn.Module, Loss]:
        network = self.network()
        return network, lambda: loss(network, self.x)


def step(network: nn.Module, loss: Loss, times: int = 1) -> None:
    """So many training steps, without the optimizer."""
    for _ in range(times):
        loss().backward()
        for parameter in network.parameters():
            parameter.grad = None


def gradient(network: nn.Module, loss: Loss) -> Tensor:
    # The bias of the last layer plays no part in score matching.
    found = torch.autograd.grad(loss(), list(network.parameters()), allow_unused=True)
    return torch.cat([slope.flatten() for slope in found if slope is not None and slope.numel() > 1])


def measure(setting: Setting, contenders: dict[str, tuple[nn.Module, Loss]], turns: int = TURNS) -> dict[str, Any]:
    """Turns of everybody, beside the limit."""
    works = {"limit": setting.limit(), **contenders}
    for work in works.values():
        step(*work)
    slowest = max(seconds(partial(step, *work))[0] for work in works.values())
    units = max(1, round(TURN / slowest))
    return take_turns({name: partial(step, *work, units) for name, work in works.items()}, turns, units)


def require_same_gradient(contenders: dict[str, tuple[nn.Module, Loss]]) -> None:
    """Of those without randomness: what is faster because it does less would not be faster."""
    ours = gradient(*contenders["ours"])
    for name, contender in contenders.items():
        off = float((gradient(*contender) - ours).norm() / ours.norm())
        assert off < 1e-3, f"{name} has another gradient, off by {off:.2g}"


# Losses that a user would write ---------------------------------------------------------------------------------------


def plain_cd(model: nn.Module, batch: Tensor) -> Tensor:
    x = batch
    for _ in range(CHAIN):
        x = x.detach().requires_grad_()
        (slope,) = torch.autograd.grad(model(x).sum(), x)
        x = x.detach() - STEP * slope + math.sqrt(2 * STEP) * torch.randn_like(x)
    return model(batch).mean() - model(x.detach()).mean()


def plain_dsm(model: nn.Module, batch: Tensor) -> Tensor:
    xi = torch.randn_like(batch)
    x = (batch + SIGMA * xi).requires_grad_()
    (slope,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
    return (slope - xi / SIGMA).square().sum(1).mean() / 2


def plain_sliced(model: nn.Module, batch: Tensor) -> Tensor:
    x, v = batch.clone().requires_grad_(), torch.randn_like(batch)
    (slope,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
    (curve,) = torch.autograd.grad((slope * v).sum(), x, create_graph=True)
    return (slope.square().sum(1) / 2 - (curve * v).sum(1)).mean()


def plain_exact(model: nn.Module, batch: Tensor) -> Tensor:
    x = batch.clone().requires_grad_()
    (slope,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
    trace = torch.zeros(len(x))
    for i in range(x.shape[1]):
        (row,) = torch.autograd.grad(slope[:, i].sum(), x, create_graph=True)
        trace = trace + row[:, i]
    return (slope.square().sum(1) / 2 - trace).mean()


# Sections -------------------------------------------------------------------------------------------------------------


def faster(report: Report, what: str, row: dict[str, Any], least: dict[str, float], contender: str = "ours") -> None:
    """An aim for each peer: how many times as long it takes."""
    for peer, ratio in least.items():
        if peer in row:
            found = row[peer]["cpu_us"] / row[contender]["cpu_us"]
            report.aim(f"{what}, {contender} against {peer}", found, at_least=ratio)


def cd(report: Report) -> None:
    import ebm.losses
    import ebm.samplers
    import torchebm.losses
    import torchebm.samplers

    rows = {}
    for d in (2, 50, 784):
        setting = Setting(d)
        torch.compiler.reset()
        ours = MLE(sampler=Langevin(steps=CHAIN, step_size=STEP), init=DataStart(), energy_l2=0.0)

        def theirs(model: Any) -> Any:
            sampler = torchebm.samplers.LangevinDynamics(model, STEP, 1.0)
            return torchebm.losses.ContrastiveDivergence(model, sampler, k_steps=CHAIN, energy_reg_weight=0.0)

        sampler = ebm.samplers.LangevinDynamics(STEP, noise_scale=math.sqrt(2 * STEP), steps=CHAIN)
        start = partial(_starts, setting.x)
        rows[f"CD-{CHAIN}, d = {d}"] = row = measure(
            setting,
            {
                "ours": setting.ours(ours),
                "ours, compiled": setting.ours(ours, compiled=True),
                "torchebm": setting.torchebm(theirs),
                "ebm": setting.ebm(ebm.losses.ContrastiveDivergence(sampler, init_fn=start)),
                "plain": setting.plain(plain_cd),
            },
        )
        faster(report, f"CD-{CHAIN}, d = {d}", row, {"torchebm": 1.1, "ebm": 1.1})
        faster(report, f"CD-{CHAIN}, d = {d}", row, {"torchebm": 1.6, "ebm": 1.6}, "ours, compiled")
    report.table("Contrastive divergence", rows)


def _starts(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    return x.clone()


def dsm(report: Report) -> None:
    import ebm.losses
    import torchebm.losses

    rows = {}
    for d in (2, 50, 784):
        setting = Setting(d)
        rows[f"DSM, d = {d}"] = row = measure(
            setting,
            {
                "ours": setting.ours(DenoisingScoreMatching(sigma=SIGMA)),
                "torchebm": setting.torchebm(
                    lambda model: torchebm.losses.DenoisingScoreMatching(model, noise_scale=SIGMA)
                ),
                "ebm": setting.ebm(ebm.losses.DenoisingScoreMatching(SIGMA)),
                "plain": setting.plain(plain_dsm),
            },
        )
        faster(report, f"DSM, d = {d}", row, {"torchebm": 1.0, "ebm": 1.0})
    report.table("Denoising score matching", rows)


def sliced(report: Report) -> None:
    import ebm.losses
    import torchebm.losses

    rows = {}
    for d in (2, 50, 784):
        setting = Setting(d)
        rows[f"sliced, d = {d}"] = row = measure(
            setting,
            {
                "ours": setting.ours(SlicedScoreMatching()),
                "ours, Hutchinson": setting.ours(HutchinsonScoreMatching()),
                "torchebm": setting.torchebm(lambda model: torchebm.losses.SlicedScoreMatching(model, n_projections=1)),
                "ebm": setting.ebm(ebm.losses.SlicedScoreMatching()),
                "plain": setting.plain(plain_sliced),
            },
        )
        report.aim(f"sliced, d = {d}", row["ours"]["cpu_x_limit"], at_most=5.5)
        report.aim(f"Hutchinson, d = {d}", row["ours, Hutchinson"]["cpu_x_limit"], at_most=5.5)
        faster(report, f"sliced, d = {d}", row, {"torchebm": 1.0, "ebm": 1.0})
    report.table("Sliced score matching, one projection", rows)


def exact(report: Report) -> None:
    import ebm.losses
    import torchebm.losses

    rows = {}
    for d, most in ((2, 5.0), (16, None), (50, 40.0), (784, 450.0)):
        setting = Setting(d)
        contenders = {"ours": setting.ours(ScoreMatching())}
        if d < 784:  # there the others need tens of gigabytes, or minutes
            contenders |= {
                "torchebm": setting.torchebm(lambda model: torchebm.losses.ScoreMatching(model)),
                "ebm": setting.ebm(ebm.losses.ExactScoreMatching()),
                "plain": setting.plain(plain_exact),
            }
            require_same_gradient(contenders)
        rows[f"exact, d = {d}"] = row = measure(setting, contenders, turns=TURNS if d <= 16 else 7)
        if most is not None:
            report.aim(f"exact, d = {d}", row["ours"]["cpu_x_limit"], at_most=most)
        faster(report, f"exact, d = {d}", row, {"torchebm": 2.0 if d >= 16 else 1.0, "ebm": 1.0})
        if d == 50:
            faster(report, f"exact, d = {d}", row, {"plain": 3.0})
    report.table("Score matching with the exact trace", rows)


SECTIONS = {"cd": cd, "dsm": dsm, "sliced": sliced, "exact": exact}


if __name__ == "__main__":
    run_sections("What a training step costs.", SECTIONS)
