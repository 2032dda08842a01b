"""The law of the shapes that a model takes, and what other laws do about one that it does not."""

from __future__ import annotations

import torch

from ebmkit.contracts.kinds import Event, Model
from ebmkit.errors.describe import describe_error
from ebmkit.testing.case import EVENTS, Case
from ebmkit.testing.law import Inapplicable
from ebmkit.testing.laws.model.setting import output_of, states_of
from ebmkit.testing.partner import build


class NotRefused(AssertionError):
    """A model fails on a shape that it does not refuse."""


def takes_every_shape_that_it_does_not_refuse(model: Model, case: Case) -> None:
    """A network can be built for every shape that `refusal(question)` does not refuse, and takes states of it."""
    if reason := failure_of_shape(model, case.event):
        raise NotRefused(
            f"{reason}. A model that takes only some shapes says so in refusal(question), as in "
            'if len(question.event) != 1: return "takes vectors only"'
        )


def failure_of_shape(model: Model, event: Event) -> str:
    """How a model fails on states of this shape, if it takes those of another; otherwise empty, since one that fails on
    all shapes fails for another reason."""
    reason = _failure(model, event)
    if reason and any(not _failure(model, other) for other in EVENTS if other != event):
        return reason
    return ""


def _failure(model: Model, event: Event) -> str:
    try:
        with torch.no_grad():
            output_of(model, build(model, event), states_of(model, Case(event), 1))
    except Inapplicable:
        return ""  # it refuses the shape itself, or has no energy
    except Exception as error:  # anything may go wrong in the code of an author
        return describe_error(error)
    return ""
