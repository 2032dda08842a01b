"""Stein variational gradient descent."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

from ebmkit.api import Ge, Gt, Sampler, SamplerTraits, StepInfo, component, torch

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.api import Energy

#: Pairs of particles whose distances are in memory at once, and particles of which the median distance is taken.
PAIRS, MEDIAN_OF = 1 << 24, 1_000


class Particles(NamedTuple):
    """The positions of the particles."""

    x: Tensor


@component("svgd")
class SVGD(Sampler):
    """Stein variational gradient descent: particles that descend the energy together and repel each other.

        phi_i = 1/n sum_j [-k(x_j, x_i) dE(x_j) / T + d/dx_j k(x_j, x_i)],    k(x, y) = exp(-|x - y|^2 / h)
        x_i' = x_i + step_size phi_i

    All chains of a call are one set of n particles, so they are no independent samples, and there are no long chains,
    no R-hat and no ESS of them. Nothing is random but the start. Particles are spread over the target more evenly than
    independent draws, which suits integrals of smooth functions; but their distribution is that of the target only for
    n -> inf: a single particle goes to the nearest mode, and few particles in many dimensions have too small a
    variance, a third with 50 particles in 10 dimensions. Costs grow with n^2.

    Parameters:
        steps: number of steps.
        step_size: length of a step per unit of phi.
        bandwidth: h; without it m^2 / log(n + 1), where m is the median distance of two particles.
        temperature: T.

    Reference: Liu and Wang, "Stein variational gradient descent: a general purpose Bayesian inference algorithm",
    NeurIPS 2016, arXiv:1608.04471; for the variance Ba et al., ICLR 2022.

    Example: sampler: {use: samplers_extra.svgd, steps: 500, step_size: 0.2}
    """

    traces: ClassVar[frozenset[str]] = frozenset({"energy", "gradient_norm"})

    steps: Annotated[int, Ge(1)] = 500
    step_size: Annotated[float, Gt(0)] = 0.2
    bandwidth: Annotated[float, Gt(0)] | None = None
    temperature: Annotated[float, Gt(0)] = 1.0

    def traits(self) -> SamplerTraits:
        return super().traits()._replace(temperature=self.temperature, interacting=True)

    def init(self, energy: Energy, x: Tensor, rng: Generator) -> Particles:
        return Particles(x)

    def step(self, energy: Energy, state: Particles, rng: Generator) -> tuple[Particles, StepInfo]:
        height, gradient = energy.value_and_grad(state.x)
        x, force = state.x.flatten(1), gradient.flatten(1) / -self.temperature
        h = self._bandwidth(x)
        rows = max(1, PAIRS // len(x))
        phi = torch.cat([_direction(some, x, force, h) for some in x.split(rows)])
        return Particles(state.x + self.step_size * phi.view_as(state.x)), StepInfo(height, gradient)

    def _bandwidth(self, x: Tensor) -> Tensor:
        if self.bandwidth is not None or len(x) == 1:
            return x.new_full((), self.bandwidth or 1.0)
        # Particles in one place have no distance; any positive number then gives k = 1 and no repulsion.
        smallest = torch.finfo(x.dtype).eps
        return (torch.pdist(x[:MEDIAN_OF]).median().square() / log(len(x) + 1)).clamp(min=smallest)


def _direction(some: Tensor, x: Tensor, force: Tensor, h: Tensor) -> Tensor:
    """phi at some of the particles. The gradient of k in x_j is 2/h (x_i - x_j) k."""
    # Exact for close pairs, where the difference of products would cancel.
    distance = torch.cdist(some, x, compute_mode="donot_use_mm_for_euclid_dist")
    k = torch.exp(-distance.square() / h)
    repulsion = 2 / h * (some * k.sum(1, keepdim=True) - k @ x)
    return (k @ force + repulsion) / len(x)
