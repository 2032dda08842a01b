"""The contract of an objective."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ebmkit.contracts.component import Component
from ebmkit.contracts.states import Conditioning, Event, Space
from ebmkit.contracts.traits import ModelTraits, ObjectiveTraits

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.contracts.context import Context


class Loss(NamedTuple):
    """A scalar to differentiate, and detached scalars to log, without host synchronisation.

    With a `Contest` (see `contracts/modules/contest.py`) the rival minimises its own scalar, all others `value`.
    """

    value: Tensor
    metrics: dict[str, Tensor]
    rival: Tensor | None = None


class Objective(Component, ABC):
    """A training loss: a mean over the batch.

    An objective that draws model samples names its sampler in `traits()`; the same sampler is used for evaluation
    unless the spec has its own.
    """

    component_kind: ClassVar[str] = "objective"
    spaces: ClassVar[frozenset[Space]] = frozenset({"real", "binary", "spin"})
    #: Abilities that the model must offer (see `Model`).
    needs: ClassVar[frozenset[str]] = frozenset({"energy"})
    #: Input of the model in addition to x; must match the model.
    conditioning: ClassVar[Conditioning] = None
    #: What the noise distributions among its parameters must offer (see `Noise`).
    noise_needs: ClassVar[frozenset[str]] = frozenset({"density"})
    #: Whether it uses labels, which are then in `context.labels`.
    needs_labels: ClassVar[bool] = False
    #: Whether its default parameters are consistent: trained long enough on a family that contains the distribution of
    #: the data, and with chains that mix, the model becomes that distribution. `tests/statistics/test_consistency.py`
    #: tests all that claim it.
    consistent: ClassVar[bool] = False
    #: Whether it sees the slope of the energy near the data only, and so not the weights of separated modes. By default
    #: its samples are drawn by chains of local steps.
    local: ClassVar[bool] = False
    #: Whether it trains an adversary: its `extras` are a `Contest`, to which `train.rival` applies.
    adversary: ClassVar[bool] = False
    #: The factor of the model's default learning rate: below 1 for a loss that overfits early.
    rate_factor: ClassVar[float] = 1.0

    def traits(self) -> ObjectiveTraits:
        """Requirements of this objective. Override it if parameters decide, and to name a sampler or a schedule."""
        return ObjectiveTraits(
            self.spaces,
            self.needs,
            self.conditioning,
            self.noise_needs,
            self.needs_labels,
            local=self.local,
            rate_factor=self.rate_factor,
            adversary=self.adversary,
        )

    def suited(self, model: ModelTraits) -> Mapping[str, Component]:
        """Components that are better defaults for parameters of this objective if it trains such a model, by the names
        of the parameters. Those that a spec gives stay."""
        return {}

    def extras(self, event: Event, data: Tensor) -> nn.Module | None:
        """Auxiliary modules: log Z, a noise density, a replay buffer. Parameters are trained, everything is saved."""
        return None

    def parameter_count(self, event: Event) -> int | None:
        """The number of trainable numbers of `extras`, without those of a rival, or None if it is not known.

        A model without any can be trained only together with those of the objective, such as log Z.
        """
        return 0 if type(self).extras is Objective.extras else None

    @abstractmethod
    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        """The loss of `batch`. `context` provides the generator, the extras, labels and the chain runner."""
