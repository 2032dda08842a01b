"""Flow contrastive estimation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, cast

from annotated_types import Gt

from ebmkit.components.noise.flow import FlowNoise
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Loss, Noise, Objective, Space
from ebmkit.contracts.traits import ObjectiveTraits

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.components.objectives.nets.contrastive_contest import ContrastiveContest
    from ebmkit.contracts.context import Context
    from ebmkit.contracts.modules.density import Density


@component("flow_ce")
class FlowCE(Objective):
    """Flow contrastive estimation: NCE against a normalising flow that is trained jointly to be hard to classify.

        min_theta max_phi J,    J = E_data[softplus(-G(x))] + r E_phi[softplus(G(x))]
        G(x) = -E(x) - log Z - log p_phi(x) - log r

    The flow starts from its maximum-likelihood fit, and is trained through its samples and through its density.

    Parameters:
        noise: p_phi; trainable noise.
        noise_ratio: r, noise samples per data point (at least one sample per batch).

    Reference: Gao, Nijkamp, Kingma, Xu, Dai and Wu, "Flow contrastive estimation of energy-based models",
    arXiv:1912.00589.

    Example: objective: {use: flow_ce, noise: {use: flow, transforms: 1, steps: 20}}
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})
    needs: ClassVar[frozenset[str]] = frozenset({"energy", "gradient"})
    adversary: ClassVar[bool] = True
    noise_needs: ClassVar[frozenset[str]] = frozenset({"density", "normalised", "learnable"})

    noise: Noise = FlowNoise()
    noise_ratio: Annotated[float, Gt(0)] = 1.0

    def traits(self) -> ObjectiveTraits:
        return super().traits()._replace(evaluations=1.5 * (1 + self.noise_ratio), noise_ratio=self.noise_ratio)

    def extras(self, event: Event, data: Tensor) -> ContrastiveContest:
        from ebmkit.components.objectives.nets.contrastive_contest import ContrastiveContest

        return ContrastiveContest(cast("Density", self.noise.build(event, data)))

    def parameter_count(self, event: Event) -> int:
        return 1  # log Z

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        r, contest = self.noise_ratio, cast("ContrastiveContest", context.extras)
        log_u = contest.log_ratios(model, batch, max(1, round(r * len(batch))), context)
        value = log_u.logistic_loss(r)
        return Loss(value, {"log_z": contest.log_z.detach(), **log_u.metrics()}, rival=-value)
