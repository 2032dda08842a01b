"""Mass matrices of Hamiltonian dynamics."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Generator, Tensor


class Mass(NamedTuple):
    """M in the kinetic energy `p' M^-1 p / 2`, stored as its inverse V and a root R with `R R' = M`.

    V is one number for all coordinates `()`, one per coordinate `(*event)`, or a matrix for flattened states `(d, d)`.
    The best V is the covariance of the target, for which all directions have the same scale.
    """

    inverse: Tensor
    root: Tensor
    dense: bool = False

    @classmethod
    def diagonal(cls, inverse: Tensor) -> Mass:
        """A diagonal mass matrix, from its inverse."""
        return cls(inverse, inverse.rsqrt())

    @classmethod
    def matrix(cls, mass: Tensor) -> Mass:
        """A dense mass matrix."""
        factor = torch.linalg.cholesky(mass)
        return cls(torch.cholesky_inverse(factor), factor, dense=True)

    def to(self, x: Tensor) -> Mass:
        """This mass on the device and with the dtype of x."""
        return self._replace(inverse=self.inverse.to(x), root=self.root.to(x))

    def momentum(self, x: Tensor, rng: Generator, temperature: float = 1.0) -> Tensor:
        """`p ~ N(0, T M)`, shaped as x."""
        xi = torch.empty_like(x).normal_(0, temperature**0.5, generator=rng)
        return (xi.flatten(1) @ self.root.T).view_as(x) if self.dense else xi.mul_(self.root)

    def velocity(self, p: Tensor) -> Tensor:
        """`M^-1 p`."""
        return (p.flatten(1) @ self.inverse).view_as(p) if self.dense else self.inverse * p

    def kinetic(self, p: Tensor) -> Tensor:
        """`p' M^-1 p / 2` over all axes of a state, `(B,)`.

        A dense matrix uses the root from which momenta are drawn: a rounded inverse would not match their distribution
        if masses differ by seven orders of magnitude. Its effect on velocities is corrected by the acceptance step.
        """
        if self.dense:
            white: Tensor = torch.linalg.solve_triangular(self.root, p.flatten(1).T, upper=False)
            return white.square().sum(0).div_(2)
        return self.velocity(p).mul_(p).flatten(1).sum(1).div_(2)
