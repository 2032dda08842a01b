"""Spectral normalisation: a layer whose weight has a largest singular value of one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812, the usual name

#: Power iterations at construction, so that a layer that is never trained is also normalised.
WARM_UP = 30


class SpectralNorm(nn.Module):
    """A layer with its weight W divided by `sigma`, an estimate of W's largest singular value.

        N times:  v = W'u / |W'u|,   u = W v / |W v|;    then  sigma = u'W v

    Each pass in training mode makes N power iterations, starting from the last ones: u and v are buffers, and so part
    of a checkpoint. In eval mode they do not change, so an energy is fixed while a chain runs. For the gradient they
    are constants: d sigma / dW = u v'.

    The weight of a convolution is its kernel, reshaped to (out, in * height * width). The largest singular value of
    that matrix is not the norm of the convolution, but bounds it: each pixel lies in at most ceil(kernel / stride)^2
    windows, so the norm is at most ceil(kernel / stride) times that value.
    """

    u: Tensor
    v: Tensor

    def __init__(self, layer: nn.Conv2d | nn.Linear, power_iterations: int) -> None:
        super().__init__()
        self.layer = layer
        self.power_iterations = power_iterations
        self._baked: Tensor | None = None
        matrix = layer.weight.detach().flatten(1)
        self.register_buffer("u", torch.randn_like(matrix[:, 0]))
        self.register_buffer("v", torch.empty_like(matrix[0]))
        self._iterate(WARM_UP)

    def forward(self, x: Tensor) -> Tensor:
        layer, weight = self.layer, self.weight
        if isinstance(layer, nn.Conv2d):
            return F.conv2d(x, weight, layer.bias, layer.stride, layer.padding, layer.dilation, layer.groups)
        return F.linear(x, weight, layer.bias)

    @property
    def weight(self) -> Tensor:
        """The weight used by the layer."""
        return self.normalised_weight() if self._baked is None else self._baked

    @property
    def bias(self) -> Tensor | None:
        """The bias of the layer, unchanged."""
        return self.layer.bias

    def normalised_weight(self) -> Tensor:
        """W / sigma."""
        if self.training:
            self._iterate(self.power_iterations)
        # Copies, because the backward pass of this call may come after the power iterations of the next.
        u, v = self.u.clone(), self.v.clone()
        return self.layer.weight / (u @ (self.layer.weight.flatten(1) @ v))

    @contextmanager
    def baked(self) -> Iterator[None]:
        """Normalise once for all passes within the context, in which the weight must not change.

        Kernels are stored with channels last, for which convolutions are faster.
        """
        before = self._baked
        with torch.no_grad():
            baked = self.normalised_weight()
            self._baked = baked.to(memory_format=torch.channels_last) if baked.dim() == 4 else baked
        try:
            yield
        finally:
            self._baked = before

    @torch.no_grad()
    def _iterate(self, times: int) -> None:
        matrix, u, v = self.layer.weight.flatten(1), self.u, self.v
        for _ in range(times):
            v = _unit(matrix.T @ u)
            u = _unit(matrix @ v)
        self.u.copy_(u)  # in place: averages and checkpoints hold references to these tensors
        self.v.copy_(v)


def normalised(layer: nn.Conv2d | nn.Linear, power_iterations: int | None) -> nn.Module:
    """The layer with spectral normalisation; unchanged if `power_iterations` is None."""
    return SpectralNorm(layer, power_iterations) if power_iterations else layer


def _unit(x: Tensor) -> Tensor:
    length: Tensor = torch.linalg.vector_norm(x)
    return x / length
