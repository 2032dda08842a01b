"""Maximum likelihood of models with hidden units, by their posterior and by sampling."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from ebmkit.components.inits.persistent import Persistent
from ebmkit.components.samplers.gibbs import Gibbs
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Init, Loss, Objective, Sampler
from ebmkit.contracts.traits import ObjectiveTraits

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.contracts.abilities import Hidden, Posterior
    from ebmkit.contracts.context import Context
    from ebmkit.contracts.modules.starts import Starts
    from ebmkit.contracts.question import Question


@component("variational_mle")
class VariationalMLE(Objective):
    """Variational maximum likelihood for models with hidden units: their posterior given data, chains for the model.

        d/dtheta -log p(x) = E_p(h | x)[dE(x, h)/dtheta] - E_model[dE(x, h)/dtheta]
        L = E_data[E_q(h | x)[E(x, h)] - H(q)] - E_model[E(x, h)],    q constant

    The sum over h given x need not be tractable: q is what the model offers, such as mean field in `dbm`. The chains
    move visible and hidden units together and keep both. If q is exact the gradient is that of `mle`; otherwise it is
    that of the lower bound -E_q[E(x, h)] + H(q) - log Z of log p(x), and favours models whose posterior is like q.

    Results in the log: energy_data is the variational free energy of the data, energy_model the energy of joint states.

    Parameters:
        sampler: draws visible and hidden units from the model; one chain per data point.
        init: starting points of those chains.

    Reference: Salakhutdinov and Hinton, "Deep Boltzmann machines", AISTATS 2009; Neal and Hinton, "A view of the EM
    algorithm that justifies incremental, sparse, and other variants", 1998.

    Example: objective: {use: variational_mle, sampler: {use: gibbs, steps: 5}, init: {use: persistent, chains: 128}}
    """

    needs: ClassVar[frozenset[str]] = frozenset({"hidden", "posterior"})

    sampler: Sampler = Gibbs(steps=5)
    init: Init = Persistent()

    def traits(self) -> ObjectiveTraits:
        return super().traits()._replace(sampler=self.sampler, evaluations=3 + self.sampler.steps)

    def refusal(self, question: Question) -> str | None:
        if self.sampler.traits().joint:
            return None
        name = self.sampler.component_name
        return f"needs chains of visible and hidden units, but sampler '{name}' moves visible ones only: use 'gibbs'"

    def extras(self, event: Event, data: Tensor) -> Starts:
        return self.init.build(event)

    def parameter_count(self, event: Event) -> int:
        return 0

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        starts = cast("Starts", context.extras)
        start = starts.draw(batch, context.rng)
        units = context.chain(self.sampler, model, start, starts=starts, joint=True)
        energy_data = cast("Posterior", model).posterior_energy(batch, context.rng).mean()
        energy_model = cast("Hidden", model).joint_energy(units).mean()
        gap = energy_data - energy_model
        metrics = {"energy_data": energy_data, "energy_model": energy_model, "gap": gap}
        if starts.age is not None:
            metrics["buffer_age"] = starts.age
        return Loss(gap, {name: value.detach() for name, value in metrics.items()})
