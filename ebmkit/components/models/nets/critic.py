"""A vector field with an exact divergence."""

from __future__ import annotations

from math import prod

from torch import Tensor, nn

from ebmkit.maths.smoothness import BENDS


class Critic(nn.Module):
    """`f(x) = W3 phi(W2 phi(W1 x + b1) + b2) + b3` on flattened x, with the exact trace of its Jacobian.

        tr df/dx = tr W3 D2 W2 D1 W1 = d2' (W2 * (W1 W3)') d1,    D = diag(d),    d = phi'(z)

    The trace of a product is invariant under cyclic permutations, so no Jacobian is formed: it costs one product of the
    size of a layer, in any dimension.
    """

    def __init__(self, event: tuple[int, ...], width: int) -> None:
        super().__init__()
        self.first = nn.Linear(prod(event), width)
        self.second = nn.Linear(width, width)
        self.last = nn.Linear(width, prod(event))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """`f(x)` in the shape of x, and its trace `(B,)`."""
        phi = BENDS["silu"]
        one = phi(self.first(x.flatten(1)))
        two = phi(self.second(one.value))
        loop = self.second.weight * (self.first.weight @ self.last.weight).T
        trace = ((two.slope @ loop) * one.slope).sum(1)
        return self.last(two.value).view_as(x), trace
