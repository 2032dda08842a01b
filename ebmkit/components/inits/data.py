"""Chains started at the data: contrastive divergence."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Init

if TYPE_CHECKING:
    from ebmkit.components.inits.nets.data_starts import DataStarts


@component("data")
class DataStart(Init):
    """Contrastive divergence (CD-k for k sampler steps of `mle`): every chain starts at a data point.

        x0 = the batch itself

    Reference: Hinton, "Training products of experts by minimizing contrastive divergence", Neural Computation 14, 2002.

    Example: init: data
    """

    needs_data: ClassVar[bool] = True

    def build(self, event: Event) -> DataStarts:
        from ebmkit.components.inits.nets.data_starts import DataStarts

        return DataStarts()
