"""A small run, for testing metrics."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, TypeAlias

import torch
from torch import Generator

from ebmkit.contracts.kinds import Event, Metric
from ebmkit.contracts.kinds.metric import OF_THE_RUN
from ebmkit.contracts.question import Question
from ebmkit.engine.assemble import assemble
from ebmkit.engine.build import build
from ebmkit.engine.parts import Parts
from ebmkit.engine.rng import Streams
from ebmkit.engine.run_view import RunView
from ebmkit.language.load import load_spec
from ebmkit.language.plan import Plan
from ebmkit.testing.device import PretendedDevice
from ebmkit.testing.law import Inapplicable
from ebmkit.testing.oracles import generator

#: A section of a spec.
Section: TypeAlias = dict[str, Any]


def small_plans(metric: Metric, event: Event) -> list[Plan]:
    """Small experiments for a metric, with points of a mixture of two Gaussians or of a Boltzmann machine.

    The model is the same mixture or machine, with chains that report what the metric needs; or that mixture under
    noise, or a score network. A metric of samples uses the first of them that it does not refuse. One that evaluates
    the model itself uses all.
    """
    plans: list[Plan] = []
    reasons: list[str] = []
    for model, sampler, truth in _partners(metric, event):
        if plans and "samples" in metric.traits().needs:
            break
        plan = _plan(metric, model, sampler, truth)
        if reason := _refusal(metric, event, plan):
            reasons.append(reason)
        else:
            plans.append(plan)
    if not plans:
        raise Inapplicable(f"it refuses states of shape {event}: {'; '.join(dict.fromkeys(reasons))}")
    return plans


def small_run(metric: Metric, plan: Plan, gpu: PretendedDevice | None = None) -> RunView:
    """The experiment as seen by a metric."""
    threads = torch.get_num_threads()
    parts = build(plan)
    torch.set_num_threads(threads)
    if "labels" in metric.traits().needs:
        parts = _labelled(parts)
    streams = Streams(0, parts.device)
    if gpu is not None:
        parts, streams = _moved(parts, gpu), _PretendedStreams(0, gpu)
    view = assemble(plan, parts, streams=streams)
    for step, loss in enumerate((3.0, 2.0, 1.0, 1.5)):
        view.history.record(step, {"loss": loss})  # as if trained, for metrics that read the loss
    view.rng = generator(3) if gpu is None else gpu.generator(3)
    return view


def _partners(metric: Metric, event: Event) -> list[tuple[Section, Section, Section]]:
    """Models, samplers for them, and the distributions of the data."""
    d, shape = math.prod(event), list(event)
    mixture = {"use": "gaussian_mixture", "means": [[-1.0] * d, [1.0] * d], "shape": shape}
    if "real" not in metric.traits().spaces:
        machine: Section = {"use": "boltzmann", "shape": shape, "biases": [0.3] * d, "values": "spin"}
        restored: Section = {"use": "grid_mrf", "image": ["1" * d], "values": "spin"}
        memory: Section = {"use": "hopfield", "shape": shape, "patterns": 3}
        models = {"true_image": restored, "patterns": memory}
        model = next((model for need, model in models.items() if need in metric.traits().needs), machine)
        truth = {**machine, "shape": [1, d]} if model is restored else machine
        return [(model, {"use": "gibbs", "steps": 5}, truth)]
    if "reconstruct" in metric.traits().needs:
        layers = [{"use": use, "shape": shape, "hidden": 3} for use in ("rbm", "gaussian_rbm")]
        return [(layer, {"use": "gibbs", "steps": 5}, layer) for layer in layers]
    model = {"use": "classifier", "classes": 2, "hidden": [8]} if "logits" in metric.traits().needs else mixture
    walk, drift = {"use": "metropolis", "steps": 5, "scale": 0.5}, {"use": "langevin", "steps": 5}
    reporting: dict[str, Section] = {"acceptance": walk, "divergence": {"use": "hmc", "steps": 5}}
    plain = (model, next((reporting[trace] for trace in metric.traits().traces if trace in reporting), drift), mixture)
    if metric.traits().needs & {"energy", "chains"}:  # no models under noise: their energy depends on the level
        return [plain]
    vp, sigmas = {"use": "vp"}, {"use": "geometric", "sigma_max": 5.0, "sigma_min": 0.1, "count": 5}
    noised, network = {**mixture, "use": "noised_mixture", "schedule": vp}, {"use": "mlp_score", "schedule": sigmas}
    back = {"use": "reverse_sde", "schedule": vp, "steps": 5}
    down = {"use": "annealed_langevin", "schedule": sigmas, "steps_per_level": 1}
    return [plain, (noised, back, mixture), (network, down, mixture)]


def _plan(metric: Metric, model: Section, sampler: Section, truth: Section) -> Plan:
    long = "chains" in metric.traits().needs
    return load_spec(
        {
            "ebmkit": 1,
            "chains": {"count": 4, "burn_in": 0, "warmup": 0} if long else None,
            "data": {"use": "from_model", "model": truth, "size": 200, "test_size": 150},
            "model": model,
            "sampler": {"use": sampler["use"]} if long else sampler,
            "samples": 500,
        }
    )


def _refusal(metric: Metric, event: Event, plan: Plan) -> str | None:
    """Why a metric cannot be used with a plan."""
    model, sampler = plan.spec.model, plan.spec.chain_sampler
    assert sampler is not None
    if lacking := sorted(metric.traits().needs - OF_THE_RUN - model.traits().offers):
        return f"model '{model.component_name}' offers no {', '.join(lacking)}"
    if silent := sorted(metric.traits().traces - sampler.traits().traces):
        return f"sampler '{sampler.component_name}' reports no {', '.join(silent)}"
    return metric.refusal(Question(event, model, plan.spec.data, sampler=sampler))


def _labelled(parts: Parts) -> Parts:
    """With labels by the sign of the first coordinate."""
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
