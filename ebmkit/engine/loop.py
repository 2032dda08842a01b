"""The training loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

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
    *,
    begun: Callable[[int], None],
) -> None:
    """Minimise the objective: step, check finite, record, evaluate, checkpoint, stop. `begun` is called with the
    number of each stage."""
    state.begin_stage()
    begun(state.stage)
    mean, stage = view.parts.mean, Stage(view, state)
    look = partial(_look, view, state, evaluation, checkpointer, signals)
    look(stage)  # the run may have been interrupted during an evaluation
    while True:
        while not stage.is_over():
            step = state.step + 1
            state.begin_step(can_be_undone=stage.has_chains)
            stage.take_step(step, on_chain_step=signals.raise_if_received)
            if mean:
                mean.update(step, stage.section.ema)
            state.end_step(step)
            hooks.step_ended(view=view, step=step)
            look(stage)
            checkpointer.at(step)
            signals.raise_if_received()
            limit.raise_if_reached()
        if state.stage + 1 == len(view.plan.spec.stages):
            return
        state.next_stage()
        state.begin_stage()
        begun(state.stage)
        stage = Stage(view, state)


def _look(
    view: RunView,
    state: TrainingState,
    evaluation: Evaluation,
    checkpointer: Checkpointer,
    signals: Signals,
    stage: Stage,
) -> None:
    """Evaluate what is due after the last step, once."""
    step, history = state.step, view.history
    if step > state.evaluated:
        if evaluation.is_due(step):
            if stage.section.stop:  # this may be the last step, whose checkpoint is only made here
                checkpointer.save()
            with signals.anywhere():  # nothing here changes the run
                results = evaluation.look(step)
            if results:
                history.flush()
                history.record(step, results)
        state.evaluated = step
    if stage.is_over():  # before a checkpoint of this step is made, here or on an interruption
        history.flush()
