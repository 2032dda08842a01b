"""A reference model as a parameter of a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ebmkit.contracts.kinds import Event, Model
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question

if TYPE_CHECKING:
    from torch import nn


def check_target(target: Model, *abilities: str) -> None:
    """Raise a ValueError unless the model fixes the shape of a state and offers the abilities."""
    for ability in abilities:
        if ability not in target.traits().offers:
            raise ValueError(f"model '{target.component_name}' does not offer '{ability}'")
    if target.traits().conditioning is not None:
        raise ValueError(
            f"model '{target.component_name}' takes a {target.traits().conditioning} in addition to x and cannot be a "
            "target"
        )
    if target.event() is None:
        raise ValueError(
            f"model '{target.component_name}' takes its shape from data: a target must fix it by its parameters"
        )


def other_shape(target: Model, event: Event) -> str | None:
    """Why states of this shape cannot be compared, in words that follow the metric's name; None if they can."""
    if target.event() == event:
        return None
    return f"compares with model '{target.component_name}', whose states have shape {target.event()}"


def other_score(question: Question) -> str | None:
    """Why the score of the model cannot be compared with that of a target, in words that follow the metric's name; None
    if it can."""
    model = question.model
    if not model.traits().offers & {"gradient", "score"}:
        return "compares scores, but the model has neither a gradient nor a score"
    if model.traits().labelled:
        return "compares with a model without labels, but this one takes labels"
    if model.traits().conditioning is not None and question.scale != "none":
        return f"adds noise in the units of the data, but the model was trained with noise of 'scale: {question.scale}'"
    return None


def build_target(target: Model, like: Any) -> nn.Module:
    """The module, identical in every run, with the device and dtype of a tensor."""
    event = target.event()
    assert event is not None  # refused above
    # Initialisers draw from torch's global generator: seed it and restore its state.
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        torch.default_generator.manual_seed(0)
        return target.build(event).to(like.device, like.dtype)
