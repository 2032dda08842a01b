"""Predictions of a classifier together with the labels of data."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.contracts.abilities import Logits
    from ebmkit.contracts.kinds.data import Split
    from ebmkit.contracts.view import View

#: Points per batch.
ROWS = 4096


class Classified(NamedTuple):
    """The predicted class of each point, its probability p(y | x), and the true class; each `(N,)`."""

    guess: Tensor
    confidence: Tensor
    label: Tensor


def classified(view: View, split: Split) -> Classified:
    """All points of a split."""
    from ebmkit.chains.energy import frozen

    points, labels = view.data(split), view.labels(split)
    if points is None or labels is None:
        raise ValueError("the accuracy of a classifier needs data with labels")
    module, device, dtype = view.module, view.device, view.dtype
    with frozen(module), torch.no_grad():
        blocks = [cast("Logits", module).logits(x.to(device, dtype)) for x in torch.split(points, ROWS)]
    logits = torch.cat(blocks)
    if lost := int((~logits.isfinite().all(1)).sum()):
        raise FloatingPointError(f"the logits of {lost} of {len(logits)} points are not finite")
    confidence, guess = logits.softmax(1).max(1)
    return Classified(guess, confidence, labels.to(device))
