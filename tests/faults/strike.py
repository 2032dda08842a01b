"""A plugin that sends its own process signals, at one place of a run or another.

The orders are in a file: {"phase": "chain", "at": [3, 700], "signals": [15], "after": 0.01, "linger": 0.5}. They are
carried out once: by a thread, `after` seconds after the place was reached, or there and then. The place stays for
`linger` seconds. Without orders nothing is unusual here, so a run that was struck can be resumed and compared.
"""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from ebmkit.api import Loss, Metric, Model, Objective, Sampler, StepInfo, component, hookimpl, torch
from ebmkit.components.inits.replay import Replay
from ebmkit.contracts.kinds import Init

#: How often each place was reached.
REACHED: dict[str, int] = {}
#: Where steps of chains write down when they begin, once the signals are on their way.
NOTES: list[int] = []

#: Seconds that a metric takes which only a signal ends.
LONG_ENOUGH = 300.0

ORDERS = Path(__file__).with_name("never")
_real_fsync = os.fsync


def count(phase: str) -> int:
    """How often a place was reached, this time included."""
    REACHED[phase] = REACHED.get(phase, 0) + 1
    return REACHED[phase]


def reach(phase: str, *position: int) -> bool:
    """Carry out the orders, if they are for this place."""
    if not ORDERS.exists():
        return False
    orders = json.loads(ORDERS.read_text())
    if (orders["phase"], orders["at"]) != (phase, [*position]):
        return False
    log = os.open(ORDERS.with_name("struck"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    NOTES.append(os.open(ORDERS.with_name("notes"), os.O_WRONLY | os.O_CREAT | os.O_APPEND))
    ORDERS.unlink()

    def send() -> None:
        time.sleep(orders["after"])
        for number in orders["signals"]:
            os.write(log, f"{time.monotonic()}\n".encode())
            os.kill(os.getpid(), number)
            time.sleep(0.1)

    sender = threading.Thread(target=send, daemon=True)
    if orders["after"]:
        sender.start()
    else:
        send()
    end = time.monotonic() + orders["linger"]
    # A thread may come late on a machine that is busy: what stays at all stays until the signals were sent.
    while time.monotonic() < end or (orders["linger"] and sender.is_alive()):
        time.sleep(0.002)
    return True


def _fsync(descriptor: int) -> None:
    reach("fsync", count("fsync"))
    _real_fsync(descriptor)


os.fsync = _fsync


@hookimpl
def ebmkit_run_started(view, folder):
    reach("run_started", 1)


@hookimpl
def ebmkit_report_panels(view):
    reach("report", count("report"))
    return []


@component("net")
class Net(Model):
    """Two layers. Its orders are everybody's."""

    orders: str

    def build(self, event):
        global ORDERS
        ORDERS = Path(self.orders)
        reach("build", 1)

        class Layers(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.last = torch.nn.Linear(2, 8), torch.nn.Linear(8, 1)

            def forward(self, x):
                if self.training:
                    reach("pass", count("pass"))
                return self.last(torch.tanh(self.first(x))).squeeze(1)

        return Layers()


class Walk(NamedTuple):
    """Positions and the number of steps that led there."""

    x: Any
    steps: int


@component("walk")
class RandomWalk(Sampler):
    """A long walk around the origin; `phase` is the name of this place."""

    phase: str = "chain"
    steps: int = 2000

    def init(self, energy, x, rng):
        count(self.phase)
        return Walk(x, 1)

    def step(self, energy, state, rng):
        for notes in NOTES:
            os.write(notes, f"{time.monotonic()}\n".encode())
            time.sleep(0.0005)  # so that the signal finds the chain still running
        reach(self.phase, REACHED[self.phase], state.steps)
        x = 0.99 * state.x + 0.05 * torch.empty_like(state.x).normal_(generator=rng)
        return Walk(x, state.steps + 1), StepInfo()


@component("twice")
class Twice(Objective):
    """Likelihood with two chains, one behind the other: when the second runs, the first is in the buffer already."""

    sampler: Sampler = RandomWalk()
    init: Init = Replay(size=32)

    def extras(self, event, data):
        return self.init.build(event)

    def loss(self, model, batch, context):
        x = context.chain(self.sampler, model, context.extras.draw(batch, context.rng))
        context.extras.keep(x)
        y = context.chain(self.sampler, model, x)
        energies = model(torch.cat([batch, y]))
        return Loss(energies[: len(batch)].mean() - energies[len(batch) :].mean() + energies.square().mean(), {})


@component("slow")
class Slow(Metric):
    """A number that takes a while in Python, in torch, asleep, or deaf to signals."""

    def results(self):
        return ("slow",)

    def measure(self, view):
        turn = count("metric")
        x = torch.empty(100, 100).normal_(generator=view.rng)
        if reach("python", turn):
            end = time.monotonic() + LONG_ENOUGH
            while time.monotonic() < end:
                pass
        if reach("torch", turn):
            for _ in range(200_000):
                x @ x
        if reach("asleep", turn):
            time.sleep(LONG_ENOUGH)
        try:
            reach("deaf", turn)
        except KeyboardInterrupt as error:
            raise ValueError("what was that?") from error
        return {"slow": float(x.sum())}
