"""One stage of training, and its step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

import torch
from torch import Tensor

from ebmkit.chains.context import StepContext
from ebmkit.chains.private_torch import joined, multiply_all, norms, step_of
from ebmkit.contracts.abilities import Parted
from ebmkit.contracts.kinds import Init, Loss, Sampler
from ebmkit.contracts.modules.contest import Contest
from ebmkit.contracts.walk import walk
from ebmkit.engine.batches import Batches
from ebmkit.engine.chain_numbers import chain_numbers
from ebmkit.engine.learning_rate import LearningRate
from ebmkit.engine.outputs import Outputs
from ebmkit.engine.run_view import RunView
from ebmkit.engine.statistic import Statistic, Turn
from ebmkit.engine.telling.error_site import ErrorSite
from ebmkit.engine.training_state import TrainingState

#: Weights with fewer numbers, and their gradients, are concatenated before checks: one kernel instead of many.
FEW = 1 << 20


class Stage:
    """The current stage of `state`."""

    def __init__(self, view: RunView, state: TrainingState) -> None:
        spec, index = view.plan.spec, state.stage
        objective, data, working = spec.objective_of(index), view.parts.train, state.working
        assert objective is not None  # checked by resolve
        assert data is not None
        assert working is not None  # it has begun
        self.section = section = spec.stages[index]
        self.state = state
        self._objective, self._parts, self._rng = objective, view.parts, view.streams.ongoing("objective")
        self._working, self.optimizer = working, working.optimizer
        optimizers = [working.optimizer, *([working.rival] if working.rival else [])]
        path, self._at = spec.stage_path(index), spec.objective_path(index)
        self.in_objective = ErrorSite(view.plan, self._at, self._when)
        self.in_optimizer = ErrorSite(view.plan, (*path, "optimizer"), self._when)
        where = "train" if index == 0 else f"train/{index}"
        takes_labels = objective.traits().needs_labels or working.component.traits().labelled
        labels = view.parts.train_labels if takes_labels else None
        self.batches = Batches(data, section.batch_size, view.streams, where, view.parts.device, labels)
        self.rates = [LearningRate(each, section, [g["lr"] for g in each.param_groups]) for each in optimizers]
        self._parameters = [p for each in optimizers for group in each.param_groups for p in group["params"]]
        extras = working.extras
        self._rivals = _trainable(extras.rival.parameters()) if isinstance(extras, Contest) else []
        theirs = set(map(id, self._rivals))
        self._others = [parameter for parameter in self._parameters if id(parameter) not in theirs]
        self._few = sum(parameter.numel() for parameter in self._parameters) < FEW
        self._steps = [step_of(each) for each in optimizers]
        #: The steps of the adversary alone before each step of both.
        self._ahead = section.rival.steps - 1 if section.rival else 0
        self._paths = {id(component): path for path, component in walk(spec)}
        self._inits = {path for path, component in walk(spec) if isinstance(component, Init)}
        #: Whether a step can be interrupted inside a chain.
        self.has_chains = any(isinstance(component, Sampler) for _, component in walk(objective, self._at))
        self._outputs = Outputs(working.model, working.component, extras, self._paths)
        self._weights = Statistic("a weight", (*path, "optimizer"), Turn.WEIGHT, recorded=False)
        self._names: tuple[str, ...] = ()
        self._statistics: list[Statistic] = []

    def is_over(self) -> bool:
        """Whether all steps are done, or the metric of `stop` no longer improves."""
        began, stop = self.state.stage_began, self.section.stop
        if self.state.step - began >= self.section.steps:
            return True
        if stop is None:
            return False
        values = [value for step, value in self.state.history.series.get(stop.metric, ()) if step > began]
        best = min if stop.better == "lower" else max
        return bool(values) and len(values) - 1 - values.index(best(values)) >= stop.patience

    def take_step(
        self, step: int, *, on_chain_step: Callable[[], None] | None = None, points: int | None = None
    ) -> int:
        """Move the parameters along the gradient of the loss; returns the number of data points used.

        `on_chain_step` is called after every step of a chain and may raise to stop. `points` limits the number of data
        points, for a dry run with a part of the batch.
        """
        working = self._working
        with self.in_objective:
            labels, batch = self.labels(step), self.batch(step)
            if points is not None:
                labels, batch = None if labels is None else labels[:points], batch[:points]
            for _ in range(self._ahead):
                self._move_rival(step, batch, StepContext(self._rng, working.extras, step, on_chain_step, labels))
            context = StepContext(self._rng, working.extras, step, on_chain_step, labels, self._outputs.paused)
            with self._outputs:
                loss = self._objective.loss(working.model, batch, context)
            self.differentiate(loss)
            norm = self.gradient_norm()
            self.state.history.add(step, *self.numbers(loss, context, norm))  # raises before the weights change
        with self.in_optimizer:
            self.update(step, norm)
        return len(batch)

    def batch(self, step: int) -> Tensor:
        """The data points of a step, as the part that is trained sees them."""
        batch, part = self.batches.at(step - self.state.stage_began), self._working.part
        if part is None:
            return batch
        with torch.no_grad():
            return cast("Parted", self._parts.model).seen_by(part, batch, self._rng)

    def labels(self, step: int) -> Tensor | None:
        """Their labels, if the objective or the model uses labels."""
        return self.batches.labels_at(step - self.state.stage_began)

    def differentiate(self, loss: Loss) -> None:
        """Compute the gradients: of the loss, and of the rival's loss for the parameters of the rival."""
        if loss.rival is None:
            torch.autograd.backward(loss.value)
        else:  # the two losses share parts of the graph
            torch.autograd.backward(loss.value, inputs=self._others, retain_graph=True)
            torch.autograd.backward(loss.rival, inputs=self._rivals)

    def update(self, step: int, norm: Tensor) -> None:
        """Clip the gradients if the spec says so, take a step of the optimizer, and check the weights.

        `norm` is the `gradient_norm` of this step.
        """
        for rate in self.rates:
            rate.set(step - self.state.stage_began)
        with torch.no_grad():
            for player in filter(None, (self._others, self._rivals)):  # each is clipped by its own norm
                self._clip(player, None if self._rivals else norm)
            for take in self._steps:
                take()
            for parameter in self._parameters:
                parameter.grad = None
            weights = joined(self._parameters) if self._few else torch.stack([p.sum() for p in self._parameters])
            self.state.history.check_finite(step, self._weights, weights.sum())

    def _move_rival(self, step: int, batch: Tensor, context: StepContext) -> None:
        """Take a step of the adversary alone, on the same points."""
        rival = self._objective.loss(self._working.model, batch, context).rival
        assert rival is not None  # it has extras of two players
        torch.autograd.backward(rival, inputs=self._rivals)
        self.rates[-1].set(step - self.state.stage_began)
        with torch.no_grad():
            self._clip(self._rivals)
            self._steps[-1]()
            for parameter in self._rivals:
                parameter.grad = None

    def _clip(self, player: list[Tensor], norm: Tensor | None = None) -> None:
        """Scale the gradients of a player down to the norm of the spec; `norm` is that of these, if it is known."""
        if self.section.clip_gradient is not None:
            gradients = [parameter.grad for parameter in player if parameter.grad is not None]
            own = self._norm_of(player) if norm is None else norm
            multiply_all(gradients, (self.section.clip_gradient / own).clamp(max=1))

    def numbers(self, loss: Loss, context: StepContext, norm: Tensor) -> tuple[list[Statistic], list[Tensor]]:
        """The statistics of a step, and their values on the device."""
        names = ("loss", "gradient_norm", *loss.metrics, *(["rival_loss"] if loss.rival is not None else []))
        if names != self._names:  # usually the same at every step
            turns = {"loss": Turn.LOSS, "rival_loss": Turn.LOSS, "gradient_norm": Turn.GRADIENT}
            self._names = names
            self._statistics = [Statistic(name, self._at, turns.get(name, Turn.OBJECTIVE)) for name in names]
        values = [loss.value, norm, *loss.metrics.values(), *([loss.rival] if loss.rival is not None else [])]
        statistics = list(self._statistics)
        for statistic, number in self._outputs.numbers():
            statistics.append(statistic)
            values.append(number)
        for sampler, chain in context.chains:
            path = self._paths.get(id(sampler), self._at)
            for statistic, number in chain_numbers(chain, sampler, path, self._inits):
                statistics.append(statistic)
                values.append(number)
        return statistics, values

    def _when(self) -> str:
        return f" at step {self.state.step + 1}"

    def gradient_norm(self) -> Tensor:
        """The norm of the gradient of all parameters."""
        return self._norm_of(self._parameters)

    def _norm_of(self, parameters: list[Tensor]) -> Tensor:
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        if not gradients:
            return torch.zeros((), device=self.state.parts.device)
        parts = joined(gradients) if self._few else norms(gradients)
        norm: Tensor = torch.linalg.vector_norm(parts)
        return norm


def _trainable(parameters: Iterable[Tensor]) -> list[Tensor]:
    return [parameter for parameter in parameters if parameter.requires_grad]
