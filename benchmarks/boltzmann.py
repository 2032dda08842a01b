"""How fast machines of units of two values are: sweeps, lattices, annealing, sums over all states, training steps.

    .venv/bin/python benchmarks/boltzmann.py [sweep] [ising] [ais] [sum] [training] [--json FILE]

The unit is the limit: the matrix products and random floats of the same work alone. Everything is on one thread, in
turns; figures are medians of ratios of CPU time. `thrml` runs in an environment of its own, which the variable THRML
names (a folder made by `python -m venv`, with `pip install thrml`); without it that column is missing.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from measuring import Report, one_thread, seconds, take_turns
from peers import ALLOCATOR
from torch import Generator, Tensor

import ebmkit
from ebmkit import load_spec
from ebmkit.chains.annealing import Ladder, Transitions, anneal
from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import frozen
from ebmkit.components.metrics.nets.annealed_layers import AnnealedLayers
from ebmkit.components.metrics.nets.bases import BernoulliBase
from ebmkit.components.models.boltzmann import Boltzmann
from ebmkit.components.models.ising import Ising
from ebmkit.components.models.rbm import RBM
from ebmkit.components.samplers.gibbs import Gibbs
from ebmkit.maths import enumeration

VISIBLE, HIDDEN, BATCH = 784, 500, 128
COUPLING = 0.44


def machine() -> Any:
    torch.manual_seed(0)
    return RBM(hidden=HIDDEN, shape=(VISIBLE,)).build((VISIBLE,)).requires_grad_(False)


def coins(*shape: int) -> Tensor:
    return torch.randint(2, shape).float()


def limit_of_sweeps(module: Any, batch: int, sweeps: int) -> None:
    """The two products of a sweep, and a random float for each unit."""
    v, h, rng = coins(batch, VISIBLE), coins(batch, HIDDEN), Generator()
    weights, u, w = module.weights, torch.empty(batch, VISIBLE), torch.empty(batch, HIDDEN)
    for _ in range(sweeps):
        torch.mm(h, weights.T, out=u)
        torch.mm(v, weights, out=w)
        u.uniform_(generator=rng)
        w.uniform_(generator=rng)


def hand_sweeps(module: Any, sweeps: int) -> None:
    """The loop that a user would write, without energies."""
    v, h, weights = coins(BATCH, VISIBLE), coins(BATCH, HIDDEN), module.weights
    for _ in range(sweeps):
        v = torch.bernoulli(torch.sigmoid(h @ weights.T + module.visible_biases))
        h = torch.bernoulli(torch.sigmoid(v @ weights + module.hidden_biases))


def sweep(report: Report) -> None:
    module, x, rng, steps = machine(), coins(BATCH, VISIBLE), Generator(), 20
    works = {
        "limit": partial(limit_of_sweeps, module, BATCH, steps),
        "ours": lambda: run_chain(Gibbs(steps=steps), module, x, rng),
        "plain loop": partial(hand_sweeps, module, steps),
    }
    rows = {"RBM 784 x 500, 128 chains": turns(works, 15, steps)}
    report.aim("sweep of an RBM", rows["RBM 784 x 500, 128 chains"]["ours"]["cpu_x_limit"], at_most=1.3)
    report.table("Sweeps of block Gibbs sampling", rows)


def turns(works: dict[str, Any], count: int, units: int) -> dict[str, dict[str, float]]:
    for work in works.values():
        work()
    return take_turns(works, count, units)


class Numpy:
    """Checkerboard in numpy: two half lattices of one byte a spin, and a table of five thresholds."""

    def __init__(self, chains: int, side: int) -> None:
        self.rng = np.random.default_rng(0)
        self.halves = [2 * self.rng.integers(0, 2, (chains, side, side // 2), dtype=np.int8) - 1 for _ in (0, 1)]
        self.table = (1 / (1 + np.exp(-2 * COUPLING * np.arange(-4.0, 5, 2)))).astype(np.float32)
        self.u, self.near = np.empty(self.halves[0].shape, np.float32), np.empty_like(self.halves[0])

    def sweep(self) -> None:
        near = self.near
        for colour in (0, 1):
            other = self.halves[1 - colour]
            near[:] = other
            near[:, 1:] += other[:, :-1]
            near[:, :1] += other[:, -1:]
            near[:, :-1] += other[:, 1:]
            near[:, -1:] += other[:, :1]
            for parity in (0, 1):
                target, shifted = near[:, parity::2], other[:, parity::2]
                if (colour + parity) % 2 == 0:
                    target[:, :, 1:] += shifted[:, :, :-1]
                    target[:, :, :1] += shifted[:, :, -1:]
                else:
                    target[:, :, :-1] += shifted[:, :, 1:]
                    target[:, :, -1:] += shifted[:, :, :1]
            self.rng.random(out=self.u, dtype=np.float32)
            near += 4
            near >>= 1
            half = self.halves[colour]
            np.less(self.u, self.table.take(near), out=half.view(bool))
            half *= 2
            half -= 1


def ising(report: Report) -> None:
    """Million spins per CPU second, at several numbers of chains."""
    print("\n### Checkerboard, million spins per CPU second\n")
    print("| lattice, chains | ours | numpy | thrml |\n|---|---:|---:|---:|")
    found = report.found["ising"] = {}
    for side, chains in ((64, 1), (64, 64), (64, 1024), (256, 1), (256, 16), (256, 64)):
        module, rng = Ising(shape=(side, side), coupling=COUPLING, periodic=True).build((side, side)), Generator()
        x, peer = 2 * coins(chains, side, side) - 1, Numpy(chains, side)
        spins = chains * side**2
        steps = max(20, int(6e6 / spins))
        works = {
            "ours": lambda module=module, x=x, rng=rng, steps=steps: run_chain(Gibbs(steps=steps), module, x, rng),
            "limit": lambda peer=peer, steps=steps: [peer.sweep() for _ in range(steps)],
        }
        row = turns(works, 9, steps * spins)
        rates = {"ours": 1 / row["ours"]["cpu_us"], "numpy": 1 / row["limit"]["cpu_us"]}
        rates["thrml"] = thrml(side, chains) if side == 256 and chains <= 16 else math.nan
        found[f"{side} x {side}, {chains}"] = rates
        print(
            f"| {side} x {side}, {chains} | " + " | ".join(f"{rate:.1f}" for rate in rates.values()) + " |", flush=True
        )
        if side == 256:
            report.aim(f"ising, {chains} chains, x numpy", row["limit"]["cpu_x_ours"], at_least=1.0)
            if not math.isnan(rates["thrml"]):
                report.aim(f"ising, {chains} chains, x thrml", rates["ours"] / rates["thrml"], at_least=1.0)


def thrml(side: int, chains: int) -> float:
    if "THRML" not in os.environ:
        return math.nan
    command = [Path(os.environ["THRML"]) / "bin" / "python", Path(__file__).with_name("boltzmann_peers.py")]
    done = subprocess.run([*command, "thrml", str(side), str(chains)], capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout)["spins_per_us"])


def ais(report: Report) -> None:
    """100 chains at 1,000 temperatures."""
    module, chains, count, rng = machine(), 100, 1_000, Generator()
    path = AnnealedLayers(BernoulliBase((VISIBLE,), (0.0, 1.0), torch.zeros(VISIBLE)), module)

    def ours() -> None:
        with frozen(path) as energy, torch.no_grad():
            x = path.base.sample(chains, torch.zeros(0), rng)
            anneal(Transitions(Gibbs(steps=1), energy, path, rng), Ladder.even(count, x), x)

    rows = {
        "RBM 784 x 500, 100 chains, 1,000 temperatures": turns(
            {"limit": partial(limit_of_sweeps, module, chains, count), "ours": ours}, 3, count
        )
    }
    report.table("Annealed importance sampling, per temperature", rows)


def total(report: Report) -> None:
    """Sums over 2^20 states."""
    print("\n### Sums over 2^20 states\n\n| | CPU seconds | peak memory, MB |\n|---|---:|---:|")
    torch.manual_seed(0)
    digits = RBM(hidden=20, shape=(1, 8, 8)).build((1, 8, 8)).double().requires_grad_(False)
    visible = Boltzmann(shape=(20,)).build((20,)).double().requires_grad_(False)
    like = torch.zeros(0, dtype=torch.float64)
    works = {
        "rbm, 64 visible and 20 hidden units": digits.log_z,
        "boltzmann, 20 visible units": lambda: enumeration.log_sum(visible, (20,), (0.0, 1.0), like),
    }
    for name, work in works.items():
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        taken, _ = seconds(work)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        report.found[name] = {"seconds": taken, "megabytes": grown}
        print(f"| {name} | {taken:.2f} | {grown:.0f} |", flush=True)


def training(report: Report) -> None:
    """Steps of persistent contrastive divergence on digits, in milliseconds of CPU time."""
    from sklearn.neural_network import BernoulliRBM

    print("\n### Steps of persistent contrastive divergence, batch 128, CPU ms\n")
    print("| machine | ours | plain loop | scikit-learn |\n|---|---:|---:|---:|")
    found = report.found["training"] = {}
    for side, hidden in ((8, 20), (28, 500)):
        few, many = 200, 1000 if side == 8 else 400
        ours = (run_of(side, hidden, many) - run_of(side, hidden, few)) / (many - few)
        train = load_spec(spec_of(side, hidden, 1)).spec.data.load("train", Generator()).x.flatten(1)
        plain, _ = seconds(partial(hand_training, train, hidden, few))
        epochs = max(1, few // (len(train) // BATCH))
        peer = BernoulliRBM(hidden, batch_size=BATCH, n_iter=epochs, random_state=0)
        theirs, _ = seconds(partial(peer.fit, train.numpy()))
        row = {"ours": ours, "plain loop": plain / few, "scikit-learn": theirs / (epochs * -(-len(train) // BATCH))}
        found[f"{side**2} x {hidden}"] = row
        print(
            f"| {side**2} x {hidden} | " + " | ".join(f"{1000 * each:.2f}" for each in row.values()) + " |", flush=True
        )
        report.aim(f"training of {side**2} x {hidden}, x scikit-learn", row["scikit-learn"] / ours, at_least=3.0)


def spec_of(side: int, hidden: int, steps: int) -> dict[str, Any]:
    return {
        "ebmkit": 1,
        "name": "training",
        "threads": 1,
        "data": {"use": "digits", "binarize": "binary", "resize": [side, side]},
        "model": {"use": "rbm", "hidden": hidden},
        "objective": {
            "use": "mle",
            "sampler": {"use": "gibbs", "steps": 1},
            "init": {"use": "persistent", "chains": BATCH},
        },
        "train": {"steps": steps, "batch_size": BATCH},
        "sampler": {"use": "gibbs", "steps": 1},
        "samples": 2,
        "samples_every": None,
    }


def run_of(side: int, hidden: int, steps: int) -> float:
    """The CPU seconds of a whole run; a difference of two is that of training."""
    with tempfile.TemporaryDirectory() as folder:
        return seconds(lambda: ebmkit.run(spec_of(side, hidden, steps), runs_dir=folder, report=False))[0]


def hand_training(train: Tensor, hidden: int, steps: int) -> None:
    """The loop that a user would write, with plain gradient steps by hand."""
    weights = 0.01 * torch.randn(train.shape[1], hidden)
    b, c, v = torch.zeros(train.shape[1]), torch.zeros(hidden), coins(BATCH, train.shape[1])
    for _ in range(steps):
        x = train[torch.randint(len(train), (BATCH,))]
        h = torch.bernoulli(torch.sigmoid(v @ weights + c))
        v = torch.bernoulli(torch.sigmoid(h @ weights.T + b))
        up, down = torch.sigmoid(x @ weights + c), torch.sigmoid(v @ weights + c)
        weights += 0.01 / BATCH * (x.T @ up - v.T @ down)
        b += 0.01 * (x - v).mean(0)
        c += 0.01 * (up - down).mean(0)


SECTIONS = {"sweep": sweep, "ising": ising, "ais": ais, "sum": total, "training": training}


def main() -> None:
    parser = argparse.ArgumentParser(description="What sweeps, annealing and sums over all states cost.")
    parser.add_argument("section", nargs="*", choices=[*SECTIONS, []], help="some of it; all without")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there, too")
    words = parser.parse_args()
    if not ALLOCATOR.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ALLOCATOR})
    report = Report()
    with one_thread():
        for name in words.section or SECTIONS:
            SECTIONS[name](report)
    report.close(words.json)


if __name__ == "__main__":
    main()
