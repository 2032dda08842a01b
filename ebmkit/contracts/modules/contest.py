"""Auxiliary modules of an objective that trains two adversaries."""

from __future__ import annotations

from torch import nn


class Contest(nn.Module):
    """Extras with an adversary (`rival`), trained by `Loss.rival`; all other parameters are trained by `Loss.value`.

    Both are updated in the same step, each with the gradient of its own loss only: by the same optimizer, unless
    `rival` in the section `train` of the spec gives the adversary an optimizer and a number of steps of its own.
    """

    def __init__(self, rival: nn.Module) -> None:
        super().__init__()
        self.rival = rival
