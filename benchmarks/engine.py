"""What the engine costs: a training step of a real run against the same step written by hand.

    OMP_NUM_THREADS=1 .venv/bin/python benchmarks/engine.py [--json]

The run is a whole one, with metrics, the bar of a terminal, a plugin that listens to every step, and all checks for
numbers that are not finite. The hand-written loop has the same batches, loss, optimizer and running mean, and nothing
else. Both must end with the same weights, bit for bit; that is checked. They take turns of ten steps in one process.
The figures are medians over the turns, of a step; on a machine that does other things too, read the CPU time. The aim:
at most 20 microseconds.
"""

import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from types import SimpleNamespace

import torch
from rich.console import Console
from safetensors.torch import load_file

from ebmkit import load_spec
from ebmkit.cli.terminal import Watch
from ebmkit.engine.build import build
from ebmkit.engine.rng import Streams
from ebmkit.engine.session import run
from ebmkit.language.plan import Plan
from ebmkit.report.drawing import draw_run

AIM = 20.0  # microseconds
TURN = 10  # steps
STEPS = {256: 3000, 16: 6000}  # by batch size: that of the quickstart, and one that leaves little else to measure

LISTENER = """
from ebmkit.api import hookimpl

@hookimpl
def ebmkit_step_ended(view, step):
    heard(step)
"""


def plan_of(batch_size: int, listener: Path) -> Plan:
    """The quickstart, without what comes behind its training."""
    spec = {
        "ebmkit": 1,
        "name": "engine",
        "device": "cpu",
        "threads": 1,
        "data": "two_moons",
        "model": {"use": "mlp", "hidden": [128, 128]},
        "objective": {"use": "nce", "noise": {"use": "gaussian", "inflate": 1.2}, "noise_ratio": 4},
        "train": {
            "steps": STEPS[batch_size],
            "batch_size": batch_size,
            "optimizer": {"use": "adam", "lr": 3e-3},
            "final_lr": 0.02,
            "ema": 0.99,
        },
    }
    return load_spec(spec, plugins=[str(listener)])


def by_hand(plan: Plan) -> Iterator[dict[str, list[torch.Tensor]]]:
    """The bare loop. Hands out the weights and their running mean behind each step."""
    parts, streams, section = build(plan), Streams(plan.spec.seed, torch.device("cpu")), plan.spec.stages[0]
    model, data, size, steps = parts.model, parts.train, section.batch_size, section.steps
    optimizer, loss_of = parts.working[0].optimizer, plan.spec.objective.loss
    live, mean = list(model.parameters()), [p.detach().clone() for p in model.parameters()]
    context = SimpleNamespace(rng=streams.generator("objective"), extras=parts.extras)
    weights = {"model": live, "mean": mean}
    for step in range(1, steps + 1):
        epoch, position = divmod(step - 1, len(data) // size)
        if position == 0:
            order = torch.randperm(len(data), generator=streams.generator(f"train/epoch/{epoch}"))
        batch = data.index_select(0, order[position * size : (position + 1) * size])
        loss = loss_of(model, batch, context).value
        optimizer.zero_grad()
        loss.backward()
        optimizer.param_groups[0]["lr"] = 3e-3 * (0.02 + 0.98 * (1 + math.cos(math.pi * (step - 1) / (steps - 1))) / 2)
        optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(mean, live, 1 - min(0.99, (1 + step) / (10 + step)))
        yield weights


class Turns:
    """Called behind every step of the run. At the end of a turn the bare loop has its own."""

    def __init__(self, bare: Iterator[dict[str, list[torch.Tensor]]]) -> None:
        self.bare = bare
        #: Seconds of the clock and of the processor: of each turn of the engine, and of that by hand behind it.
        self.pairs: list[tuple[tuple[float, float], tuple[float, float]]] = []
        self._began = now()

    def __call__(self, step: int) -> None:
        if step % TURN == 0:
            engine, began = since(self._began), now()
            for _ in range(TURN):
                self.weights = next(self.bare)
            self.pairs.append((engine, since(began)))
            self._began = now()


def now() -> tuple[float, float]:
    return time.perf_counter(), time.thread_time()


def since(then: tuple[float, float]) -> tuple[float, float]:
    clock, processor = now()
    return clock - then[0], processor - then[1]


def measure(batch_size: int, folder: Path) -> dict[str, float]:
    """All figures of a batch size, in microseconds a step."""
    listener = folder / "listener.py"
    listener.write_text(LISTENER)
    plan = plan_of(batch_size, listener)
    turns = Turns(by_hand(plan))
    sys.modules["ebmkit_plugin_listener"].heard = turns  # type: ignore[attr-defined]
    with Path(os.devnull).open("w") as nowhere, Watch(quiet=False, as_json=False) as watch:
        watch.console = Console(file=nowhere, force_terminal=True, width=120)
        record = run(plan, runs_dir=folder, draw=draw_run, progress=watch)
    for part, tensors in turns.weights.items():
        saved = load_file(record.folder / "checkpoints" / f"step-{plan.spec.steps:06d}" / f"{part}.safetensors")
        names = [name for name, _ in build(plan).model.named_parameters()]
        assert all(map(torch.equal, [saved[name] for name in names], tensors)), "the two did not do the same"
    figures: dict[str, float] = {"batch_size": batch_size}
    pairs = turns.pairs[len(turns.pairs) // 10 :]  # the first ones warm up
    for clock, name in enumerate(("wall", "cpu")):
        engine = [1e6 * pair[0][clock] / TURN for pair in pairs]
        hand = [1e6 * pair[1][clock] / TURN for pair in pairs]
        figures[f"{name}_engine"], figures[f"{name}_by_hand"] = median(engine), median(hand)
        figures[f"{name}_difference"] = median(a - b for a, b in zip(engine, hand, strict=True))
        figures[f"{name}_difference_of_minima"] = min(engine) - min(hand)
    return figures


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows = [measure(batch_size, Path(folder)) for batch_size in STEPS]
    if "--json" in sys.argv:
        print(json.dumps({"aim": AIM, "microseconds": rows}))
        return
    print("microseconds a step         engine   by hand   difference   of minima")
    for row in rows:
        for clock, words in (("wall", "wall clock"), ("cpu", "CPU time")):
            figures = (row[f"{clock}_{name}"] for name in ("engine", "by_hand", "difference", "difference_of_minima"))
            label = f"batch of {row['batch_size']}, {words}"
            print(
                f"{label:<25}"
                + "".join(f"{figure:>{w}.1f}" for figure, w in zip(figures, (9, 10, 13, 12), strict=True))
            )


if __name__ == "__main__":
    main()
