"""De Bruijn's identity for two models under growing noise."""

from __future__ import annotations

import copy
from math import prod, sqrt
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from annotated_types import Gt

from ebmkit.components.metrics.known_model import build_target, check_target, other_shape
from ebmkit.components.models.gaussian_mixture import GaussianMixture
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric, Model, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question
from ebmkit.contracts.unmeasurable import Unmeasurable
from ebmkit.maths.quadrature import blockwise, rule

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.contracts.view import View

#: Half of the time difference used for the slope, as a fraction of the time.
SHARE = 1e-3
#: Draws of the noised models that locate their mass.
SCOUTS = 2_000
#: Error of the normalisers: slopes are small differences.
TOLERANCE = 1e-9


@component("heat_flow")
class HeatFlow(Metric):
    """Fisher divergence as the rate at which noise lowers the Kullback-Leibler divergence of model and target.

        d/dt KL(p_t || q_t) = -1/2 E_{p_t} |d log p_t/dx - d log q_t/dx|^2,    p_t = p * N(0, t I),  q_t = q * N(0, t I)

    p is the target and q the model of the run. `kl_slope` is the left side, by central differences of integrals on a
    grid, `half_fisher` the right side without its sign, and `heat_flow_ratio` = -kl_slope / half_fisher is one. The
    document has a factor of 2 with a Fisher divergence that it halves elsewhere; the 1/2 here belongs to the whole
    expectation.

    Results:
        kl_slope: rate at which noise reduces the Kullback-Leibler divergence, negative.
        half_fisher: half the expected squared difference of the two scores.
        heat_flow_ratio: -kl_slope / half_fisher, which is 1 in theory.

    Parameters:
        target: p, a model with noised marginals and exact draws whose parameters fix the shape of a state, different
            from the model of the run.
        time: t, the variance of the noise.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Lyu, "Interpretation and generalization of score matching", UAI 2009.

    Example: evaluate: [{use: heat_flow, target: {use: gaussian, mean: [0.5, 0.0]}, time: 0.5}]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})
    needs: ClassVar[frozenset[str]] = frozenset({"energy", "gradient", "noised", "sample_exact"})

    target: Model = GaussianMixture()
    time: Annotated[float, Gt(0)] = 0.5

    def __post_init__(self) -> None:
        check_target(self.target, "energy", "gradient", "noised", "sample_exact")

    def refusal(self, question: Question) -> str | None:
        event = question.event
        if prod(event) > 2:
            return f"integrates over one or two coordinates, but a state has {prod(event)}"
        if question.model == self.target and question.objective is None:
            return "compares the model with a target, but they are equal: use another target"
        return other_shape(self.target, event)

    def results(self) -> tuple[str, ...]:
        return ("kl_slope", "half_fisher", "heat_flow_ratio")

    def measure(self, view: View) -> dict[str, float]:
        from ebmkit.chains.energy import frozen

        # On the CPU, because some devices lack float64.
        like = torch.empty(0, device="cpu", dtype=torch.float64)
        p: Any = build_target(self.target, like)
        q: Any = copy.deepcopy(view.module).to(like.device, like.dtype)
        rng = torch.Generator().manual_seed(0)  # the location of the mass must not depend on the seed
        scouts = torch.cat([module.sample_exact(SCOUTS, rng).flatten(1) for module in (p, q)])
        step = SHARE * self.time

        def noised(module: Any, time: float) -> nn.Module:
            return module.noised(sqrt(time))  # type: ignore[no-any-return]

        def divergence(time: float) -> float:
            with frozen(noised(p, time)) as one, frozen(noised(q, time)) as other:
                of = rule(lambda x: one(x.view(-1, *view.event)), scouts, TOLERANCE)
                to = rule(lambda x: other(x.view(-1, *view.event)), scouts, TOLERANCE)
                energies = blockwise(lambda x: other(x.view(-1, *view.event)), of.x)
                return of.mean(of.log_p.flatten() - of.integral.log_z + energies + to.integral.log_z)

        def fisher(time: float) -> float:
            with frozen(noised(p, time)) as one, frozen(noised(q, time)) as other:
                of = rule(lambda x: one(x.view(-1, *view.event)), scouts, TOLERANCE)

                def squared_difference(x: Tensor) -> Tensor:
                    states = x.view(-1, *view.event)
                    difference = one.value_and_grad(states)[1] - other.value_and_grad(states)[1]
                    return difference.flatten(1).square().sum(1)

                return of.mean(blockwise(squared_difference, of.x))

        slope = (divergence(self.time + step) - divergence(self.time - step)) / (2 * step)
        half = fisher(self.time) / 2
        if half == 0:
            raise Unmeasurable("the target equals the model of the run, so that the ratio is 0 / 0: use another target")
        return {"kl_slope": slope, "half_fisher": half, "heat_flow_ratio": -slope / half}
