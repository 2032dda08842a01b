"""One evaluation of the model before training and chains: whether its results have the shapes that are promised.

Torch broadcasts, so that an energy of shape (B, 1) would train without an error, towards something else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from ebmkit.chains.energy import frozen
from ebmkit.contracts.abilities import Logits, Scores
from ebmkit.contracts.built import WrongBuild
from ebmkit.engine.chain_starts import ChainStarts
from ebmkit.engine.evaluated import Evaluated
from ebmkit.engine.parts import Parts
from ebmkit.engine.process import seeded
from ebmkit.engine.rng import Streams
from ebmkit.engine.telling.error_site import ErrorSite, label_at
from ebmkit.errors.describe import describe_error, type_name
from ebmkit.errors.running import ComponentFailed
from ebmkit.language.plan import Plan
from ebmkit.maths.process import least_noise

#: The least number of states in the check.
STATES = 4
#: What helps against numbers of different precision.
DTYPE_HELP = "use dtype float64, or make the constants of the energy in the dtype of x"


class Promised(NamedTuple):
    """A result of the model, how it is computed, and the shape that it has to have."""

    name: str
    compute: Callable[[], Any]
    shape: tuple[int, ...]
    meaning: str


def check_model(plan: Plan, parts: Parts) -> None:
    """Raise `ComponentFailed` at the line of the model unless its results for a few states have the promised shapes.

    The states are training points, or starts of chains in a spec without data. The random streams of the run, and the
    modes and buffers of the model, are the same afterwards.
    """
    streams = Streams(plan.spec.seed, parts.device)
    x, labels = _states(plan, parts, streams)
    states, who = states_words(x), label_at(plan, ("model",))
    with (
        seeded(streams, "model check"),
        ErrorSite(plan, ("model",), given=f" for {states}"),
        _buffers_kept(parts.model),
        frozen(parts.model),
        torch.no_grad(),
    ):
        for promised in _promises(plan, parts, x, labels):
            try:
                found = promised.compute()
            except RuntimeError as error:
                if mixes_dtypes(error):
                    raise WrongBuild(f"raised {describe_error(error)} for {states}; {DTYPE_HELP}") from error
                raise
            if wrong := wrong_shape(found, promised.shape, promised.meaning, states):
                raise ComponentFailed(f"the {promised.name} of {who} {wrong}", plan.place(("model",)))


def wrong_shape(found: Any, shape: tuple[int, ...], meaning: str, states: str) -> str:
    """What is wrong with the type or shape of a result, and what helps, in words that follow its name; or nothing."""
    wanted = f"for {states}, but a tensor of shape {shape}, {meaning}, is expected"
    if not isinstance(found, Tensor):
        return f"returned an object of type {type_name(found)} {wanted}"
    if tuple(found.shape) == shape:
        return ""
    if len(shape) > 1:
        help = ""
    elif found.numel() == shape[0]:
        help = "; end with .flatten(), or a Sequential with torch.nn.Flatten(0)"
    else:
        help = "; sum over the axes of a state only, for example (x**2).flatten(1).sum(1)"
    return f"returned shape {tuple(found.shape)} {wanted}{help}"


def states_words(x: Tensor) -> str:
    """States in words: their shape and dtype."""
    return f"states of shape {tuple(x.shape)} in {str(x.dtype).removeprefix('torch.')}"


def mixes_dtypes(error: Exception) -> bool:
    """Whether an error of torch says that numbers of different precision do not go together."""
    return any(word in str(error) for word in ("dtype", "Double", "double", "expected scalar type"))


def _promises(plan: Plan, parts: Parts, x: Tensor, labels: Tensor | None) -> Iterator[Promised]:
    traits, module = plan.spec.model.traits(), parts.model
    noised: tuple[Tensor | None, ...] = ()
    if "score" in traits.offers:
        scores = cast("Scores", module)
        classes = labels if labels is not None else torch.zeros(len(x), dtype=torch.long, device=x.device)
        noised = (x.new_full((), least_noise(scores.schedule)), classes if traits.labelled else None)
        yield Promised("score", lambda: scores.score(x, *noised), tuple(x.shape), "that of the states")
    if "energy" in traits.offers:
        yield Promised("energy", lambda: module(x, *noised), (len(x),), "one energy for each state")
    if "logits" in traits.offers and traits.classes is not None:
        logits = cast("Logits", module).logits
        yield Promised("logits", lambda: logits(x), (len(x), traits.classes), "one number for each state and class")


def _states(plan: Plan, parts: Parts, streams: Streams) -> tuple[Tensor, Tensor | None]:
    """A few states and their labels. Their number differs from the axes of a state, so that no axis is taken for it."""
    n = next(n for n in count(STATES) if n not in plan.event)
    if parts.train is None:
        with ErrorSite(plan, ("init",)):
            starts = ChainStarts(Evaluated(plan, parts))
            drawn = starts.draw(min(n, starts.rows), streams.generator("model check"))
            return drawn[torch.arange(n, device=drawn.device) % len(drawn)], None
    rows = torch.arange(n, device=parts.train.device) % len(parts.train)
    labels = parts.train_labels
    x = parts.train.index_select(0, rows).to(parts.device, parts.dtype)
    return x, None if labels is None else labels.index_select(0, rows.to(labels.device)).to(parts.device)


@contextmanager
def _buffers_kept(module: nn.Module) -> Iterator[None]:
    """Restore the buffers of a module afterwards, also of one that changes them in eval mode."""
    before = [(name, buffer, buffer._version, buffer.clone()) for name, buffer in module.named_buffers()]
    try:
        yield
    finally:
        for name, buffer, version, values in before:
            if buffer._version != version:
                buffer.copy_(values)
            path, _, leaf = name.rpartition(".")
            owner = module.get_submodule(path)
            if getattr(owner, leaf) is not buffer:
                setattr(owner, leaf, buffer)
