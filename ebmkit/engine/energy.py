"""A network as a sampler sees it: frozen, in eval mode, with a cheap gradient in x."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

import torch
from torch import Tensor, nn


class Energy:
    """The energy of a module, and its gradient in x at the price of one forward and one backward pass.

    A module that knows a cheaper way offers `energy_and_grad(x) -> (E, dE/dx)`.
    """

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self._by_hand: Callable[[Tensor], tuple[Tensor, Tensor]] | None = getattr(module, "energy_and_grad", None)
        self._ones: Tensor | None = None

    def __call__(self, x: Tensor) -> Tensor:
        """Energies `(B,)`, without a graph."""
        with torch.no_grad():
            energy: Tensor = self.module(x)
        return energy

    def value_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Energies `(B,)` and `dE/dx`, both detached."""
        if self._by_hand is not None:
            with torch.no_grad():
                return self._by_hand(x)
        with torch.enable_grad():
            point = x.detach().requires_grad_()
            energy = self.module(point)
            if self._ones is None or self._ones.shape != energy.shape:
                self._ones = torch.ones_like(energy)  # built once a chain, not once a step
            (gradient,) = torch.autograd.grad(energy, point, self._ones)
        return energy.detach(), gradient


@contextmanager
def frozen(module: nn.Module) -> Iterator[Energy]:
    """The module in eval mode with parameters that take no gradient; afterwards everything is as it was.

    A module or a part of one that derives its weights from others offers `baked() -> ContextManager`, which derives
    them once for the whole chain.
    """
    modes = [(child, child.training) for child in module.modules()]
    wanted = [parameter for parameter in module.parameters() if parameter.requires_grad]
    module.eval()
    for parameter in wanted:
        parameter.requires_grad_(False)
    try:
        with ExitStack() as baking:
            for child in module.modules():
                baked: Callable[[], AbstractContextManager[None]] | None = getattr(child, "baked", None)
                if baked:
                    baking.enter_context(baked())
            yield Energy(module)
    finally:
        for parameter in wanted:
            parameter.requires_grad_(True)
        for child, training in modes:
            child.training = training
