"""The energy of a classifier at given labels, as a module."""

from __future__ import annotations

from typing import cast

from torch import Tensor, nn

from ebmkit.contracts.abilities import Logits


class ClassEnergy(nn.Module):
    """`E(x, y) = E(x) - log p(y | x)` with fixed labels y of the states: chains draw from p(x | y).

    It equals `-f(x)[y]` plus the base of `classifier`, and needs nothing of a model but its energy and its logits.
    """

    def __init__(self, module: nn.Module, labels: Tensor) -> None:
        super().__init__()
        self.module = module
        # One label for all states also serves samplers that evaluate some of the chains.
        self.labels = labels[:1] if bool((labels == labels[0]).all()) else labels

    def forward(self, x: Tensor) -> Tensor:
        log_p = cast("Logits", self.module).logits(x).log_softmax(1)
        labels = self.labels.repeat(len(x) // len(self.labels))  # of replicas of all chains, one after the other
        energy: Tensor = self.module(x) - log_p.gather(1, labels.unsqueeze(1)).squeeze(1)
        return energy
