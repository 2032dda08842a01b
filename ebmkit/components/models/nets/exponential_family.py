"""The exponential family as a module, and its parameters in closed form by score matching."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from math import prod
from typing import cast

import torch
from torch import Tensor, nn

from ebmkit.contracts.abilities import Statistics
from ebmkit.contracts.modules.live import LiveModule
from ebmkit.contracts.setting import Setting

#: Number of data points whose statistics are computed at a time.
BLOCK = 1 << 12

#: Statistics that are powers of single coordinates.
POWERS = {"linear": 1, "squares": 2, "cubic": 3, "quartic": 4}

Powers = Sequence[tuple[int, Tensor]]


class ExponentialFamilyEnergy(nn.Module):
    """`E(x) = -theta . T(x)`, where T is a list of monomials: products of `factors` with exponents.

    Every statistic is `x_i^a x_j^b`. For powers of one coordinate, j = i and b = 0.
    """

    first: Tensor
    second: Tensor
    powers: Tensor
    corner: Tensor  # where the products of two coordinates are in a flat matrix

    def __init__(self, event: tuple[int, ...], names: Sequence[str]) -> None:
        super().__init__()
        d = prod(event)
        # (i, j, a, b) and theta, for a standard normal if the statistics can represent one
        rows: list[tuple[int, int, int, int]] = []
        theta: list[float] = []
        quadratic = "squares" in names or "quadratic" in names
        self.names, self.dimension = tuple(names), d
        self.sizes = [d if name in POWERS else d * (d + 1) // 2 for name in names]
        for name in names:
            if name == "quadratic":
                pairs = [(i, j) for i in range(d) for j in range(i, d)]
                rows += [(i, j, 1, 1) if i != j else (i, i, 2, 0) for i, j in pairs]
                theta += [-0.5 if i == j else 0.0 for i, j in pairs]
            else:
                power = POWERS[name]
                rows += [(i, i, power, 0) for i in range(d)]
                start = {2: -0.5, 4: 0.0 if quadratic else -0.25}.get(power, 0.0)
                theta += [start] * d
        i, j, a, b = torch.tensor(rows).unbind(1)
        self.theta = nn.Parameter(torch.tensor(theta, dtype=torch.get_default_dtype()))
        # Derived from the parameters of the model, so not part of its state.
        self.register_buffer("first", i.contiguous(), persistent=False)
        self.register_buffer("second", j.contiguous(), persistent=False)
        i, j = torch.triu_indices(d, d) if "quadratic" in names else torch.empty(2, 0, dtype=torch.long)
        self.register_buffer("corner", i * d + j, persistent=False)
        self.register_buffer("powers", torch.stack([a, b]), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return self._energy(x.flatten(1), *self._coefficients())

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """`E` and `dE/dx`."""
        flat, (powers, upper) = x.flatten(1), self._coefficients()
        return self._energy(flat, powers, upper), self._slope(flat, powers, upper).view_as(x)

    def laplacian(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """`E`, `dE/dx` and the trace of the Hessian, without a graph of all its columns."""
        flat, (powers, upper) = x.flatten(1), self._coefficients()
        parts = [power * (power - 1) * flat.pow(max(0, power - 2)) @ theta for power, theta in powers]
        trace = -torch.stack([*parts, (2 * upper.diagonal().sum()).expand(len(x))]).sum(0)
        return self._energy(flat, powers, upper), self._slope(flat, powers, upper).view_as(x), trace

    def _coefficients(self) -> tuple[Powers, Tensor]:
        """The powers of single coordinates with their parameters `(d,)`, and the matrix U of the products of two, which
        is triangular: their sum is `x'Ux`."""
        d = self.dimension
        powers, upper = [], self.theta.new_zeros(d * d)
        for name, theta in zip(self.names, torch.split(self.theta, self.sizes), strict=True):
            if name in POWERS:
                powers.append((POWERS[name], theta))
            else:
                upper = upper.index_copy(0, self.corner, theta)
        return powers, upper.view(d, d)

    def _energy(self, flat: Tensor, powers: Powers, upper: Tensor) -> Tensor:
        parts = [flat.pow(power) @ theta for power, theta in powers]
        return -torch.stack([*parts, (flat @ upper * flat).sum(1)]).sum(0)

    def _slope(self, flat: Tensor, powers: Powers, upper: Tensor) -> Tensor:
        parts = [power * flat.pow(power - 1) * theta for power, theta in powers]
        return -torch.stack([*parts, flat @ upper, flat @ upper.T]).sum(0)

    def statistics(self, x: Tensor) -> Tensor:
        """T, `(B, *event) -> (B, K)`."""
        one, other, a, b = self._factors(x)
        return one.pow(a) * other.pow(b)

    def statistic_gradients(self, x: Tensor) -> Tensor:
        """dT/dx, `(B, *event) -> (B, K, d)`."""
        one, other, a, b = self._factors(x)
        along_one = _slope(one, a) * other.pow(b)
        along_other = one.pow(a) * _slope(other, b)
        d = x.flatten(1).shape[1]
        units = torch.eye(d, device=x.device, dtype=x.dtype)
        return along_one.unsqueeze(2) * units[self.first] + along_other.unsqueeze(2) * units[self.second]

    def statistic_laplacians(self, x: Tensor) -> Tensor:
        """The sum over coordinates of d2T/dx2, `(B, *event) -> (B, K)`. Two different factors have exponent 1."""
        one, _, a, b = self._factors(x)
        return torch.where(b == 0, a * (a - 1) * one.pow((a - 2).clamp(min=0)), 0.0)

    def _factors(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        flat = x.flatten(1)
        a, b = self.powers
        return flat.index_select(1, self.first), flat.index_select(1, self.second), a, b


def _slope(x: Tensor, power: Tensor) -> Tensor:
    """d/dx of x^power, which is zero for a power of zero."""
    return power * x.pow((power - 1).clamp(min=0))


class ClosedForm(LiveModule):
    """The parameters that minimise the score matching loss on all data, and the matrix A of the normal equations."""

    optimum: Tensor
    curvature: Tensor

    def __init__(self, data: Tensor) -> None:
        super().__init__()
        self._data: Tensor | None = data

    @torch.no_grad()
    def prepare(self, setting: Setting) -> None:
        """Solve `A theta = -b` in float64, where `A = E[dT dT']` and `b = E[lap T]`."""
        assert self._data is not None
        module = cast("Statistics", copy.deepcopy(setting.model).to("cpu", torch.float64))
        count = len(module.theta)
        a, b = torch.zeros(count, count, dtype=torch.float64), torch.zeros(count, dtype=torch.float64)
        for block in torch.split(self._data, BLOCK):
            x = block.to("cpu", torch.float64)
            slopes = module.statistic_gradients(x)
            a += torch.einsum("nki,nli->kl", slopes, slopes)
            b += module.statistic_laplacians(x).sum(0)
        if int(torch.linalg.matrix_rank(a, hermitian=True)) < count:
            raise ValueError("the gradients of the statistics are linearly dependent on the data: leave some out")
        dtype = setting.model.get_parameter("theta").dtype
        self.register_buffer("optimum", torch.linalg.solve(a, -b).to(dtype))
        self.register_buffer("curvature", (a / len(self._data)).to(dtype))
        self._data = None
