"""A torch module or a function as a model."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge, MinLen

from ebmkit.contracts.built import BUILDER
from ebmkit.contracts.component import component
from ebmkit.contracts.files import FilePath, located
from ebmkit.contracts.kinds import Event, Model, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import ModelTraits

if TYPE_CHECKING:
    from torch import Tensor, nn


def is_network(one: Any) -> bool:
    """Whether this is a torch module. Without torch, there is none."""
    return "torch" in sys.modules and isinstance(one, torch.nn.Module)


def model_of(energy: Any, name: str) -> type[Model]:
    """A component whose network is a copy of a torch module, or evaluates a function; both map `(B, *event)` to `(B,)`.

    The object itself is in no spec: it has to be passed again where the run is resumed or opened.
    """

    @component(name)
    class EnergyAtHand(Model):
        """An energy at hand: a torch module or a function of Python, which is not part of a package.

        Parameters:
            shape: the shape of one state; null takes that of the data.
            space: what states are made of. On other than real states the module has `unit_values`.
            weights: a file with the initial weights of the module; null for those that it has.

        Example: model: {use: notebook.net, shape: [2]}
        """

        shape: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] | None = None
        space: Space = "real"  # type: ignore[misc]  # a parameter here, and a constant of most models
        weights: FilePath | None = None

        def traits(self) -> ModelTraits:
            return super().traits()._replace(space=self.space)

        def event(self) -> Event | None:
            return self.shape

        def parameter_count(self, event: Event) -> int | None:
            return sum(p.numel() for p in energy.parameters() if p.requires_grad) if is_network(energy) else 0

        def build(self, event: Event) -> nn.Module:
            if not is_network(energy):
                return _function(energy)
            network: nn.Module = copy.deepcopy(energy).train()
            for part in network.modules():
                vars(part).pop(BUILDER, None)  # it may be the network of another run
            if self.weights is not None:
                _load(network, self.weights)
            return network

    return EnergyAtHand


def _function(energy: Callable[[Tensor], Tensor]) -> nn.Module:
    class FunctionEnergy(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return energy(x)

    return FunctionEnergy()


def _load(network: nn.Module, path: str) -> None:
    """Set the weights to those in a file."""
    from safetensors.torch import load

    try:
        network.load_state_dict(load(located(path).read_bytes()))
    except (OSError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"the torch module that was passed does not have the weights of '{path}': {reason}") from error


def weights_of(network: nn.Module) -> bytes:
    """The weights of a torch module, as a safetensors file."""
    from safetensors.torch import save

    # Clones, because tensors that share memory cannot be saved.
    return save({name: of.detach().cpu().clone().contiguous() for name, of in network.state_dict().items()})
