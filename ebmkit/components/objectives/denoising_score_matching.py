"""Denoising score matching."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Gt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Loss, Objective, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import ObjectiveTraits

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.contracts.context import Context


@component("denoising_score_matching")
class DenoisingScoreMatching(Objective):
    """Denoising score matching: regress the model's score at noisy points on the direction to the clean points.

        L = 1/2 E |s(x + sigma xi) + xi / sigma|^2,    s = -dE/dx,    xi ~ N(0, I)

    The optimum is the data distribution convolved with N(0, sigma^2 I); no sampling or second derivative is needed.

    Parameters:
        sigma: standard deviation of the noise. Details of the data that are smaller are blurred; less noise tells less
            about the weights of modes that are further apart. The default suits data with standard deviation 1.

    Reference: Vincent, "A connection between score matching and denoising autoencoders", Neural Computation 23, 2011.

    Example: objective: {use: denoising_score_matching, sigma: 0.1}
    """

    local: ClassVar[bool] = True
    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})
    needs: ClassVar[frozenset[str]] = frozenset({"energy", "gradient"})

    sigma: Annotated[float, Gt(0)] = 0.15

    def traits(self) -> ObjectiveTraits:
        return super().traits()._replace(evaluations=2.5)

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        xi = torch.empty_like(batch).normal_(generator=context.rng)
        noisy = batch.add(xi, alpha=self.sigma).requires_grad_()
        (gradient,) = torch.autograd.grad(model(noisy).sum(), noisy, create_graph=True)
        off = (gradient - xi / self.sigma).flatten(1)
        return Loss(off.square().sum(1).mean() / 2, {})
