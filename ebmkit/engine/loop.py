"""The training loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.chains.context import StepContext
from ebmkit.engine.stage import Stage

if TYPE_CHECKING:
    from ebmkit.engine.evaluation import Evaluation
    from ebmkit.engine.folder.checkpointer import Checkpointer
    from ebmkit.engine.limit import Limit
    from ebmkit.engine.run_view import RunView
    from ebmkit.engine.signals import Signals
    from ebmkit.engine.telling.hooks import Hooks
    from ebmkit.engine.training_state import TrainingState


def train(
    view: RunView,
    state: TrainingState,
    evaluation: Evaluation,
    checkpointer: Checkpointer,
    hooks: Hooks,
    signals: Signals,
    limit: Limit,
) -> None:
    """Minimise the objective: step, check finite, record, evaluate, checkpoint, stop."""
    objective, model, extras, mean = view.plan.spec.objective, view.parts.model, view.parts.extras, view.parts.mean
    assert objective is not None  # resolve promised
    rng, history = view.streams.ongoing("objective"), view.history
    stage = Stage(view, state)

    def look(step: int) -> None:
        if step > state.evaluated:
            if evaluation.is_due(step):
                if stage.section.stop:  # this may be the last step: its checkpoint is made here, and by nobody else
                    checkpointer.save()
                with signals.anywhere():  # nothing here changes the run
                    results = evaluation.look(step)
                if results:
                    history.flush()
                    history.record(step, results)
            state.evaluated = step
        if stage.is_over():  # before a checkpoint of this step is made, here or by somebody who leaves
            history.flush()

    look(state.step)  # a run may have been left in the middle of it
    while True:
        while not stage.is_over():
            step = state.step + 1
            state.begin_step(can_be_undone=stage.has_chains)
            with stage.in_objective:
                context = StepContext(rng, extras, step, signals.raise_if_received, stage.labels(step))
                loss = objective.loss(model, stage.batch(step), context)
                stage.differentiate(loss)
                history.add(step, *stage.numbers(loss, context))  # raises before the weights change
            with stage.in_optimizer:
                stage.update(step)
            if mean:
                mean.update(step, stage.section.ema)
            state.end_step(step)
            hooks.step_ended(view=view, step=step)
            look(step)
            checkpointer.at(step)
            signals.raise_if_received()
            limit.raise_if_reached()
        if state.stage + 1 == len(view.plan.spec.stages):
            return
        state.stage, state.stage_began = state.stage + 1, state.step
        stage = Stage(view, state)
