"""Views drawn by hand: of any event, with an energy whose every number is known."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import torch

from ebmkit import load_spec
from ebmkit.engine.names import Names
from ebmkit.engine.rng import Streams
from ebmkit.engine.shared_tensors import SharedTensors
from tests.views import FakeView

SPEC = {
    "ebmkit": 1,
    "name": "picture",
    "device": "cpu",
    "data": {"use": "two_moons", "size": 300, "test_size": 300},
    "model": {"use": "mlp", "hidden": [8]},
    "objective": {"use": "mle", "sampler": {"use": "langevin", "steps": 2}},
    "train": {"steps": 10, "batch_size": 32},
    "sampler": {"use": "langevin", "steps": 5},
    "samples": 200,
    "samples_every": 1,
}
#: The energy of the hand-made view is |x|^2 / (2 VARIANCE).
VARIANCE = 0.5


def view_by_hand(event, *, plan=None, folder=None, step=0, series=None, traces=None):
    """Without data of most shapes among the built-ins: a Gaussian, its exact samples, and wider noise."""

    def normal(n, seed, scale=1.0):
        rng = torch.Generator().manual_seed(seed)
        return scale * VARIANCE**0.5 * torch.randn(n, *event, generator=rng, dtype=torch.float64)

    plan = plan or load_spec({**SPEC, "evaluate": []})
    view = FakeView(
        plan=plan,
        names=Names(dataclasses.replace(plan, event=event)),
        streams=Streams(plan.spec.seed, torch.device("cpu")),
        condition=None,
        event=event,
        folder=folder,
        step=step,
        results={},
        history=SimpleNamespace(series=series or {}),
        traces=traces or {},
        draws=None,
        sample_labels=None,
        shared=SharedTensors(),
        mixing=None,
        no_samples=None,
        can_sample=True,
        has_energy=True,
        data=lambda split: normal(300, seed=len(split)),
        starts=lambda n: normal(n, seed=1, scale=4.0),
        energy=lambda x: x.flatten(1).double().square().sum(1) / (2 * VARIANCE),
        score=lambda x: -x / VARIANCE,
    )
    view.samples = lambda n: normal(n, seed=0)
    return view
