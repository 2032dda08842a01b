"""What a classifier says of data, beside their labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.components.models.nets.classifier import Classifying
    from ebmkit.contracts.kinds.data import Split
    from ebmkit.contracts.view import View

#: Points at a time.
ROWS = 4096


class Classified(NamedTuple):
    """The class that each point is given, the probability p(y | x) of that class, and the true one; each `(N,)`."""

    guess: Tensor
    confidence: Tensor
    label: Tensor


def classified(view: View, split: Split) -> Classified:
    """All points of a split."""
    from ebmkit.chains.energy import frozen

    points, labels = view.data(split), view.labels(split)
    if points is None or labels is None:
        raise ValueError("to be right or wrong takes data with labels")
    module, device, dtype = view.module, view.device, view.dtype
    with frozen(module), torch.no_grad():
        blocks = [cast("Classifying", module).logits(x.to(device, dtype)) for x in torch.split(points, ROWS)]
    confidence, guess = torch.cat(blocks).softmax(1).max(1)
    if bool(confidence.isnan().any()):
        raise ValueError("some logits are not finite: whatever class comes out of them says nothing")
    return Classified(guess, confidence, labels.to(device))
