"""Side parts of an objective in which two play against each other."""

from __future__ import annotations

from torch import nn


class Contest(nn.Module):
    """Extras with a rival, whose parameters follow `Loss.rival`; all others follow `Loss.value`.

    Both are moved in the same step by the same optimizer, each by the gradient of its own loss alone.
    """

    def __init__(self, rival: nn.Module) -> None:
        super().__init__()
        self.rival = rival
