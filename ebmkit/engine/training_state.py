"""The state of training, and its conversion to and from checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn

from ebmkit.contracts.abilities import Parted
from ebmkit.engine.folder.checkpoint import Saved
from ebmkit.engine.folder.history import History
from ebmkit.engine.optimizer_state import restore_state, state_of
from ebmkit.engine.parts import Parts
from ebmkit.engine.rng import Streams
from ebmkit.engine.telling.error_site import ErrorSite, label_at
from ebmkit.engine.working import Working, own_stage
from ebmkit.errors.describe import text_of, type_name
from ebmkit.errors.running import Diverged, StorageFailed
from ebmkit.language.plan import Plan
from ebmkit.language.stages import part_of

#: The group of tensors of the extras that a stage owns.
OWN = "stage_extras"
#: That of the optimizer of an adversary.
RIVAL = "rival_optimizer"


class TrainingState:
    """The position in training, and everything that training changes.

    The learning rate, the order of the data and the decay of the running mean are functions of the position, so they
    are not saved.
    """

    def __init__(self, plan: Plan, parts: Parts, streams: Streams, history: History) -> None:
        self.plan = plan
        self.parts = parts
        self.streams = streams
        self.history = history
        #: Steps done, over all stages.
        self.step = 0
        #: The current stage, and the last step before it.
        self.stage = 0
        self.stage_began = 0
        #: The number of stages that have begun: a part of the model is started once.
        self.begun = 0
        #: The last step after which everything due was evaluated.
        self.evaluated = 0
        self._movable = self._moved()
        self._in_step = False
        self._step_began: tuple[dict[str, Tensor], list[int]] | None = None

    # Stages -----------------------------------------------------------------------------------------------------------

    @property
    def working(self) -> Working | None:
        """What the current stage works on; None without training, or before a stage that owns its part has begun."""
        return self.parts.working[self.stage] if self.parts.working else None

    def begin_stage(self) -> None:
        """Build what the current stage owns. The first time, its part is started from what was trained before."""
        part = part_of(self.plan.spec, self.plan.event, self.stage)
        if self.begun <= self.stage:
            if part is not None:
                with ErrorSite(self.plan, ("model",)), torch.no_grad():
                    cast("Parted", self.parts.model).begin_part(part.name)
                if self.parts.mean:  # a part learns from the weights below it, not from their mean
                    self.parts.mean.update(self.step, 0.0)
            self.begun = self.stage + 1
        self._build_stage()

    def next_stage(self) -> None:
        """Go to the next stage."""
        self.stage, self.stage_began = self.stage + 1, self.step

    def _build_stage(self) -> None:
        parts = self.parts
        if parts.train is not None and parts.working and parts.working[self.stage] is None:
            labels = (parts.train_labels, parts.test_labels)
            parts.working[self.stage] = own_stage(self.plan, parts.model, self.stage, parts.device, parts.train, labels)
            self._movable = self._moved()

    def _moved(self) -> list[Tensor]:
        """Everything that training may change."""
        modules = self._modules().values()
        return [tensor for module in modules for tensor in (*module.parameters(), *module.buffers())]

    def _modules(self) -> dict[str, nn.Module]:
        """The modules that are saved: those of the run, and the extras that the current stage owns."""
        working, modules = self.working, _modules(self.parts)
        if working and working.extras is not None and not self.plan.spec.is_shared(self.stage):
            modules[OWN] = working.extras
        return modules

    # A step is completed or undone ------------------------------------------------------------------------------------

    def begin_step(self, *, can_be_undone: bool) -> None:
        """If steps have chains, remember the state to which an interrupted step is undone."""
        self._in_step = True
        if can_be_undone:
            self._step_began = self.streams.state(), [tensor._version for tensor in self._movable]

    def end_step(self, step: int) -> None:
        """The step is done."""
        self._in_step = False
        self.step = step

    def undo_step(self) -> bool:
        """Go back to the beginning of a step that was interrupted inside a chain. False if something has changed
        already, which cannot be undone: the run then continues from the last checkpoint."""
        if not self._in_step:
            return True
        self._in_step = False
        if self._step_began is None:
            return False
        positions, versions = self._step_began
        self.streams.restore(positions)
        # A module may also replace a tensor.
        replaced = [*map(id, self._movable)] != [*map(id, self._moved())]
        return not replaced and versions == [tensor._version for tensor in self._movable]

    # To and from a checkpoint -----------------------------------------------------------------------------------------

    def save(self) -> Saved:
        """The content of a checkpoint. Raises `Diverged` if a weight is not finite."""
        tensors = {name: dict(module.state_dict()) for name, module in self._modules().items()}
        values: dict[str, Any] = {}
        for name, optimizer in self._optimizers().items():
            tensors[name], values[name] = {}, {}
            if optimizer is not None:
                tensors[name], values[name] = state_of(optimizer)
        for group, named in tensors.items():
            self._check_finite(group, named)
        values |= {
            "stage": self.stage,
            "stage_began": self.stage_began,
            "begun": self.begun,
            "evaluated": self.evaluated,
            "history": self.history.state(),
        }
        return Saved(self.step, {**tensors, "random": self.streams.state()}, values)

    def restore(self, saved: Saved) -> None:
        """Restore the state that was saved."""
        restore_weights(self.parts, saved)
        with fitting(saved):
            self.step, self.evaluated = saved.step, saved.values["evaluated"]
            self.stage, self.stage_began = saved.values["stage"], saved.values["stage_began"]
            self.begun = saved.values["begun"]
            has_begun = self.begun > self.stage
        if has_begun:
            self._build_stage()
        with fitting(saved):
            if OWN in (own := self._modules()):
                own[OWN].load_state_dict(saved.tensors[OWN])
            self.streams.restore(saved.tensors["random"])
            self.history.restore(saved.values["history"])
            for name, optimizer in self._optimizers().items():
                if optimizer is not None:
                    restore_state(optimizer, saved.tensors[name], saved.values[name])

    def _optimizers(self) -> dict[str, torch.optim.Optimizer | None]:
        """The optimizers of the current stage, by the names of their groups in a checkpoint."""
        working = self.working
        rival = {RIVAL: working.rival} if working and working.rival else {}
        return {"optimizer": working.optimizer if working else None, **rival}

    def _check_finite(self, group: str, tensors: dict[str, Tensor]) -> None:
        floating = {name: tensor for name, tensor in tensors.items() if tensor.is_floating_point()}
        if not floating or bool(torch.stack([tensor.isfinite().all() for tensor in floating.values()]).all()):
            return
        name = next(name for name, tensor in floating.items() if not bool(tensor.isfinite().all()))
        # Weights are reported at the model: those that the optimizer made non-finite were found after its step.
        optimizer = (*self.plan.spec.stage_path(self.stage), "optimizer")
        own = self.plan.spec.objective_path(self.stage) if self.plan.spec.stages else ("objective",)
        of_rival = (*self.plan.spec.stage_path(self.stage), "rival")
        paths = {"extras": ("objective",), OWN: own, "optimizer": optimizer, RIVAL: of_rival}
        path = paths.get(group, ("model",))
        raise Diverged(
            f"{label_at(self.plan, path)}: '{name}' of the {group} is not finite after step {self.step}, "
            "so no checkpoint was made",
            self.plan.place(path),
        )


def restore_weights(parts: Parts, saved: Saved) -> None:
    """The trained weights only, for uses other than training."""
    with fitting(saved):
        for name, module in _modules(parts).items():
            module.load_state_dict(saved.tensors.get(name, {}))


@contextmanager
def fitting(saved: Saved) -> Iterator[None]:
    """An intact checkpoint that does not fit belongs to another spec or version: drift was allowed."""
    try:
        yield
    except (RuntimeError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        reason = f"{type_name(error)}: " + " ".join(text_of(error).splitlines()[-1:]).strip()
        raise StorageFailed(f"the checkpoint of step {saved.step} does not fit the spec: {reason}") from error


def _modules(parts: Parts) -> dict[str, nn.Module]:
    """The modules of the run: the model, its running mean, and the extras of the objective of the spec."""
    modules = {"model": parts.model, "mean": parts.mean.module if parts.mean else None, "extras": parts.extras}
    if not parts.units.are_those_of_the_data:
        modules["units"] = parts.units
    return {name: module for name, module in modules.items() if module is not None}
