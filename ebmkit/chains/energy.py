"""A network as seen by a sampler: frozen, in eval mode, with a cheap gradient with respect to x."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

import torch
from torch import Generator, Tensor, nn

from ebmkit.chains.heated import HeatedEnergy
from ebmkit.chains.one_hot import one_hot
from ebmkit.chains.private_torch import gradient_in
from ebmkit.contracts import energy as contracts
from ebmkit.contracts.abilities import Scores
from ebmkit.contracts.ability import info_of, missing_members

if TYPE_CHECKING:
    from ebmkit.contracts.kinds import Schedule

A = TypeVar("A")


class Energy:
    """The energy of a module, and its gradient with respect to x at the cost of one forward and one backward pass.

    A module with a cheaper implementation defines `energy_and_grad(x) -> (E, dE/dx)`.
    """

    #: Number of evaluations, with or without gradients.
    evaluations = 0

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        self._by_hand: Callable[[Tensor], tuple[Tensor, Tensor]] | None = getattr(module, "energy_and_grad", None)
        #: Of categorical states, whose gradient is that in one-hot vectors.
        self._of_one_hot: Callable[[Tensor], Tensor] | None = getattr(module, "one_hot_energy", None)
        self._ones: Tensor | None = None

    @property
    def module(self) -> nn.Module:
        """The module itself, for callers that handle the temperature."""
        return self._module

    def __call__(self, x: Tensor) -> Tensor:
        """Energies `(B,)`, without a graph."""
        self.evaluations += 1
        with torch.no_grad():
            energy: Tensor = self._module(x)
        return energy

    def value_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Energies `(B,)` and `dE/dx`, both detached; the gradient in one-hot vectors of categorical states."""
        self.evaluations += 1
        if self._by_hand is not None:
            with torch.no_grad():
                return self._by_hand(x)
        if torch.is_grad_enabled():  # as in most chains; entering a context costs as much as a small layer
            return self._by_autograd(x)
        with torch.enable_grad():
            return self._by_autograd(x)

    def _by_autograd(self, x: Tensor) -> tuple[Tensor, Tensor]:
        point, of_point = self.continuation(x)
        point = point.detach().requires_grad_()
        energy = of_point(point)
        if self._ones is None or self._ones.shape != energy.shape:
            self._ones = torch.ones_like(energy)  # once per chain, not once per step
        return energy.detach(), gradient_in(point, energy, self._ones)

    def continuation(self, x: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        """A smooth function with the energies of states, and these states as its arguments."""
        if self._of_one_hot is None:
            return x, self._module
        return one_hot(x, len(self.unit_values)), self._of_one_hot

    def ask(self, ability: Callable[..., A]) -> A:
        """The module, typed as one that has this ability."""
        info = info_of(ability)
        if lacking := missing_members(self._module, ability):
            raise TypeError(f"the model has no ability '{info.name}': its module lacks {', '.join(lacking)}")
        return cast("A", self if info.by_energy else self._module)

    def score(self, x: Tensor, level: Any) -> Tensor:
        """The score at a noise level or a time, for networks conditioned on one; without a graph."""
        self.evaluations += 1
        with torch.no_grad():
            return self.ask(Scores).score(x, level)

    def noise(self, like: Tensor, rng: Generator) -> Tensor:
        """Initial states of chains from noise to data: the approximate data distribution at the highest noise."""
        module = self.ask(Scores)
        noise = torch.empty_like(like).normal_(0, module.schedule.prior_std(), generator=rng)
        return noise.add_(module.prior_mean())

    @property
    def schedule(self) -> Schedule:
        """The noise schedule of a conditioned network, with the values taken from data."""
        return self.ask(Scores).schedule

    @property
    def unit_values(self) -> tuple[float, ...]:
        """All values of a unit of discrete states, the lowest first, as defined by the module or a part."""
        for part in self._module.modules():
            if hasattr(part, "unit_values"):
                return cast("tuple[float, ...]", part.unit_values)
        raise TypeError("the network does not define the values of a unit: it lacks 'unit_values'")

    def at(self, temperature: Tensor) -> contracts.Energy:
        """`E / T` with a temperature `(B,)` for each chain."""
        return HeatedEnergy(self, temperature)


@contextmanager
def frozen(module: nn.Module) -> Iterator[Energy]:
    """The module in eval mode with parameters that require no gradient; the previous state is restored afterwards.

    A module, or a part of one, that computes its weights from others defines `baked() -> ContextManager`, which
    computes them once for the whole chain.
    """
    children = list(module.modules())  # of a small network, walking through it takes longer than evaluating it
    modes = [(child, child.training) for child in children]
    wanted = [parameter for parameter in module.parameters() if parameter.requires_grad]
    module.eval()
    for parameter in wanted:
        parameter.requires_grad_(False)
    try:
        with ExitStack() as baking:
            for child in children:
                baked: Callable[[], AbstractContextManager[None]] | None = getattr(child, "baked", None)
                if baked:
                    baking.enter_context(baked())
            yield getattr(module, "energy_class", Energy)(module)
    finally:
        for parameter in wanted:
            parameter.requires_grad_(True)
        for child, training in modes:
            child.training = training
