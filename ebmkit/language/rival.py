"""The section about the adversary of an objective."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge

from ebmkit.contracts.component import section
from ebmkit.contracts.kinds import Optimizer


@section
class Rival:
    """How the adversary is trained in an objective of two players, if not as the model is.

    Parameters:
        optimizer: its optimizer, at a learning rate of its own; by default that of the stage. The rate rises and decays
            as that of the model does.
        steps: number of its steps for every step of the model. All but the last precede it, each on a loss that is
            computed again; the last is taken together with that of the model.
    """

    optimizer: Optimizer | None = None
    steps: Annotated[int, Ge(1)] = 1
