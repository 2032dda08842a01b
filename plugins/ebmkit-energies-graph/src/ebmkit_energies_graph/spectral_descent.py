"""Steepest descent in the spectral norm."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from ebmkit.api import Ge, Gt, Lt, Optimizer, component

if TYPE_CHECKING:
    from torch.nn import Parameter

    from ebmkit_energies_graph.spectral_steps import SpectralSteps


@component("spectral_descent")
class SpectralDescent(Optimizer):
    """Spectral descent: the steepest step of a given spectral norm for weight matrices, sign descent for the rest.

        m' = momentum m + (1 - momentum) g
        W' = W - lr U V',    U S V' the singular value decomposition of m', for matrices
        b' = b - lr sign(m'),    for vectors and numbers

    All singular values of a step are equal: no direction of a layer's output changes by more than lr per unit of its
    input, and rare directions as much as common ones. With momentum it is the optimizer known as Muon, here with an
    exact decomposition, which for matrices of some hundred rows costs less than the rest of a step. A parameter with
    three axes or more is one matrix per index of all but the last two, as those of the heads of attention.

    Parameters:
        lr: learning rate, the spectral norm of a step.
        momentum: decay of the running mean of gradients; 0 is the method of the first reference.

    Reference: Carlson, Cevher and Carin, "Stochastic spectral descent for restricted Boltzmann machines", AISTATS 2015;
    Bernstein and Newhouse, "Old optimizer, new norm: an anthology", arXiv:2409.20325.

    Example: optimizer: {use: graph.spectral_descent, lr: 0.01, momentum: 0.9}
    """

    lr: Annotated[float, Gt(0)] = 1e-2
    momentum: Annotated[float, Ge(0), Lt(1)] = 0.9

    def state_count(self) -> int:
        return 1

    def build(self, parameters: Iterable[Parameter]) -> SpectralSteps:
        from ebmkit_energies_graph.spectral_steps import SpectralSteps

        return SpectralSteps(parameters, self.lr, self.momentum)
