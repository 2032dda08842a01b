"""The two-dimensional one-component plasma."""

from __future__ import annotations

from math import lgamma, log, pi
from typing import TYPE_CHECKING, Annotated, ClassVar

from ebmkit.api import Data, Dataset, Event, Ge, Split, component, torch

if TYPE_CHECKING:
    from torch import Generator, Tensor


@component("plasma")
class Plasma(Data):
    """Two-dimensional plasma: charges that repel each other in a trap, drawn exactly, with a known density.

        p(x_1, ..., x_n) = exp(-sum_i |x_i|^2) prod_{i<j} |x_i - x_j|^2 / (pi^n prod_{k=1}^n k!)

    The energy of every pair is -2 log |x_i - x_j|, the potential of two charges in the plane. At this temperature the
    positions are distributed as the eigenvalues of a matrix of independent complex Gaussians, which are computed and
    listed in random order. A point has the shape (n, 2); the mean of sum_i |x_i|^2 is n (n + 1) / 2.

    Parameters:
        particles: n, the number of charges.
        size: number of training points.
        test_size: number of held-out points.

    Reference: Ginibre, "Statistical ensembles of complex, quaternion, and real matrices", J. Math. Phys. 6, 1965.

    Example: data: {use: graph.plasma, particles: 6}
    """

    known: ClassVar[bool] = True
    unit_scale: ClassVar[bool] = True

    particles: Annotated[int, Ge(1)] = 6
    size: Annotated[int, Ge(1)] = 10_000
    test_size: Annotated[int, Ge(1)] = 10_000

    def event(self) -> Event:
        return (self.particles, 2)

    def point_count(self, split: Split) -> int:
        return self.size if split == "train" else self.test_size

    def load(self, split: Split, rng: Generator) -> Dataset:
        n, points = self.particles, self.point_count(split)
        # Real and imaginary parts have a variance of 1/2 each.
        parts = torch.empty(points, n, n, 2, device="cpu", dtype=torch.float64).normal_(0, 0.5**0.5, generator=rng)
        x = torch.view_as_real(torch.linalg.eigvals(torch.view_as_complex(parts)))
        # Eigenvalues come in an order of the algorithm's own.
        order = torch.empty(points, n, device="cpu", dtype=torch.float64).uniform_(generator=rng).argsort(1)
        x = x.gather(1, order.unsqueeze(2).expand_as(x))
        return Dataset(x.to(torch.get_default_dtype()))

    def log_prob(self, x: Tensor) -> Tensor:
        n, x = self.particles, x.double()
        first, second = torch.triu_indices(n, n, 1, device=x.device)
        repulsion = (x[:, first] - x[:, second]).square().sum(2).log().sum(1)
        log_z = n * log(pi) + sum(lgamma(k + 1) for k in range(1, n + 1))
        return repulsion - x.square().sum((1, 2)) - log_z
