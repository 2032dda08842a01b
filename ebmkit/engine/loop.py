"""The training loop."""

from __future__ import annotations

from typing import Protocol

import torch

from ebmkit.engine.batches import Batches
from ebmkit.engine.blame import Blame
from ebmkit.engine.context import Context
from ebmkit.engine.evaluation import Evaluation
from ebmkit.engine.learning_rate import CosineDecay
from ebmkit.engine.view import View


class StepEnded(Protocol):
    """The hook of plugins that follow every step."""

    def __call__(self, *, view: View, step: int) -> object: ...


def train(view: View, evaluation: Evaluation, step_ended: StepEnded | None) -> None:
    """Minimise the objective: step, check finite, record, evaluate, stop."""
    plan, parts, streams, history = view.plan, view.parts, view.streams, view.history
    section, objective = plan.spec.train, plan.spec.objective
    model, extras, optimizer, mean, data = parts.model, parts.extras, parts.optimizer, parts.mean, parts.train
    if not section or not objective or not optimizer or data is None:
        raise ValueError("nothing to train")  # resolve promised otherwise
    rng = streams.generator("objective")
    batches = Batches(data, section.batch_size, streams)
    rate = CosineDecay(optimizer, section.steps, section.final_lr)
    in_objective = Blame(plan, ("objective",), f"objective {objective.component_name!r}")
    in_optimizer = Blame(plan, ("train", "optimizer"), f"optimizer {section.optimizer.component_name!r}")
    in_hook = Blame(plan, ("plugins",), "a plugin's hook")

    for step in range(1, section.steps + 1):
        with in_objective:
            loss = objective.loss(model, batches.at(step), Context(rng, extras, step))
            history.add(step, loss)  # checks that every number is finite, a window of steps at a time
            torch.autograd.backward(loss.value)
        with in_optimizer:
            rate.set(step)
            optimizer.step()
            optimizer.zero_grad()
        if mean:
            mean.update(step)
        if step_ended:
            with in_hook:
                step_ended(view=view, step=step)
        if metrics := evaluation.due(step):
            evaluation.measure(metrics)
    history.flush()
