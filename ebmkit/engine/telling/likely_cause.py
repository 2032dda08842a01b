"""The most likely cause of a number that is not finite, from the evidence that a run leaves: weights and their growth,
the learning rate, the size of the data, the length of steps of chains, gradients. The range of the dtype comes last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf
from statistics import median
from typing import NamedTuple

from torch import Tensor, nn

from ebmkit.chains.energy import frozen
from ebmkit.contracts.kinds import Sampler
from ebmkit.contracts.walk import walk
from ebmkit.engine.parts import Parts, weight_scale
from ebmkit.engine.statistic import Statistic, Turn
from ebmkit.errors.source import Path
from ebmkit.language.plan import Plan

#: Weights that have grown by this factor since the start have grown by large updates, not by learning.
GROWN = 10.0
#: A learning rate that is this many times the default of its optimizer is not usual.
FAST = 30.0
#: Data this much larger than unit scale, and steps of chains this much longer than the data are wide, are not usual.
LARGE, LONG = 1e4, 30.0
#: The gradient has exploded if its norm is this many times that of the first steps.
EXPLODED = 100.0
#: Number of points at which the slope of the energy is measured.
POINTS = 64


class Cause(NamedTuple):
    """The explanation, the path of what should be changed, and its value in words."""

    words: str
    path: Path | None = None
    label: str = ""


def likely_cause(plan: Plan, parts: Parts, gradient_norms: Sequence[float], wrong: Statistic) -> Cause:
    """The first cause for which there is evidence, from the most to the least certain."""
    training = _Training(plan, parts, gradient_norms)
    grown = training.growth > GROWN
    if grown and training.rate_ratio >= FAST:
        return training.rate_cause()
    for found in (_large_data(plan, parts), _long_steps(plan, parts)):
        if found:
            return found
    if grown or training.exploded:
        return training.rate_cause()
    if found := _lost_tensor(parts) or (Cause(wrong.help) if wrong.help else None):
        return found
    for path, component in walk(plan.spec):
        if isinstance(component, Sampler) and path == wrong.path:
            return Cause("use shorter steps, or a model with a confining energy", path, "draws these chains")
    other = "float32" if plan.spec.dtype == "bfloat16" else "float64"
    # Before the gradients are computed, those of the step before are left.
    return (_lost_gradient(parts) if wrong.turn > Turn.OUTPUT else None) or Cause(
        "weights, data and steps of chains are of the usual size: the number itself, or a sum in it, exceeds the range "
        f"or the precision of {plan.spec.dtype}; try 'dtype: {other}'",
        ("dtype",),
        plan.spec.dtype,
    )


class _Training:
    """Weights, learning rate and gradients of the current stage."""

    def __init__(self, plan: Plan, parts: Parts, norms: Sequence[float]) -> None:
        self.plan = plan
        self.begun = parts.initial_scale
        self.scale = weight_scale(parts.model)
        self.broken = _first(parts.model.named_parameters())
        self.norms = norms
        # Most optimizers have a state from their first step on, so the last one with a state is the current one.
        begun = [(index, stage) for index, stage in enumerate(parts.working) if stage and stage.optimizer.state]
        self.stage, working = begun[-1] if begun else (0, parts.working[0] if parts.working else None)
        self.rate: float | None = None
        self.usual: float | None = None
        if working:
            self.rate = working.optimizer.param_groups[0].get("lr")
            default = getattr(type(plan.spec.stages[self.stage].optimizer), "lr", None)
            self.usual = default if isinstance(default, float) else None

    @property
    def growth(self) -> float:
        """By which factor the weights have grown; infinity if one is not finite, 0 if there is nothing to train."""
        if self.rate is None or not self.begun:
            return 0.0
        return inf if self.broken else self.scale / self.begun

    @property
    def rate_ratio(self) -> float:
        """The learning rate in units of the optimizer's default."""
        return self.rate / self.usual if self.rate is not None and self.usual else 1.0

    @property
    def exploded(self) -> bool:
        """Whether the gradient is much larger than it was."""
        return len(self.norms) >= 2 and max(self.norms) > EXPLODED * max(median(self.norms[:10]), 1e-30)

    def rate_cause(self) -> Cause:
        """The learning rate is too large."""
        words = []
        if self.growth > GROWN:
            sizes = f"the weights have grown from {self.begun:.3g} to {self.scale:.3g} (root mean square)"
            words.append(f"'{self.broken}' of the model is not finite" if self.broken else sizes)
        if self.exploded:
            words.append(f"the norm of the gradient has grown from {self.norms[0]:.3g} to {max(self.norms):.3g}")
        usual = f", {self.rate_ratio:.3g} times the default" if self.usual and self.rate_ratio > 1 else ""
        advice = "use a smaller learning rate" + ("" if usual else ", or clip_gradient")
        return Cause(
            f"{' and '.join(words)}: {advice}",
            (*self.plan.spec.stage_path(self.stage), "optimizer", "lr"),
            f"learning rate {self.rate:.3g}{usual}",
        )


def _large_data(plan: Plan, parts: Parts) -> Cause | None:
    """Data far from unit scale: energies and gradients grow with their squares."""
    if parts.train is None:
        return None
    largest = float(parts.train[:10_000].abs().max())
    if largest < LARGE:
        return None
    advice = "set 'scale: standardize'" if plan.spec.scale == "none" else "look for outliers"
    return Cause(
        f"the data have values up to {largest:.3g}, but networks, noise and steps are made for data of about unit "
        f"scale: {advice}",
        ("data",),
        f"values up to {largest:.3g}",
    )


def _long_steps(plan: Plan, parts: Parts) -> Cause | None:
    """A sampler whose single step is much longer than the data are wide."""
    width = 1.0 if parts.train is None else float(parts.train[:10_000].double().std())
    for path, sampler in walk(plan.spec):
        if not isinstance(sampler, Sampler):
            continue
        for name, length in _lengths(plan, parts, sampler):
            if length > LONG * width:
                value = getattr(sampler, name)
                return Cause(
                    f"a step of the chains moves them by about {length:.3g}, but the data are {width:.3g} wide "
                    f"(standard deviation): use a smaller '{name}'",
                    (*path, name),
                    f"'{name}' {value:.3g}",
                )
    return None


def _lengths(plan: Plan, parts: Parts, sampler: Sampler) -> Iterator[tuple[str, float]]:
    """Parameters of a sampler that set the length of its steps, and the lengths."""
    noise, step = (getattr(sampler, name, None) for name in ("noise_std", "step_size"))
    if isinstance(noise, float):
        yield "noise_std", noise
    if isinstance(step, float):
        slope = _slope(plan, parts)
        yield "step_size", step * slope if slope is not None else step


def _slope(plan: Plan, parts: Parts) -> float | None:
    """The norm of dE/dx at data, if the model is an energy of x alone and the slope is finite."""
    traits = plan.spec.model.traits()
    if parts.train is None or traits.conditioning is not None or not {"energy", "gradient"} <= traits.offers:
        return None
    try:
        with frozen(parts.model) as energy:
            gradient = energy.value_and_grad(parts.train[:POINTS].to(parts.device))[1]
    except Exception:  # a network that fails must not hide the number that is not finite
        return None
    slope = float(gradient.flatten(1).double().norm(dim=1).mean())
    return slope if slope - slope == 0 else None


def _lost_tensor(parts: Parts) -> Cause | None:
    """The first weight or buffer of a network that is not finite."""
    modules = _modules(parts)
    for name, module in modules:
        if module and (weight := _first(module.named_parameters())):
            return Cause(f"'{weight}' of the {name} is not finite; a smaller learning rate may prevent this")
    for name, module in modules:
        if module and (buffer := _first(module.named_buffers())):
            return Cause(f"'{buffer}', which the {name} keeps from step to step, is not finite; all weights are finite")
    return None


def _lost_gradient(parts: Parts) -> Cause | None:
    """The first weight whose gradient is not finite."""
    for name, module in _modules(parts):
        gradients = ((weight, p.grad) for weight, p in module.named_parameters()) if module else ()
        if weight := _first(gradients):
            return Cause(f"the gradient of '{weight}' of the {name} is not finite; all weights are finite")
    return None


def _modules(parts: Parts) -> list[tuple[str, nn.Module | None]]:
    """The model, and the auxiliary modules of all stages that have begun."""
    extras = {id(stage.extras): stage.extras for stage in parts.working if stage}
    return [("model", parts.model), *(("extras", module) for module in extras.values())]


def _first(named: Iterable[tuple[str, Tensor | None]]) -> str:
    """The name of the first tensor that is not finite."""
    return next((name for name, tensor in named if tensor is not None and not bool(tensor.isfinite().all())), "")
