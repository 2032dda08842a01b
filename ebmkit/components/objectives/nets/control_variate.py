"""A term of mean zero that takes scatter out of the noise phase."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod

import torch
from torch import Generator, Tensor, nn

from ebmkit.maths.laplacian import laplacian
from ebmkit.maths.probes import curvature, draw_probes

#: In more dimensions a random direction stands for the trace, whose price grows with them.
EXACT = 16
#: The factor is fitted at every so many steps: to see gradients apart costs two more backward passes.
EVERY = 10
#: How much the latest fit counts.
RATE = 0.1


class SteinControl(nn.Module):
    """`beta E_m[A F]` with Stein's operator of the noise, under which every smooth F has mean zero.

        A F = laplacian F - dF/dx . dE_m/dx,    F = S0(u),    log u = E_m - E
            = S0' (laplacian log u - dlog u/dx . dE_m/dx) + S0'' |dlog u/dx|^2    with slopes in log u

    F depends on the parameters, so that the gradient of A F has mean zero too. `F + beta A F` is to first order what F
    will be on average when the chain has gone on for a time beta. Where chains have not converged to the noise it is
    therefore nearer to it than F, but not F's own mean.

    The factor is that of least scatter, by regression over gradients of two halves of the noise,

        beta = -<dF1 - dF2, dA1 - dA2> / |dA1 - dA2|^2,

    from earlier steps alone: what depends on the samples at hand would give the term a mean.
    """

    covariance: Tensor
    variance: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("covariance", torch.zeros(()))
        self.register_buffer("variance", torch.zeros(()))

    @property
    def beta(self) -> Tensor:
        """The factor; zero before the first fit."""
        fitted = self.variance != 0  # what is no number shows
        return torch.where(fitted, -self.covariance / torch.where(fitted, self.variance, 1.0), 0.0)

    def forward(
        self,
        s0: Callable[[Tensor], Tensor],
        log_u: Tensor,
        x: Tensor,
        model: nn.Module,
        noise: nn.Module,
        step: int,
        rng: Generator,
    ) -> Tensor:
        """The term for noise samples `x`, where the log ratios are `log_u`."""
        beta = self.beta
        steined = stein(s0, log_u, x, model, noise, rng)
        if (step - 1) % EVERY == 0 and len(x) > 1:
            self._fit(s0(log_u), steined, [parameter for parameter in model.parameters() if parameter.requires_grad])
        return beta * steined.mean()

    def _fit(self, plain: Tensor, steined: Tensor, parameters: list[nn.Parameter]) -> None:
        of_plain, of_stein = _difference(plain, parameters), _difference(steined, parameters)
        for known, seen in ((self.covariance, of_plain @ of_stein), (self.variance, of_stein @ of_stein)):
            known.lerp_(seen.to(known.dtype), RATE)


def stein(
    s0: Callable[[Tensor], Tensor], log_u: Tensor, x: Tensor, model: nn.Module, noise: nn.Module, rng: Generator
) -> Tensor:
    """`A F` at each of `x`, differentiable in the parameters of the model."""
    with _still(model):
        if prod(x.shape[1:]) <= EXACT:
            slope, trace = laplacian(model, x)
            slope_m, trace_m = laplacian(noise, x)
        else:
            v = draw_probes("rademacher", x, 1, rng)
            slope, trace = curvature(model, x, v)
            slope_m, trace_m = curvature(noise, x, v)
    slope_m = slope_m.detach().flatten(1)
    slope_u = slope_m - slope.flatten(1)
    of_log_u = trace_m.detach() - trace - (slope_u * slope_m).sum(1)
    (first,) = torch.autograd.grad(s0(log_u).sum(), log_u, create_graph=True)
    # Some S0 are straight in log u, and then their slope does not know that it came from there.
    (second,) = torch.autograd.grad((first + 0 * log_u).sum(), log_u, create_graph=True)
    return first * of_log_u + second * slope_u.square().sum(1)


@contextmanager
def _still(module: nn.Module) -> Iterator[None]:
    """The energy that `log_u` was made of: in training mode one more pass would move spectral norms on."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training


def _difference(values: Tensor, parameters: list[nn.Parameter]) -> Tensor:
    """The gradient of the mean over one half of `values` less that over the other, as one vector."""
    one, two = values.tensor_split(2)
    slopes = torch.autograd.grad(one.mean() - two.mean(), parameters, retain_graph=True, materialize_grads=True)
    return torch.cat([slope.flatten() for slope in slopes])
