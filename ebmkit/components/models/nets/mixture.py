"""A mixture of models as a module."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Generator, Tensor, nn

from ebmkit.chains.energy import Energy


class MixtureEnergy(nn.Module):
    """`E(x) = -logsumexp_k(log w_k - E_k(x) - log Z_k)`, without the last term unless `normalised`."""

    components: Any  # a list of modules, whose `log_z` and `sample_exact` are called if offered

    def __init__(self, components: Iterable[nn.Module], weights: Sequence[float], normalised: bool) -> None:
        super().__init__()
        self.components = nn.ModuleList(components)
        shares = torch.tensor(weights, dtype=torch.float64)
        self.log_weights = nn.Parameter((shares / shares.sum()).log().to(torch.get_default_dtype()))
        self.normalised = normalised

    def forward(self, x: Tensor) -> Tensor:
        return -self._log_heights([part(x) for part in self.components]).logsumexp(0)

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """`E` and `dE/dx = sum_k r_k dE_k/dx`, where r are the responsibilities."""
        energies, gradients = zip(*[Energy(part).value_and_grad(x) for part in self.components], strict=True)
        heights = self._log_heights(energies)
        responsibilities = heights.softmax(0).view(*heights.shape, *[1] * (x.dim() - 1))
        return -heights.logsumexp(0), (responsibilities * torch.stack(gradients)).sum(0)

    def log_z(self) -> Tensor:
        """`log sum_k w_k`, differentiable: zero until training changes the weights. For normalised components only."""
        return self.log_weights.logsumexp(0)

    @torch.no_grad()
    def sample_exact(self, n: int, rng: Generator) -> Tensor:
        """Choose a component and draw from it. For normalised components only.

        Each component draws n states before the choice is applied: no shape depends on it, so the host never waits.
        """
        k = torch.multinomial(self.log_weights.softmax(0), n, replacement=True, generator=rng)
        draws = torch.stack([part.sample_exact(n, rng) for part in self.components])
        return draws[k, torch.arange(n, device=k.device)]

    def _log_heights(self, energies: Sequence[Tensor]) -> Tensor:
        """The terms of the sum over components, `(K, B)`."""
        levels: Tensor = self.log_weights
        if self.normalised:
            levels = levels - torch.stack([part.log_z() for part in self.components])
        return levels.unsqueeze(1) - torch.stack(list(energies))
