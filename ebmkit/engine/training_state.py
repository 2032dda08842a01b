"""All that changes while a run trains, as a checkpoint holds it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ebmkit.engine.folder.checkpoint import Saved
from ebmkit.engine.folder.history import History
from ebmkit.engine.parts import Parts
from ebmkit.engine.rng import Streams
from ebmkit.engine.telling.error_site import label_at
from ebmkit.errors.running import Diverged, StorageFailed
from ebmkit.language.plan import Plan


class TrainingState:
    """The position in training, and everything that has moved to get there.

    The learning rate, the order of the data and the decay of the running mean are functions of the position, so they
    need not be saved.
    """

    def __init__(self, plan: Plan, parts: Parts, streams: Streams, history: History) -> None:
        self.plan = plan
        self.parts = parts
        self.streams = streams
        self.history = history
        #: Steps that are done, over all stages.
        self.step = 0
        #: The stage that is under way, and the step behind which it began.
        self.stage = 0
        self.stage_began = 0
        #: The last step behind which everything due was measured.
        self.evaluated = 0
        self._movable = _movable(parts)
        self._in_step = False
        self._step_began: tuple[dict[str, Tensor], list[int]] | None = None

    # A step is whole or it was not made -------------------------------------------------------------------------------

    def begin_step(self, *, can_be_undone: bool) -> None:
        """Remember, where steps have chains, what one that is broken off has to be put back to."""
        self._in_step = True
        if can_be_undone:
            self._step_began = self.streams.state(), [tensor._version for tensor in self._movable]

    def end_step(self, step: int) -> None:
        """The step is done."""
        self._in_step = False
        self.step = step

    def undo_step(self) -> bool:
        """Go back to the beginning of a step that was broken off inside a chain. False if something had moved already,
        which cannot be undone: then the last checkpoint is the one to go on from."""
        if not self._in_step:
            return True
        self._in_step = False
        if self._step_began is None:
            return False
        positions, versions = self._step_began
        self.streams.restore(positions)
        # A module may also put another tensor where one was.
        replaced = [*map(id, self._movable)] != [*map(id, _movable(self.parts))]
        return not replaced and versions == [tensor._version for tensor in self._movable]

    # To and from a checkpoint -----------------------------------------------------------------------------------------

    def save(self) -> Saved:
        """What a checkpoint holds. Raises `Diverged` rather than save a weight that is not finite."""
        tensors = {name: dict(module.state_dict()) for name, module in _modules(self.parts).items()}
        optimizer, numbers = self._optimizer()
        for group, named in {**tensors, "optimizer": optimizer}.items():
            self._check_finite(group, named)
        values = {
            "stage": self.stage,
            "stage_began": self.stage_began,
            "evaluated": self.evaluated,
            "history": self.history.state(),
            "optimizer": numbers,
        }
        return Saved(self.step, {**tensors, "optimizer": optimizer, "random": self.streams.state()}, values)

    def restore(self, saved: Saved) -> None:
        """Stand exactly where the checkpoint was made."""
        restore_weights(self.parts, saved)
        with fitting(saved):
            self.step, self.evaluated = saved.step, saved.values["evaluated"]
            self.stage, self.stage_began = saved.values["stage"], saved.values["stage_began"]
            self.streams.restore(saved.tensors["random"])
            self.history.restore(saved.values["history"])
            self._restore_optimizer(saved)

    def _optimizer(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The optimizer of the stage, as tensors and as numbers, each under `parameter.name`."""
        if not self.parts.optimizers:
            return {}, {}
        moments = self.parts.optimizers[self.stage].state_dict()["state"]
        named = {f"{index}.{name}": value for index, entry in moments.items() for name, value in entry.items()}
        tensors = {name: value for name, value in named.items() if isinstance(value, Tensor)}
        return tensors, {name: value for name, value in named.items() if name not in tensors}

    def _restore_optimizer(self, saved: Saved) -> None:
        if not self.parts.optimizers:
            return
        moments: dict[int, dict[str, Any]] = {}
        for key, value in {**saved.tensors["optimizer"], **saved.values["optimizer"]}.items():
            index, _, name = key.partition(".")
            moments.setdefault(int(index), {})[name] = value
        optimizer = self.parts.optimizers[self.stage]
        # The groups come from the spec; the one thing that moves in them is the learning rate, which the step sets.
        optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        for index, entry in moments.items():
            parameter, loaded = parameters[index], optimizer.state[parameters[index]]
            for name, value in entry.items():
                if not isinstance(value, Tensor):
                    continue
                # torch casts what it loads to the parameter's type, which changes bits where an optimizer keeps another
                # one; and fused kernels walk through the memory of both at once, so they have to be laid out alike.
                place = loaded[name].device
                alike = value.shape == parameter.shape
                like = parameter if alike else value
                loaded[name] = torch.empty_like(like, dtype=value.dtype, device=place).copy_(value)

    def _check_finite(self, group: str, tensors: dict[str, Tensor]) -> None:
        floating = {name: tensor for name, tensor in tensors.items() if tensor.is_floating_point()}
        if not floating or bool(torch.stack([tensor.isfinite().all() for tensor in floating.values()]).all()):
            return
        name = next(name for name, tensor in floating.items() if not bool(tensor.isfinite().all()))
        # The optimizer is not to blame for weights: what it does to them is looked at behind every step.
        optimizer = (*self.plan.spec.stage_path(self.stage), "optimizer")
        path = {"extras": ("objective",), "optimizer": optimizer}.get(group, ("model",))
        raise Diverged(
            f"{label_at(self.plan, path)}: '{name}' of the {group} is not finite after step {self.step}, "
            "so no checkpoint was made",
            self.plan.place(path),
        )


def restore_weights(parts: Parts, saved: Saved) -> None:
    """The trained weights alone, for those who do not go on with training."""
    with fitting(saved):
        for name, module in _modules(parts).items():
            module.load_state_dict(saved.tensors.get(name, {}))


@contextmanager
def fitting(saved: Saved) -> Iterator[None]:
    """A sound checkpoint that does not fit is one of another spec or another version: drift was allowed."""
    try:
        yield
    except (RuntimeError, LookupError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: " + str(error).splitlines()[-1].strip()
        raise StorageFailed(
            f"the checkpoint of step {saved.step} does not fit what the spec builds: {reason}"
        ) from error


def _modules(parts: Parts) -> dict[str, nn.Module]:
    """What is saved whole: the weights where the optimizer stands, their running mean, and the objective's own."""
    modules = {"model": parts.model, "mean": parts.mean.module if parts.mean else None, "extras": parts.extras}
    return {name: module for name, module in modules.items() if module is not None}


def _movable(parts: Parts) -> list[Tensor]:
    modules = _modules(parts).values()
    return [tensor for module in modules for tensor in (*module.parameters(), *module.buffers())]
