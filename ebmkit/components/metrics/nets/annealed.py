"""The geometric path from a base distribution to a model, as modules."""

from __future__ import annotations

from math import prod
from typing import NamedTuple, cast

import torch
from torch import Generator, Tensor, nn

from ebmkit.chains.energy import Energy
from ebmkit.components.metrics.nets.bases import BernoulliBase, CategoricalBase, GaussianBase
from ebmkit.contracts.abilities import Blocks, Conditionals, Hidden
from ebmkit.contracts.ability import missing_members
from ebmkit.maths.categories import draw_categories
from ebmkit.maths.two_valued import draw_values


class Parts(NamedTuple):
    """Energies `(B,)` of base and model at some states, and their gradients if these were asked for."""

    base: Tensor
    model: Tensor
    base_gradient: Tensor | None = None
    model_gradient: Tensor | None = None


class AnnealedEnergy(nn.Module):
    """`E_beta(x) = (1 - beta) E_base(x) + beta E(x)`, at one beta for all chains.

    The parts at the last states are kept: the weights of annealed importance sampling and the first step of a sampler
    at the next beta take the same ones.
    """

    def __init__(self, base: GaussianBase | BernoulliBase | CategoricalBase, model: nn.Module) -> None:
        super().__init__()
        self.base, self.model = base, model
        self.energy = getattr(model, "energy_class", Energy)(model)  # compiled if chains are
        self.beta: Tensor | float = 1.0
        self._last: tuple[Tensor, int, Parts] | None = None

    def parts(self, x: Tensor, *, gradient: bool = False) -> Parts:
        """Base and model at these states, without a graph."""
        if self._last is not None:
            at, version, kept = self._last
            if at is x and version == x._version and (kept.model_gradient is not None or not gradient):
                return kept
        with torch.no_grad():
            if gradient:
                base, base_gradient = self.base.energy_and_grad(x)
                parts = Parts(base, *self._with_gradient(x, base_gradient))
            else:
                parts = Parts(self.base(x), self.energy(x))
        self._last = x, x._version, parts
        return parts

    def _with_gradient(self, x: Tensor, base_gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        energy, gradient = self.energy.value_and_grad(x)
        return energy, base_gradient, gradient

    def tilt(self, x: Tensor, *, gradient: bool = False) -> Tensor:
        """`E_base - E`, `(B,)`: minus the derivative of `E_beta` in beta."""
        parts = self.parts(x, gradient=gradient)
        return parts.base - parts.model

    def increment(self, x: Tensor, before: Tensor, now: Tensor, *, gradient: bool = False) -> Tensor:
        """The log weight `E_before - E_now` of states, `(B,)`."""
        return (now - before) * self.tilt(x, gradient=gradient)

    def forward(self, x: Tensor) -> Tensor:
        parts = self.parts(x)
        return (1 - self.beta) * parts.base + self.beta * parts.model

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """`E_beta` and its gradient, using the `energy_and_grad` of the model if it has one."""
        base, model, base_gradient, model_gradient = self.parts(x, gradient=True)
        assert base_gradient is not None
        assert model_gradient is not None
        energy = (1 - self.beta) * base + self.beta * model
        return energy, (1 - self.beta) * base_gradient + self.beta * model_gradient


class AnnealedUnits(AnnealedEnergy):
    """The same path on discrete units, each of which can be drawn given all others.

    Log odds are energy differences, so those of `E_beta` are those of base and model in the same proportion. The model
    gives its own if it has the ability `conditionals`; otherwise they are an energy for every value of a unit.
    """

    def __init__(self, base: BernoulliBase | CategoricalBase, model: nn.Module) -> None:
        super().__init__(base, model)
        self.independent = base
        self.unit_values = base.unit_values
        self.units = prod(base.event)
        self.has_categories = isinstance(base, CategoricalBase)
        self._conditionals = None if missing_members(model, Conditionals) else cast("Conditionals", model)
        # Blocks of a model with hidden units contain these, but the path is one of visible units.
        has_blocks = not missing_members(model, Blocks) and bool(missing_members(model, Hidden))
        self._blocks = cast("Blocks", model) if has_blocks else None

    def log_odds(self, x: Tensor, sites: Tensor) -> Tensor:
        """The log odds of the units `sites (S,)` given all others, as those of `Conditionals`."""
        with torch.no_grad():
            model = self._conditionals.log_odds(x, sites) if self._conditionals else self._differences(x, sites)
            return (1 - self.beta) * self.independent.log_odds(x, sites) + self.beta * model

    def _differences(self, x: Tensor, sites: Tensor) -> Tensor:
        """Energies at the lower value minus energies at the higher one, or minus the energy at each category, one unit
        after another."""
        found = []
        for site in torch.split(sites, 1):
            each = []
            for value in self.unit_values:
                units = x.flatten(1).clone()
                units.index_fill_(1, site, value)
                each.append(units)
            energies = self.energy(torch.cat(each).view(-1, *x.shape[1:])).view(len(each), -1)
            found.append(-energies.T if self.has_categories else energies[0] - energies[1])
        return torch.stack(found, 1)

    def blocks(self) -> list[Tensor]:
        """Units that are independent given all others under the model, and so on the whole path; else one at a time."""
        if self._blocks:
            return self._blocks.blocks()
        return list(torch.split(torch.arange(self.units, device=next(self.independent.buffers()).device), 1))

    def draw_units(self, units: Tensor, sites: Tensor, temperature: Tensor | float, rng: Generator) -> Tensor:
        """New values `(B, K)` of units of flat states, given all others."""
        log_odds = self.log_odds(units.view(-1, *self.independent.event), sites)
        if self.has_categories:
            heat = temperature.unsqueeze(-1) if isinstance(temperature, Tensor) else temperature
            return draw_categories(log_odds / heat, rng).to(units.dtype)
        low, high = self.unit_values
        return draw_values(log_odds / temperature, (low, high), rng).to(units.dtype)


class Whitened(nn.Module):
    """A model of `y` with `x = mean + L y`: `E(x(y)) - log |L|`, which has the same normaliser."""

    mean: Tensor
    factor: Tensor

    def __init__(self, model: nn.Module, mean: Tensor, factor: Tensor, like: Tensor) -> None:
        """`factor` is L, a lower triangular matrix `(d, d)` or its diagonal `(d,)`; both may be in float64."""
        super().__init__()
        self.model = model
        self.energy = getattr(model, "energy_class", Energy)(model)
        diagonal = factor if factor.dim() == 1 else factor.diagonal()
        self.log_volume = float(diagonal.log().sum())
        self.register_buffer("mean", mean.to(like.device, like.dtype))
        self.register_buffer("factor", factor.to(like.device, like.dtype))

    def out_of(self, y: Tensor) -> Tensor:
        """x of y."""
        flat = y.flatten(1)
        moved = flat * self.factor if self.factor.dim() == 1 else flat @ self.factor.T
        return (self.mean + moved).view_as(y)

    def into(self, x: Tensor) -> Tensor:
        """y of x."""
        flat = x.flatten(1) - self.mean
        if self.factor.dim() == 1:
            return (flat / self.factor).view_as(x)
        whitened: Tensor = torch.linalg.solve_triangular(self.factor, flat.T, upper=False).T
        return whitened.reshape(x.shape)

    def forward(self, y: Tensor) -> Tensor:
        energy: Tensor = self.model(self.out_of(y))
        return energy - self.log_volume

    def energy_and_grad(self, y: Tensor) -> tuple[Tensor, Tensor]:
        """`E` and `dE/dy`, using the `energy_and_grad` of the model if it has one."""
        energy, gradient = self.energy.value_and_grad(self.out_of(y))
        flat = gradient.flatten(1)
        pulled = flat * self.factor if self.factor.dim() == 1 else flat @ self.factor
        return energy - self.log_volume, pulled.view_as(y)
