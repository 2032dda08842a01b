"""The contract of a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from ebmkit.contracts.built import Builder, WrongBuild
from ebmkit.contracts.kinds.schedule import Schedule
from ebmkit.contracts.known_abilities import broken_promise
from ebmkit.contracts.parts import Part
from ebmkit.contracts.states import Event, Space
from ebmkit.contracts.traits import ModelTraits

if TYPE_CHECKING:
    from torch import nn


class Model(Builder, ABC):
    """An energy function, low for likely states: `p(x) = exp(-E(x)) / Z`.

    `build` returns a torch module whose forward maps `(B, *event) -> (B,)`. `offers` announces the further abilities of
    the module by name (`contracts/abilities.py`), so that a spec that requires others is refused before anything is
    built. Build checks that the module has the methods of every ability that is offered.

    Faster implementations are not announced but detected: `energy_and_grad(x) -> E, dE/dx` without a graph, for chains,
    and for score matching, differentiable in the parameters, `laplacian(x) -> E, dE/dx, (B,)`, the trace of the
    Hessian, and `curvature(x, v) -> E, dE/dx, (B,)`, the mean of v'Hv over directions v `(K, B, *event)`.

    A module on discrete states has `unit_values`, all values of a unit, the lowest first. On categorical states these
    are 0.0, 1.0, ..., K - 1, the trait `categories` is K, and a module that offers `gradient` has in addition
    `one_hot_energy(hot) -> (B,)`, the same energy of one-hot vectors `(B, *event, K)` and a smooth function of them.

    The class variables state what holds for all its models. If parameters decide, as in a composition, override
    `traits()` (see `components/models/composition.py`).
    """

    component_kind: ClassVar[str] = "model"
    space: ClassVar[Space] = "real"
    offers: ClassVar[frozenset[str]] = frozenset({"energy", "gradient"})
    #: The noise schedule of a model whose network takes a noise level or a time. A parameter of such models.
    schedule: Schedule | None = None
    #: The learning rate of Adam if the spec has no optimizer.
    learning_rate: ClassVar[float] = 1e-3

    def traits(self) -> ModelTraits:
        """The properties and abilities of this model. Override it if parameters decide, as in a composition."""
        return ModelTraits(
            self.space,
            self.offers,
            self.schedule,
            own_units=self.event() is not None,
            learning_rate=self.learning_rate,
        )

    def event(self) -> Event | None:
        """The shape fixed by the parameters, or None for a model that takes the shape of its data."""
        return None

    def coordinate_names(self) -> tuple[str, ...] | None:
        """The names of the coordinates of a vector, such as the parameters of a posterior; None if they have none.

        They are used unless the data name them.
        """
        return None

    def parameter_count(self, event: Event) -> int | None:
        """The number of trainable numbers of the module on states of this shape, or None if it is not known.

        Nothing is built to find it: zero refuses training, and too many for the memory refuse the spec.
        """
        return None

    def parts(self, event: Event) -> tuple[Part, ...]:
        """The parts that stages of training can name, in the order in which they are trained; none by default.

        A model with parts offers the ability `parts`. The model of a part is that of the module `part(name)`.
        """
        return ()

    def builds(self) -> type:
        from torch import nn

        return nn.Module

    def check_built(self, built: Any) -> None:
        super().check_built(built)
        if broken := broken_promise(type(self), self.traits().offers, built):
            raise WrongBuild(broken)

    @abstractmethod
    def build(self, event: Event) -> nn.Module:
        """The newly initialised module, on the CPU in float32. The engine seeds torch for this call."""
