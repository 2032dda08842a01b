"""A Markov random field on a grid, as a module."""

from __future__ import annotations

import torch
from torch import Tensor

from ebmkit.components.models.nets.ising import lattice
from ebmkit.components.models.nets.swept_lattice import SweptLattice
from ebmkit.maths.max_flow import minimum_cut


class GridEnergy(SweptLattice):
    """`E(y) = -J sum_<ij> s_i s_j - h sum_i s_i x_i` up to a constant, with `s = slope y + shift` in {-1, 1}."""

    patterns: Tensor
    true_image: Tensor

    def __init__(
        self, truth: Tensor, seen: Tensor, coupling: float, strength: float, values: tuple[float, float]
    ) -> None:
        """The images `(height, width)` have pixels 0 and 1."""
        low, high = values
        slope, shift = 2 / (high - low), -(high + low) / (high - low)
        pairs = lattice(tuple(truth.shape), periodic=False)
        neighbours = torch.bincount(pairs.flatten(), minlength=truth.numel())
        field = slope * (strength * (2 * seen.flatten() - 1) + coupling * shift * neighbours)
        super().__init__(tuple(truth.shape), slope**2 * coupling, field, periodic=False, values=values)
        dtype = torch.get_default_dtype()
        #: The observed image, `(1, height, width)`.
        self.register_buffer("patterns", (low + (high - low) * seen).to(dtype).unsqueeze(0))
        self.register_buffer("true_image", (low + (high - low) * truth).to(dtype))
        self._spins = coupling, strength
        self._pairs = pairs  # stays on the CPU

    @torch.no_grad()
    def ground_state(self) -> Tensor:
        """The most probable image, by a minimum cut in double precision on the CPU.

        With z = (s + 1) / 2 in {0, 1}, `-s_i s_j` is `2 |z_i - z_j|` and `-s_i x_i` is `-2 x_i z_i`, up to constants.
        """
        (coupling, strength), (low, high) = self._spins, self.unit_values
        seen = (2 * self.patterns[0].to("cpu", torch.float64) - low - high) / (high - low)
        capacity = seen.new_full((self._pairs.shape[1],), 2 * coupling)
        ones = minimum_cut(self._pairs, capacity, 2 * strength * seen.flatten())
        return (low + (high - low) * ones.view(self.event)).to(self.patterns)
