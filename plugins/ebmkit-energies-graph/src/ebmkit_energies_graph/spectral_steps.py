"""Steps of equal singular values as a torch optimizer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter


class SpectralSteps(torch.optim.Optimizer):
    """Updates matrices by the polar factor of the mean gradient, and everything else by its sign."""

    def __init__(self, parameters: Iterable[Parameter], lr: float, momentum: float) -> None:
        super().__init__(parameters, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        if closure is not None:
            raise ValueError("a step takes one gradient, and no closure")
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    mean = self._mean(parameter, group["momentum"])
                    parameter.sub_(group["lr"] * steepest(mean))

    def _mean(self, parameter: Parameter, momentum: float) -> Tensor:
        """The running mean of gradients, without which the first step would not differ: only directions count."""
        state = self.state[parameter]
        if "mean" not in state:
            state["mean"] = torch.zeros_like(parameter)
        mean: Tensor = state["mean"].mul_(momentum).add_(parameter.grad, alpha=1 - momentum)
        return mean


def steepest(gradient: Tensor) -> Tensor:
    """The step of norm one that follows a gradient farthest: of the spectral norm for matrices, of the largest entry
    for vectors. Directions without gradient stay."""
    if gradient.dim() < 2:
        return gradient.sign()
    u, s, vh = torch.linalg.svd(gradient, full_matrices=False)
    smallest = s[..., :1] * max(gradient.shape[-2:]) * torch.finfo(s.dtype).eps
    step: Tensor = (u * (s > smallest).to(s.dtype).unsqueeze(-2)) @ vh
    return step
