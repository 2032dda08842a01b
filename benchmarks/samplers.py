"""How fast chains are: ours, those of two libraries, and the loop that a user would write.

    .venv/bin/python benchmarks/samplers.py [langevin] [hmc] [conv] [grid] [--json FILE]

Tables go to the terminal as Markdown, the picture of the grid to docs/samplers-cost.png. The peers, torchebm 0.8.9 and
the library that PyPI calls ebmkit (import name `ebm`, 0.16.0, no relation), get an environment of their own in
.cache/benchmark on the first call, and ebmkit joins them there.

The unit is the limit: the forward pass of the same network and the backward pass to its input by `torch.autograd.grad`,
with frozen weights. Everybody runs in one process on one thread and takes turns; a figure is the median over the turns
of the ratio to the limit's turn. It is CPU time, because other work on the machine would show in the wall clock; the
JSON has both. Before the clock starts, all contenders make a few steps from one seed, and have to end at one place.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from measuring import Report, run_sections, seconds, take_turns
from peers import ROOT
from torch import Generator, Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from ebmkit.chains.chain import run_chain
from ebmkit.chains.compiled import compile_energy
from ebmkit.components.models.conv import Conv
from ebmkit.components.models.mlp import MLP
from ebmkit.components.samplers.hmc import HMC
from ebmkit.components.samplers.langevin import Langevin

PICTURE = ROOT / "docs" / "samplers-cost.png"

STEP, LEAPFROG_STEP, LEAPFROG_STEPS = 0.01, 0.05, 10
TURNS, TURN = 25, 0.03  # how many, and about how many seconds the limit's turn takes
CHAINS, DIMENSIONS = (1, 16, 256, 4096, 65536), (2, 10, 50, 200, 784)


# The contenders -------------------------------------------------------------------------------------------------------

#: Runs a chain of so many steps on a network from where it was made for, and says where it ends.
Run = Callable[[int], Tensor]


class UserNetwork(nn.Module):
    """A network as in a plugin of ten lines: it has a forward pass, and nothing that would help a chain."""

    def __init__(self, dimension: int, width: int) -> None:
        super().__init__()
        widths = (nn.Linear(dimension, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))
        self.layers = nn.Sequential(*widths)

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x).squeeze(1)


@dataclass
class Setting:
    """A network and chains on it."""

    title: str
    module: nn.Module
    x: Tensor
    #: The same network without anything to normalise, where that makes a difference.
    bare: nn.Module | None = None
    rng: Generator = field(default_factory=Generator)

    def network(self) -> nn.Module:
        """A copy for a contender of its own, as training would leave it."""
        return copy.deepcopy(self.module).eval()

    def limit(self) -> Run:
        """Forward, and backward to the input, with frozen weights."""
        module = copy.deepcopy(self.bare or self.module).eval().requires_grad_(False)
        x, ones = self.x, torch.ones(len(self.x))

        def run(steps: int) -> Tensor:
            for _ in range(steps):
                point = x.detach().requires_grad_()
                torch.autograd.grad(module(point), point, ones)
            return x

        return run

    def ours(self, sampler: Callable[[int], Langevin | HMC], compiled: bool = False) -> Run:
        module = self.network()
        if compiled:
            compile_energy(module)
        return lambda steps: run_chain(sampler(steps), module, self.x, self.rng).x

    def torchebm_model(self) -> Any:
        from torchebm.core import BaseModel

        class Model(BaseModel):  # type: ignore[misc, no-any-unimported]
            def __init__(self, network: nn.Module) -> None:
                super().__init__()
                self.network = network

            def forward(self, x: Tensor) -> Tensor:
                return self.network(x)

        return Model(self.network())

    def langevin(self, step: float = STEP, noise: float | None = None, *, compiled: bool = True) -> dict[str, Run]:
        """x - step dE/dx + noise xi, by everybody."""
        import ebm.samplers
        import torchebm.samplers

        noise_std = math.sqrt(2 * step) if noise is None else noise
        network = self.network()

        def plain(steps: int) -> Tensor:
            x = self.x
            for _ in range(steps):
                x = x.detach().requires_grad_()
                (gradient,) = torch.autograd.grad(network(x).sum(), x)
                x = x.detach() - step * gradient + noise_std * torch.randn_like(x)
            return x

        theirs = torchebm.samplers.LangevinDynamics(self.torchebm_model(), step, noise_std / math.sqrt(2 * step))
        other, other_network = ebm.samplers.LangevinDynamics(step, noise_scale=noise_std), self.network()

        def sampler(steps: int) -> Langevin:
            return Langevin(steps=steps, step_size=step, noise_std=noise_std)

        return {
            "ours": self.ours(sampler),
            **({"ours, compiled": self.ours(sampler, compiled=True)} if compiled else {}),
            "torchebm": lambda steps: theirs.sample(x=self.x, n_steps=steps, generator=self.rng),
            "ebm": lambda steps: other.sample(other_network, self.x, steps=steps),
            "plain loop": plain,
        }

    def hmc(self) -> dict[str, Run]:
        """Trajectories of so many leapfrog steps, by everybody. A step is a leapfrog step."""
        import ebm.samplers
        import torchebm.samplers

        theirs = torchebm.samplers.HamiltonianMonteCarlo(self.torchebm_model(), LEAPFROG_STEP, LEAPFROG_STEPS)
        other, network = ebm.samplers.HMC(LEAPFROG_STEP, LEAPFROG_STEPS), self.network()

        def sampler(steps: int) -> HMC:
            draws = steps // LEAPFROG_STEPS
            return HMC(steps=draws, step_size=LEAPFROG_STEP, leapfrog_steps=LEAPFROG_STEPS, jitter=0.0)

        return {
            "ours": self.ours(sampler),
            "torchebm": lambda steps: theirs.sample(x=self.x, n_steps=steps // LEAPFROG_STEPS, generator=self.rng),
            "ebm": lambda steps: other.sample(network, self.x, steps=steps // LEAPFROG_STEPS),
        }


def mlp(dimension: int, chains: int, width: int = 128, *, user: bool = False) -> Setting:
    """A perceptron with two hidden layers of SiLU, from the registry or from a user."""
    torch.manual_seed(0)
    ours = MLP(hidden=(width, width), base_scale=None)
    module = UserNetwork(dimension, width) if user else ours.build((dimension,))
    words = "user's network" if user else "MLP"
    title = f"{words} {dimension}-{width}-{width}-1, {chains} chains"
    return Setting(title, module, torch.randn(chains, dimension))


def conv(chains: int) -> Setting:
    """The network of the thesis for images of 28 x 28, with spectral norm; the bare one has the weights that result."""
    torch.manual_seed(0)
    module = Conv(preset="thesis_a", spectral_norm=True).build((1, 28, 28)).eval()
    bare = Conv(preset="thesis_a").build((1, 28, 28))
    for ours, plain in zip(layers(module), layers(bare), strict=True):
        plain.weight.data, plain.bias.data = ours.normalised_weight().detach(), ours.layer.bias.detach()
    return Setting(
        f"conv thesis_a 28 x 28 with spectral norm, {chains} chains", module, torch.rand(chains, 1, 28, 28), bare
    )


def layers(module: Any) -> Iterator[Any]:
    yield from (*module.convolutions, *module.dense, module.last)


# Measuring ------------------------------------------------------------------------------------------------------------


def require_same_chains(setting: Setting, runs: dict[str, Run], steps: int) -> None:
    """All of them do the same: what is faster because it does less would not be faster."""
    ends = {}
    for name, run in runs.items():
        torch.manual_seed(1)
        setting.rng.manual_seed(1)
        ends[name] = run(steps)
    for name, end in ends.items():
        # In many chains an acceptance comes so close that rounding decides it.
        same = torch.isclose(end, ends["ours"], rtol=1e-3, atol=1e-4).flatten(1).all(1).float().mean()
        assert same > 0.99, f"{setting.title}: {name} ends elsewhere in {1 - float(same):.1%} of the chains"


def measure(
    setting: Setting, runs: dict[str, Run], *, unit: int = 1, turns: int = TURNS
) -> dict[str, dict[str, float]]:
    """By contender, the CPU and wall time of a step in microseconds and in multiples of others'.

    A chain has as many steps as the limit's turn has time for, at least `unit`.
    """
    require_same_chains(setting, runs, unit)
    runs = {"limit": setting.limit(), **runs}
    steps = unit * max(1, round(TURN / seconds(partial(runs["limit"], unit))[0]))
    if steps > unit:  # else they are warm already
        for run in runs.values():
            run(steps)
    return take_turns({name: partial(run, steps) for name, run in runs.items()}, turns, steps)


def peak_memory(run: Run, steps: int) -> int:
    """Most bytes of tensors, beyond those from before, that a chain holds at a time."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        run(steps)
    held = peak = 0
    events = [event for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"]
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    return peak


class Launches(TorchDispatchMode):
    """Counts what would be a kernel on a GPU: all but views, and memory that nobody writes to."""

    count = 0

    def __torch_dispatch__(self, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = operator._schema.name
        self.count += not (operator.is_view or name == "aten::detach" or name.startswith("aten::empty"))
        return operator(*args, **(kwargs or {}))


def launches(run: Run) -> int:
    """In one more step of a chain: what happens once in a chain is not counted."""

    def count(steps: int) -> int:
        with Launches() as seen:
            run(steps)
        return seen.count

    return count(3) - count(2)


# Sections -------------------------------------------------------------------------------------------------------------


def langevin(report: Report) -> None:
    settings = [mlp(2, 64, 64)] + [
        mlp(d, n, user=user) for d, user in ((2, False), (50, False), (2, True)) for n in (64, 256, 4096)
    ]
    rows = {}
    for setting in settings:
        chains = len(setting.x)
        torch.compiler.reset()  # each setting is compiled as in a run of its own, which sees few shapes
        # A block is ten steps. With many chains there is nothing to be saved between them.
        row = rows[setting.title] = measure(setting, setting.langevin(compiled=chains < 4096), unit=10)
        limits = {name: figures["cpu_x_limit"] for name, figures in row.items()}
        report.aim(f"langevin, {setting.title}", limits["ours"], at_most=1.10 if chains == 64 else 1.05)
        # Set for these networks. In a wider one the products of matrices, which nothing makes faster, weigh more.
        if (
            aim := {"MLP 2-64-64-1, 64 chains": 0.40, "MLP 2-128-128-1, 256 chains": 0.75}.get(setting.title)
        ) is not None:
            report.aim(f"langevin compiled, {setting.title}", limits["ours, compiled"], at_most=aim)
        if chains == 64 and "MLP 50" in setting.title:
            report.aim("langevin, faster than torchebm", row["torchebm"]["cpu_x_ours"], at_least=1.8)
            report.aim("langevin, faster than ebm", row["ebm"]["cpu_x_ours"], at_least=1.2)
    report.table("Langevin", rows)


def hmc(report: Report) -> None:
    rows = {}
    for setting in [mlp(d, n, user=user) for d, user in ((2, False), (50, False), (2, True)) for n in (64, 256, 4096)]:
        row = rows[setting.title] = measure(setting, setting.hmc(), unit=5 * LEAPFROG_STEPS)
        report.aim(f"hmc, {setting.title}", row["ours"]["cpu_x_limit"], at_most=1.30)
        if len(setting.x) == 64 and "MLP 50" in setting.title:
            report.aim("hmc, faster than torchebm", row["torchebm"]["cpu_x_ours"], at_least=2.0)
            report.aim("hmc, faster than ebm", row["ebm"]["cpu_x_ours"], at_least=1.1)
    report.table("HMC, per leapfrog step", rows)


def convolutional(report: Report) -> None:
    rows = {}
    for chains in (16, 64):
        setting = conv(chains)
        runs = setting.langevin(1.0, 0.005, compiled=False)
        row = rows[setting.title] = measure(setting, runs, unit=5, turns=9)
        for name, run in {"limit": setting.limit(), **runs}.items():
            row[name]["launches"] = launches(run)
        report.aim(f"langevin, {setting.title}", row["ours"]["cpu_x_limit"], at_most=0.95)
        report.aim(f"launches, {setting.title}", row["ours"]["launches"], at_most=35)
    report.table("Langevin on images, and kernels a step", rows, extra="launches")


def grid(report: Report) -> None:
    """Chains x dimensions, ours against the peers."""
    rows: list[dict[str, Any]] = []
    for sampler in ("langevin", "hmc"):
        for dimension in DIMENSIONS:
            for chains in CHAINS:
                setting = mlp(dimension, chains)
                runs = setting.langevin(compiled=False) if sampler == "langevin" else setting.hmc()
                runs.pop("plain loop", None)
                # The largest cells take seconds a step: there, chains are short and turns few.
                turns = (15 if chains < 4096 else 9) if sampler == "langevin" or chains < 65536 else 3
                draws = 5 if chains < 65536 else 2 if dimension < 784 else 1
                unit = draws * (LEAPFROG_STEPS if sampler == "hmc" else 1)
                found = measure(setting, runs, unit=unit, turns=turns)
                for name, run in runs.items():
                    found[name]["bytes"] = peak_memory(run, unit)
                rows.append({"sampler": sampler, "chains": chains, "dimension": dimension, **found})
                tell(rows[-1])
    report.found["grid"] = rows
    for sampler in ("langevin", "hmc"):
        for peer in ("torchebm", "ebm"):
            cells = [row for row in rows if row["sampler"] == sampler]
            worst = min(cells, key=lambda row: row[peer]["cpu_x_ours"])
            where = f"{worst['chains']} chains, d = {worst['dimension']}"
            report.aim(f"{sampler}, grid, {peer} at its best: {where}", worst[peer]["cpu_x_ours"], at_least=1.0)
    draw(rows)


def tell(row: dict[str, Any]) -> None:
    """A row of the grid, as soon as it is known."""
    if row["chains"] == CHAINS[0] and row["dimension"] == DIMENSIONS[0]:
        print(f"\n### Grid: {row['sampler']} on an MLP d-128-128-1, ours | torchebm | ebm\n")
        print("| d | chains | steps per CPU second | peak memory, MB | torchebm / ours | ebm / ours |")
        print("|---:|---:|---:|---:|---:|---:|")
    ours, *peers = (row[name] for name in ("ours", "torchebm", "ebm"))
    speeds = " \\| ".join(f"{1e6 / each['cpu_us']:.3g}" for each in (ours, *peers))
    sizes = " \\| ".join(f"{each['bytes'] / 1e6:.3g}" for each in (ours, *peers))
    ratios = " | ".join(f"{peer['cpu_x_ours']:.2f}" for peer in peers)
    print(f"| {row['dimension']} | {row['chains']} | {speeds} | {sizes} | {ratios} |", flush=True)


def draw(rows: list[dict[str, Any]]) -> None:
    """How cost grows with the number of chains: time and memory of a step."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(10, 7.5), sharex=True, layout="constrained")
    lines = {"ours": "-", "torchebm": ":", "ebm": "--"}
    colors = pyplot.get_cmap("viridis")(torch.linspace(0, 0.85, len(DIMENSIONS)).tolist())
    for column, (sampler, title) in enumerate({"langevin": "Langevin step", "hmc": "HMC, leapfrog step"}.items()):
        for row, (key, scale, label) in enumerate((("cpu_us", 1.0, "microseconds a step"), ("bytes", 1e-6, "MB"))):
            panel = axes[row][column]
            for color, dimension in zip(colors, DIMENSIONS, strict=True):
                cells = [cell for cell in rows if (cell["sampler"], cell["dimension"]) == (sampler, dimension)]
                for name, line in lines.items():
                    label_of = f"d = {dimension}" if name == "ours" else None
                    heights = [scale * cell[name][key] for cell in cells]
                    panel.plot(
                        CHAINS, heights, line, color=color, label=label_of, linewidth=1.6 if line == "-" else 1.0
                    )
            panel.set(xscale="log", yscale="log", ylabel=label, title=title if row == 0 else None)
            panel.grid(alpha=0.25, linewidth=0.5)
            panel.spines[["top", "right"]].set_visible(False)
    for panel in axes[1]:
        panel.set_xlabel("chains")
    first = axes[0][0].legend(frameon=False, fontsize=9)
    axes[0][0].add_artist(first)
    styles = [pyplot.Line2D([], [], color="black", linestyle=line, label=name) for name, line in lines.items()]
    axes[0][1].legend(handles=styles, frameon=False, fontsize=9)
    figure.suptitle("MLP d-128-128-1 with SiLU, one thread", fontsize=10)
    figure.savefig(PICTURE, dpi=110)


SECTIONS = {"langevin": langevin, "hmc": hmc, "conv": convolutional, "grid": grid}


if __name__ == "__main__":
    run_sections("How fast chains are.", SECTIONS)
