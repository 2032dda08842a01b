"""The chains that judge a model, if its spec has no `sampler:`. They are written out in the resolved spec.

The objective's own sampler is used, but its chains do not continue those of training: these may be good because they
have seen the data for long, or because they are restarted where the model is wrong. Chains that judge start where the
objective starts new chains, from noise by default, and are as long as a chain of training lives on average.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import Any, NamedTuple

from ebmkit.components.inits.noise import NoiseStart
from ebmkit.components.inits.training import TrainingStart
from ebmkit.contracts.kinds import Init, Sampler
from ebmkit.contracts.training_chains import training_init
from ebmkit.errors.source import Path
from ebmkit.language.sections import Spec

#: The most evaluations of the model of a chain that is chosen here; chains of training may live forever. Of a sampler
#: that updates one unit after the other these are evaluations per unit: a chain of few sweeps would judge nothing.
LONGEST = 1000


class Judging(NamedTuple):
    """A spec with its chains written out."""

    spec: Spec
    #: The sections that were not written, and the paths of what they follow from.
    follows: dict[str, Path]
    #: Why they have these values, by path.
    reasons: dict[Path, str]


def with_judging_chains(spec: Spec, *, init_is_written: bool) -> Judging:
    """The spec with `sampler` and `init` filled in, if it has none but trains a model that can be sampled."""
    sampler, objective, at = spec.chain_sampler, spec.final_objective, spec.final_objective_path
    if spec.sampler is not None or sampler is None:
        return Judging(spec, {}, {})
    if objective is None:
        parted: dict[Path, str] = {("sampler",): f"for model '{spec.model.component_name}', trained part by part"}
        return Judging(dataclasses.replace(spec, sampler=sampler), {"sampler": ("model",)}, parted)
    name = objective.component_name
    if objective.traits().sampler is None:
        why: dict[Path, str] = {("sampler",): f"for a trained model: objective '{name}' has no sampler"}
        return Judging(dataclasses.replace(spec, sampler=sampler), {"sampler": at}, why)
    found = training_init(objective, at)
    path, of_training = found or (at, NoiseStart())
    first, lifetime = of_training.first(), of_training.lifetime()
    same_start = found is not None and not first.needs_data
    if not same_start:  # chains that start at data are never far from them, whatever the model
        first, lifetime = NoiseStart(), math.inf

    follows: dict[str, Path] = {"sampler": spec.chain_sampler_path}
    reasons: dict[Path, str] = {("sampler",): f"that of objective '{name}'"}
    judge: Any = copy.deepcopy(sampler)  # every component is a dataclass
    init = spec.init
    if not sampler.traits().from_noise:
        if not init_is_written:
            init, follows["init"] = copy.deepcopy(first), path
            reasons["init",] = f"where objective '{name}' starts new chains" if same_start else "default"
        steps = _steps(sampler, lifetime, init)
        if steps > sampler.steps:
            judge = dataclasses.replace(judge, steps=steps)
            lives = _lives(sampler, lifetime) if same_start else f"starts no chains from noise: {_most(sampler)} steps"
            reasons["sampler", "steps"] = f"objective '{name}' {lives}"
    return Judging(dataclasses.replace(spec, sampler=judge, init=init), follows, reasons)


def _steps(sampler: Sampler, lifetime: float, init: Init) -> int:
    """The number of steps of a chain that judges; that of the sampler if it is fixed, or if chains are continued."""
    component: Any = sampler
    fixed = "steps" not in {field.name for field in dataclasses.fields(component)}
    if fixed or isinstance(init, TrainingStart):
        return sampler.steps
    return round(min(sampler.steps * lifetime, _most(sampler)))


def _most(sampler: Sampler) -> int:
    return max(1, int(LONGEST // max(1, sampler.traits().evaluations)))


def _lives(sampler: Sampler, lifetime: float) -> str:
    often = f"{lifetime:g} times on average" if math.isfinite(lifetime) else "without end"
    at_most = f", at most {_most(sampler)}" if sampler.steps * lifetime > _most(sampler) else ""
    return f"continues its chains of {sampler.steps} steps {often}{at_most}"
