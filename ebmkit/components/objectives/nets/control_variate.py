"""A control variate of the noise phase."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod

import torch
from torch import Generator, Tensor, nn

from ebmkit.maths.laplacian import laplacian
from ebmkit.maths.probes import curvature, draw_probes

#: In higher dimensions a random probe estimates the trace, whose cost grows with the dimension.
EXACT = 16
#: Number of steps between two fits of the factor: separate gradients cost two more backward passes.
EVERY = 10
#: Weight of the latest fit.
RATE = 0.1


class SteinControl(nn.Module):
    """`beta E_m[A F]` with Stein's operator of the noise, under which every smooth F has mean zero.

        A F = laplacian F - dF/dx . dE_m/dx,    F = S0(u),    log u = E_m - E
            = S0' (laplacian log u - dlog u/dx . dE_m/dx) + S0'' |dlog u/dx|^2    with slopes in log u

    F depends on the parameters, so the gradient of A F has mean zero too. To first order, `F + beta A F` is the
    expected value of F after running the chain for a further time beta. If chains have not converged to the noise, it
    is therefore closer to the mean under the noise than F, but does not have the mean of F.

    The factor minimises the variance, by regression over gradients of two halves of the noise,

        beta = -<dF1 - dF2, dA1 - dA2> / |dA1 - dA2|^2,

    from earlier steps only: a factor that depends on the current samples would give the term a nonzero mean.
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
        fitted = self.variance != 0  # nan is passed on
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
        """The control variate for noise samples `x` with log ratios `log_u`."""
        beta = self.beta
        terms = stein(s0, log_u, x, model, noise, rng)
        if (step - 1) % EVERY == 0 and len(x) > 1:
            self._fit(s0(log_u), terms, [parameter for parameter in model.parameters() if parameter.requires_grad])
        return beta * terms.mean()

    def _fit(self, plain: Tensor, terms: Tensor, parameters: list[nn.Parameter]) -> None:
        of_plain, of_stein = _difference(plain, parameters), _difference(terms, parameters)
        for known, seen in ((self.covariance, of_plain @ of_stein), (self.variance, of_stein @ of_stein)):
            known.lerp_(seen.to(known.dtype), RATE)


def stein(
    s0: Callable[[Tensor], Tensor], log_u: Tensor, x: Tensor, model: nn.Module, noise: nn.Module, rng: Generator
) -> Tensor:
    """`A F` at each `x`, differentiable in the parameters of the model."""
    with _in_eval_mode(model):
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
    # Some S0 are linear in log u; their slope then has no graph that leads back to it.
    (second,) = torch.autograd.grad((first + 0 * log_u).sum(), log_u, create_graph=True)
    return first * of_log_u + second * slope_u.square().sum(1)


@contextmanager
def _in_eval_mode(module: nn.Module) -> Iterator[None]:
    """Evaluate the same energy as in `log_u`: in training mode another pass would update spectral norms."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training


def _difference(values: Tensor, parameters: list[nn.Parameter]) -> Tensor:
    """The gradient of the mean of the first half of `values` minus that of the second, as one vector."""
    one, two = values.tensor_split(2)
    slopes = torch.autograd.grad(one.mean() - two.mean(), parameters, retain_graph=True, materialize_grads=True)
    return torch.cat([slope.flatten() for slope in slopes])
