"""Whether a loss has its minimum at the truth: on points drawn exactly from a model, seen from its own parameters.

At the true parameters the mean gradient of a consistent loss is zero. Parameters of its own, such as log Z, are not at
their optimum exactly; to first order this is corrected for. Chains of training continue from one batch to the next, so
that errors are those of groups of batches.
"""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ebmkit.chains.context import StepContext
from ebmkit.contracts.kinds import Event, Init, Model, Objective
from ebmkit.contracts.modules.contest import Contest
from ebmkit.contracts.modules.live import prepare_modules
from ebmkit.testing.law import Inapplicable, require
from ebmkit.testing.oracles import FALSE_ALARM, generator
from ebmkit.testing.partner import default_dtype, seeded
from ebmkit.testing.setting import small_setting
from ebmkit.testing.target import Target, known_target_for

#: Points that extras are fitted to, and those of each batch.
POINTS, BATCH = 10_000, 100
#: Batches before the first that counts, of each group, of each group where the slope is large, and groups.
BEFORE, EACH, FEW, GROUPS = 60, 8, 2, 30
#: Batches of a step of Newton.
MANY = 40
#: Maximum number of trained numbers of the extras.
OWN = 40
#: Relative size of displacements.
AWAY = 0.2


class Gradient(NamedTuple):
    """The mean gradient of a loss with respect to the parameters of the model, and its standard error."""

    mean: Tensor
    error: Tensor


class Family:
    """A family of models that contains the distribution of the points, and an objective to be minimised over it."""

    def __init__(self, objective: Objective, event: Event, partners: tuple[Model, ...] = ()) -> None:
        if objective.traits().adversary:
            raise Inapplicable("it trains an adversary, which this law would have to train first")
        values = [getattr(objective, field.name) for field in dataclasses.fields(objective)]  # type: ignore[arg-type]
        if any(isinstance(value, Model) for value in values):
            raise Inapplicable("the truth is a model among its parameters, and not the distribution of the points")
        self.objective = objective
        self.batch = min([BATCH, *(each.capacity() or BATCH for each in values if isinstance(each, Init))])
        self.target: Target = known_target_for(objective, event, partners)
        self.space = self.target.model.traits().space
        trained = [p for p in self.target.module.parameters() if p.requires_grad]
        self.truth = [p.detach().clone() for p in trained]
        if not trained:
            raise Inapplicable(f"model '{self.target.model.component_name}' has no trainable parameters")

    def gradient(self, displacement: list[Tensor] | None = None) -> Gradient:
        """The mean gradient at the truth, or less precisely at parameters that are displaced from it."""
        each = FEW if displacement else EACH
        by = displacement or [torch.zeros_like(at) for at in self.truth]
        _set(self._trained(), [at + part for at, part in zip(self.truth, by, strict=True)])
        extras = self._extras()
        own = [p for p in extras.parameters() if p.requires_grad] if extras is not None else []
        if sum(p.numel() for p in own) > OWN:
            raise Inapplicable(f"it has more than {OWN} trainable numbers of its own")
        step = 0
        for _ in range(3 if own else 0):  # steps of Newton
            step += 1
            slope, curvature = self._curvature(extras, own, step)
            inverse = torch.linalg.pinv(curvature[:, -len(slope) :], hermitian=True)
            _move(own, -inverse @ slope)
        mixing = curvature[:, : -len(slope)].T @ inverse if own else None
        rows = []
        size = sum(at.numel() for at in self.truth)
        for later in range(1, 1 + BEFORE + each * GROUPS):
            found = self._slopes(extras, own, MANY * (step + 1) + later)
            rows.append(found[:size] - (mixing @ found[size:] if mixing is not None else 0.0))
        groups = torch.stack(rows[BEFORE:]).view(GROUPS, each, -1).mean(1)
        return Gradient(groups.mean(0), groups.std(0) / math.sqrt(GROUPS))

    def displacements(self) -> list[list[Tensor]]:
        """Scaled parameters, larger and smaller, and others in random directions, there and back."""
        rng = generator(11)
        ways = [self.truth, *([torch.randn(p.shape, generator=rng, dtype=p.dtype) for p in self.truth] for _ in "12")]
        return [[sign * AWAY * way for way in each] for each in ways for sign in (1, -1)]

    def _trained(self) -> list[nn.Parameter]:
        return [p for p in self.target.module.parameters() if p.requires_grad]

    def _points(self, n: int, seed: int) -> Tensor:
        """Exact draws of the true model."""
        here = [p.detach().clone() for p in self._trained()]
        _set(self._trained(), self.truth)
        try:
            return self.target.draws(n, seed)
        finally:
            _set(self._trained(), here)

    def _extras(self) -> nn.Module | None:
        points = self._points(POINTS, 1_000)
        event = tuple(points.shape[1:])
        with seeded(0), default_dtype(torch.float64):
            extras = self.objective.extras(event, points)
            if extras is not None:
                prepare_modules(extras, small_setting(self.target.module, event, self.space, points))
                extras = extras.double()
        if isinstance(extras, Contest):
            raise Inapplicable("its extras are a Contest, whose rival this law would have to train first")
        return extras

    def _loss(self, extras: nn.Module | None, step: int) -> Tensor:
        batch = self._points(self.batch, 2_000 + step)
        labels = torch.arange(self.batch) % 2
        context = StepContext(generator(50_000 + step), extras, step, labels=labels)
        return self.objective.loss(self.target.module, batch, context).value

    def _slopes(self, extras: nn.Module | None, own: list[nn.Parameter], step: int) -> Tensor:
        at = [*self._trained(), *own]
        slopes = torch.autograd.grad(self._loss(extras, step), at, allow_unused=True)
        return _flat(slopes, at)

    def _curvature(self, extras: nn.Module | None, own: list[nn.Parameter], step: int) -> tuple[Tensor, Tensor]:
        """The slope in the parameters of the extras, and its derivatives in those of the model and of the extras."""
        at = [*self._trained(), *own]
        value = sum((self._loss(extras, MANY * step + k) for k in range(MANY)), start=torch.zeros(())) / MANY
        slopes = torch.autograd.grad(value, own, create_graph=True, allow_unused=True)
        if any(slope is None for slope in slopes):
            raise Inapplicable("its loss does not depend on all parameters of its own")
        flat = torch.cat([slope.flatten() for slope in slopes if slope is not None])
        rows = []
        for entry in flat:
            found = torch.autograd.grad(entry, at, allow_unused=True, retain_graph=True)
            rows.append(_flat(found, at))
        return flat.detach(), torch.stack(rows)


def require_minimum(family: Family) -> str:
    """The gradient at the truth is zero up to chance. Returns what would have been seen."""
    mean, error = family.gradient()
    most = _chance(len(mean)) * error + 1e-9
    worst = int((mean.abs() / most).argmax())
    require(
        bool((mean.abs() <= most).all()),
        f"at the true parameters of '{family.target.model.component_name}' a mean gradient is "
        f"{float(mean[worst]):.3g}, but chance explains at most {float(most[worst]):.3g}",
    )
    return _seen(family, most)


def require_slope_towards_the_truth(family: Family) -> None:
    """At displaced parameters a small step towards the truth lowers the loss, or chance explains that it does not."""
    displacements = family.displacements()
    for by in displacements:
        along = torch.cat([way.flatten() for way in by])
        mean, error = family.gradient(by)
        # The errors of the entries may all go the same way.
        slope, most = float(along @ mean), _chance(len(displacements)) * float(along.abs() @ error)
        require(
            slope > -most - 1e-9,
            f"at parameters of '{family.target.model.component_name}' that are displaced by {float(along.norm()):.2g} "
            f"the slope away from the truth is {slope:.3g}, so that training leads away from it",
        )


def _seen(family: Family, most: Tensor) -> str:
    """The smallest relative displacement of all parameters whose gradient chance would not explain."""
    by = [AWAY / 3 * at for at in family.truth]
    moved = family.gradient(by).mean.abs()
    share = float((most / moved.clamp(min=1e-12)).min()) * AWAY / 3
    return f"would have seen a minimum at parameters that are off by {100 * share:.2g} %"


def _chance(comparisons: int) -> float:
    """How many standard errors chance explains: the quantile of Student's t, expanded around the normal one."""
    z = float(torch.special.ndtri(torch.tensor(1 - FALSE_ALARM / comparisons / 2, dtype=torch.float64)))
    nu = GROUPS - 1
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + (z**3 + z) / (4 * nu) + second / nu**2 + third / nu**3


def _flat(slopes: tuple[Tensor | None, ...], at: list[nn.Parameter]) -> Tensor:
    parts = [torch.zeros_like(p) if slope is None else slope for slope, p in zip(slopes, at, strict=True)]
    return torch.cat([part.flatten() for part in parts]).detach()


def _set(parameters: list[nn.Parameter], values: list[Tensor]) -> None:
    for parameter, value in zip(parameters, values, strict=True):
        parameter.data.copy_(value)


def _move(parameters: list[nn.Parameter], by: Tensor) -> None:
    parts = torch.split(by, [p.numel() for p in parameters])
    for parameter, part in zip(parameters, parts, strict=True):
        parameter.data.add_(part.view_as(parameter))
