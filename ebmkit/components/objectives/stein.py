"""The learned Stein discrepancy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, cast

from annotated_types import Ge, Gt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Loss, Objective, Space

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.contracts.context import Context
    from ebmkit.contracts.modules.contest import Contest


@component("stein")
class Stein(Objective):
    """Learned Stein discrepancy: a critic maximises the violation of Stein's identity, the model minimises it.

        D(f) = E_data[s(x)'f(x) + tr df/dx],    s = -dE/dx
        the critic f maximises D(f) - l2 E_data |f|^2, the model minimises D(f)

    If the scores of model and data agree, D(f) is zero for every f. The optimal critic is (s - s_data) / (2 l2), and
    its D - l2 |f|^2 is the Fisher divergence over 4 l2. The critic is a network with two hidden layers, whose trace is
    exact in any dimension; no sampling and no second derivative of the energy is needed.

    Parameters:
        l2: weight of the critic's penalty; 0.5 makes the optimal critic the difference of scores.
        width: units in each hidden layer of the critic.

    Reference: Grathwohl et al., "Learning the Stein discrepancy for training and evaluating energy-based models without
    sampling", arXiv:2002.05616.

    Example: objective: {use: stein, l2: 1.0}
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})
    needs: ClassVar[frozenset[str]] = frozenset({"energy", "gradient"})
    adversary: ClassVar[bool] = True

    l2: Annotated[float, Gt(0)] = 0.5
    width: Annotated[int, Ge(1)] = 128

    def extras(self, event: Event, data: Tensor) -> Contest:
        from ebmkit.components.models.nets.critic import Critic
        from ebmkit.contracts.modules.contest import Contest

        return Contest(Critic(event, self.width))

    def parameter_count(self, event: Event) -> int:
        return 0

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        from ebmkit.maths.laplacian import gradient

        f, trace = cast("Contest", context.extras).rival(batch)
        slope = gradient(model, batch)[1]
        length = f.flatten(1).square().sum(1).mean()

        def discrepancy(slope: Tensor, f: Tensor, trace: Tensor) -> Tensor:
            return (trace - (slope * f).flatten(1).sum(1)).mean()

        value = discrepancy(slope, f.detach(), trace.detach())
        rival = self.l2 * length - discrepancy(slope.detach(), f, trace)
        return Loss(value, {"critic_length": length.detach()}, rival)
