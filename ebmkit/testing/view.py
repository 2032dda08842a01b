"""A small run, for metrics to look at."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import torch
from torch import Generator

from ebmkit.build import Parts, build
from ebmkit.engine.history import History
from ebmkit.engine.streams import Streams
from ebmkit.engine.view import View
from ebmkit.errors.running import Diverged
from ebmkit.kinds import Event, Metric
from ebmkit.load import load_spec
from ebmkit.plan import Plan
from ebmkit.testing.device import PretendedDevice
from ebmkit.testing.law import Inapplicable
from ebmkit.testing.oracles import generator


def small_run(metric: Metric, event: Event, gpu: PretendedDevice | None = None) -> View:
    """A mixture of two Gaussians or a Boltzmann machine, points of the same, and chains that report what the metric
    reads."""
    plan = _plan(metric, event)
    if reason := metric.refusal(event, plan.spec.model):
        raise Inapplicable(f"it refuses states of shape {event}: {reason}")
    threads = torch.get_num_threads()
    parts = build(plan)
    torch.set_num_threads(threads)
    if "labels" in metric.needs:
        parts = _labelled(parts)
    streams = Streams(0, parts.device)
    if gpu is not None:
        parts, streams = _moved(parts, gpu), _PretendedStreams(0, gpu)
    history = History(1, lambda *_: None, lambda statistic, *_: Diverged(statistic.name), lag=0)
    for step, loss in enumerate((3.0, 2.0, 1.0, 1.5)):
        history.record(step, {"loss": loss})  # as of a training, for metrics that look back at it
    view = View(plan, parts, streams, history, None)
    view.rng = generator(3) if gpu is None else gpu.generator(3)
    return view


def _plan(metric: Metric, event: Event) -> Plan:
    d = math.prod(event)
    model: dict[str, Any] = {"use": "gaussian_mixture", "means": [[-1.0] * d, [1.0] * d], "shape": list(event)}
    walk, drift = {"use": "metropolis", "steps": 5, "scale": 0.5}, {"use": "langevin", "steps": 5}
    sampler = walk if "acceptance" in metric.traces else drift
    truth = model
    if "logits" in metric.needs:
        model = {"use": "classifier", "classes": 2, "hidden": [8]}
    if "real" not in metric.spaces:
        model = truth = {"use": "boltzmann", "shape": list(event), "biases": [0.3] * d, "values": "spin"}
        sampler = {"use": "gibbs", "steps": 5}
    chains = None
    if "chains" in metric.needs:
        sampler = {"use": sampler["use"]}
        chains = {"count": 4, "burn_in": 0}
    return load_spec(
        {
            "ebmkit": 1,
            "chains": chains,
            "data": {"use": "from_model", "model": truth, "size": 200, "test_size": 150},
            "model": model,
            "sampler": sampler,
            "samples": 500,
        }
    )


def _labelled(parts: Parts) -> Parts:
    """By the sign of the first coordinate."""
    assert parts.train is not None
    assert parts.test is not None
    train, test = ((points.flatten(1)[:, 0] > 0).long() for points in (parts.train, parts.test))
    return dataclasses.replace(parts, train_labels=train, test_labels=test)


def _moved(parts: Parts, gpu: PretendedDevice) -> Parts:
    assert parts.train is not None
    assert parts.test is not None
    return dataclasses.replace(
        parts,
        device=gpu.device,
        model=parts.model.to(gpu.device),
        starts=parts.starts.to(gpu.device),
        train=parts.train.to(gpu.device),
        test=parts.test.to(gpu.device),
        train_labels=None if parts.train_labels is None else parts.train_labels.to(gpu.device),
        test_labels=None if parts.test_labels is None else parts.test_labels.to(gpu.device),
    )


class _PretendedStreams(Streams):
    """Random streams on a pretended device."""

    def __init__(self, seed: int, gpu: PretendedDevice) -> None:
        super().__init__(seed, gpu.device)
        self.gpu = gpu

    def generator(self, path: str, device: torch.device | None = None) -> Generator:
        return self.gpu.generator(self.seed_of(path))
