"""A small run, for testing metrics."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import torch
from torch import Generator

from ebmkit.contracts.kinds import Event, Metric, Model
from ebmkit.contracts.kinds.metric import OF_THE_RUN
from ebmkit.contracts.question import Question
from ebmkit.engine.assemble import assemble
from ebmkit.engine.build import build
from ebmkit.engine.parts import Parts
from ebmkit.engine.rng import Streams
from ebmkit.engine.run_view import RunView
from ebmkit.errors.base import Mistakes
from ebmkit.language.load import load_spec
from ebmkit.language.plan import Plan
from ebmkit.testing.case import EVENTS, Case
from ebmkit.testing.device import PretendedDevice
from ebmkit.testing.law import Inapplicable
from ebmkit.testing.oracles import generator
from ebmkit.testing.plugin_models import models_near

#: A section of a spec.
Section: TypeAlias = dict[str, Any]
#: A model, a sampler for it, and the distribution of the data.
Experiment: TypeAlias = tuple[Section | Model, Section, Section | Model]


def small_plans(metric: Metric, case: Case) -> list[Plan]:
    """Small experiments for a metric, with points of a mixture of two Gaussians or of a Boltzmann machine.

    The model is the same mixture or machine, with chains that report what the metric needs; or that mixture under
    noise, or a score network. If the metric accepts none of them, it is one of those that were passed as partners or of
    its own plugin.
    """
    reasons: list[str] = []
    plans = _accepted(metric, _partners(metric, case.event), reasons)
    if not plans:
        plans = _accepted(metric, _own(metric, case), reasons)
    if not plans:
        refused = "; ".join(dict.fromkeys(reasons))
        raise Inapplicable(f"it refuses states of shape {case.event}: {refused}; pass a model as partners=[...]")
    return plans


def _accepted(metric: Metric, experiments: Iterable[Experiment], reasons: list[str]) -> list[Plan]:
    """The plans that a metric accepts; the reasons why others are refused are added. A metric of samples uses the first
    plan. One that evaluates the model itself uses all."""
    plans: list[Plan] = []
    for model, sampler, truth in experiments:
        try:
            plan = _plan(metric, model, sampler, truth)
        except Mistakes as error:  # a model of the plugin may fit none of the data
            reasons.append(str(error))
            continue
        if reason := _refusal(metric, plan):
            reasons.append(reason)
            continue
        plans.append(plan)
        if "samples" in metric.traits().needs:
            break
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


def _own(metric: Metric, case: Case) -> Iterator[Experiment]:
    """Experiments with the partners and with the models of the plugin, those of another shape in the first case."""
    for model in (*case.partners, *models_near(metric)[0]):
        event = model.event() or case.event
        if event == case.event or case.event == EVENTS[0]:
            gradient = model.traits().space == "real"
            sampler = _reporting(metric) if gradient else {"use": "gibbs_with_gradients", "steps": 5}
            exact = "sample_exact" in model.traits().offers
            yield model, sampler, model if exact or not gradient else _mixture(event)


def _mixture(event: Event) -> Section:
    d = math.prod(event)
    return {"use": "gaussian_mixture", "means": [[-1.0] * d, [1.0] * d], "shape": list(event)}


def _reporting(metric: Metric) -> Section:
    """A sampler that reports what a metric needs."""
    reporting: dict[str, Section] = {
        "acceptance": {"use": "metropolis", "steps": 5, "scale": 0.5},
        "divergence": {"use": "hmc", "steps": 5},
    }
    drift: Section = {"use": "langevin", "steps": 5}
    return next((reporting[trace] for trace in metric.traits().traces if trace in reporting), drift)


def _partners(metric: Metric, event: Event) -> list[Experiment]:
    """Models, samplers for them, and the distributions of the data."""
    d, shape = math.prod(event), list(event)
    mixture = _mixture(event)
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
    plain = (model, _reporting(metric), mixture)
    if metric.traits().needs & {"energy", "chains"}:  # no models under noise: their energy depends on the level
        return [plain]
    vp, sigmas = {"use": "vp"}, {"use": "geometric", "sigma_max": 5.0, "sigma_min": 0.1, "count": 5}
    noised, network = {**mixture, "use": "noised_mixture", "schedule": vp}, {"use": "mlp_score", "schedule": sigmas}
    back = {"use": "reverse_sde", "schedule": vp, "steps": 5}
    down = {"use": "annealed_langevin", "schedule": sigmas, "steps_per_level": 1}
    return [plain, (noised, back, mixture), (network, down, mixture)]


def _plan(metric: Metric, model: Section | Model, sampler: Section, truth: Section | Model) -> Plan:
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


def _refusal(metric: Metric, plan: Plan) -> str | None:
    """Why a metric cannot be used with a plan."""
    model, sampler = plan.spec.model, plan.spec.chain_sampler
    assert sampler is not None
    if lacking := sorted(metric.traits().needs - OF_THE_RUN - model.traits().offers):
        return f"model '{model.component_name}' offers no {', '.join(lacking)}"
    if silent := sorted(metric.traits().traces - sampler.traits().traces):
        return f"sampler '{sampler.component_name}' reports no {', '.join(silent)}"
    return metric.refusal(Question(plan.event, model, plan.spec.data, sampler=sampler))


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
