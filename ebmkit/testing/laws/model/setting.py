"""The setting in which the laws of models are tested: states, a network, and its output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn

from ebmkit.chains.energy import Energy
from ebmkit.contracts.abilities import Posterior
from ebmkit.contracts.kinds import Model
from ebmkit.testing.case import Case
from ebmkit.testing.law import Inapplicable
from ebmkit.testing.oracles import generator
from ebmkit.testing.partner import build, states

#: A noise level for conditioned networks.
SIGMA = 0.7


def states_of(model: Model, case: Case, n: int = 7, dtype: torch.dtype = torch.float64) -> Tensor:
    return states(model, n, case.event, generator(1), dtype)


def continued(model: Model, module: nn.Module, x: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """Arguments that energies can be differentiated in, and the function of them: x itself, or its one-hot vectors."""
    if model.traits().space != "categorical":
        return x, lambda point: output_of(model, module, point)
    return Energy(module).continuation(x)


def output_of(model: Model, module: nn.Module, x: Tensor) -> Tensor:
    """Energies or scores, at one noise level if the network takes one. Where the energy is not tractable, its bound."""
    offers = model.traits().offers
    if not {"energy", "score"} & offers and "posterior" in offers:
        bound: Tensor = cast("Posterior", module).posterior_energy(x, generator(0))
        return bound
    if not {"energy", "score"} & offers:
        raise Inapplicable("it offers neither energies nor scores")
    conditioning = () if model.traits().conditioning is None else (x.new_full((len(x),), SIGMA),)
    answer: Tensor = module(x, *conditioning)
    return answer


def require_ability(model: Model, ability: str) -> None:
    if ability not in model.traits().offers:
        raise Inapplicable(f"it does not offer {ability}")


def trainable(module: nn.Module) -> list[Tensor]:
    found: list[Tensor] = [parameter for parameter in module.parameters() if parameter.requires_grad]
    if not found:
        raise Inapplicable("it has no trainable parameters")
    return found


def network_of(model: Model, case: Case) -> Any:
    """A network with changed parameters, as after training, to catch properties that hold only at initialisation."""
    module = build(model, case.event)
    train_a_little(module)
    return module


def train_a_little(module: nn.Module) -> None:
    rng = generator(9)
    with torch.no_grad():
        for parameter in module.parameters():
            size = max(0.1, float(parameter.square().mean().sqrt()))
            parameter.add_(torch.randn(parameter.shape, generator=rng, dtype=parameter.dtype), alpha=0.2 * size)
