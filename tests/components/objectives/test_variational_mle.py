"""`variational_mle` against sums over all states, in float64."""

import pytest
import torch

from ebmkit.chains.context import StepContext
from ebmkit.components.inits.persistent import Persistent
from ebmkit.components.inits.replay import Replay
from ebmkit.components.models.boltzmann import Boltzmann
from ebmkit.components.models.dbm import DBM
from ebmkit.components.models.rbm import RBM
from ebmkit.components.objectives.mle import MLE
from ebmkit.components.objectives.variational_mle import VariationalMLE
from ebmkit.components.samplers.gibbs import Gibbs
from ebmkit.components.samplers.gibbs_with_gradients import GibbsWithGradients
from ebmkit.contracts.modules.live import prepare_modules
from ebmkit.contracts.setting import Setting
from tests.components.models.test_dbm import states
from tests.components.oracles import generator

both = pytest.mark.parametrize("values", ["binary", "spin"])
MODELS = {
    "rbm": lambda values: RBM(hidden=2, values=values),
    "boltzmann": lambda values: Boltzmann(hidden=2, values=values),
    "dbm": lambda values: DBM(hidden=(2, 1), values=values),
}
models = pytest.mark.parametrize("name", MODELS)
#: Of visible units.
D = 3


def built(model, scale=1.0):
    module = model.build((D,)).double()
    with torch.no_grad():
        for number, weights in enumerate(module.parameters()):
            weights.copy_(scale * torch.randn(weights.shape, generator=generator(number)))
    return module


def prepared(init, module):
    starts = init.build((D,))
    prepare_modules(starts, Setting((D,), "binary", module, generator(0)))
    return starts


class At(StepContext):
    """A context whose chains end in one joint state."""

    end = None

    def chain(self, sampler, model, x, *, starts=None, traced=False, joint=False):
        assert joint
        return self.end.expand(len(x), -1)


def slopes(value, module):
    found = torch.autograd.grad(value, list(module.parameters()), allow_unused=True)
    return [
        torch.zeros_like(p) if slope is None else slope for p, slope in zip(module.parameters(), found, strict=True)
    ]


def expected_gradient(module, batch, values):
    """Over all joint states in which a chain may end."""
    units = states(D + module.hidden_units, values)
    p = (-module.joint_energy(units)).softmax(0).detach()
    context, objective, total = At(generator(0), prepared(Persistent(chains=8), module), 1), VariationalMLE(), 0
    for weight, context.end in zip(p, units, strict=True):
        found = slopes(objective.loss(module, batch, context).value, module)
        total = (
            [slope * weight for slope in found]
            if total == 0
            else [a + b * weight for a, b in zip(total, found, strict=True)]
        )
    return total


def batch_of(values):
    return states(D, values)[[1, 4, 4, 7, 2]]


def exact_gradient(module, batch, values):
    """Of -log p by the energies of all joint states."""
    units = states(D + module.hidden_units, values)
    log_mass = (-module.joint_energy(units)).view(2**D, -1).logsumexp(1)
    at = [int((states(D, values) == row).all(1).nonzero()) for row in batch]
    return slopes(-(log_mass[at].mean() - log_mass.logsumexp(0)), module)


@both
@models
def test_with_an_exact_posterior_the_mean_gradient_is_that_of_the_likelihood(name, values):
    module, batch = built(MODELS[name](values)), batch_of(values)
    if name == "dbm":  # hidden units that are independent given x
        with torch.no_grad():
            module.layers[1].single.weights.zero_()
    found, expected = expected_gradient(module, batch, values), exact_gradient(module, batch, values)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)


@both
def test_the_mean_gradient_is_that_of_the_bound(values):
    module, batch = built(MODELS["dbm"](values)), batch_of(values)
    bound = module.posterior_energy(batch, generator(0)).mean() + module.log_z()
    found = expected_gradient(module, batch, values)
    torch.testing.assert_close(found, slopes(bound, module), rtol=0, atol=1e-10)
    exact = exact_gradient(module, batch, values)
    assert max(float((one - other).abs().max()) for one, other in zip(found, exact, strict=True)) > 1e-3


@both
def test_of_hidden_units_that_are_independent_the_positive_phase_is_that_of_mle(values):
    """The same chains, so the same states x; the negative phase differs by the draw of h."""
    module, batch = built(MODELS["rbm"](values)), batch_of(values)
    losses = {}
    for objective in (VariationalMLE(sampler=Gibbs(steps=2)), MLE(sampler=Gibbs(steps=2))):
        context = StepContext(generator(1), prepared(Persistent(chains=8), module), 1)
        losses[objective.component_name] = objective.loss(module, batch, context)
    variational, usual = losses["variational_mle"], losses["mle"]
    torch.testing.assert_close(variational.metrics["energy_data"], usual.metrics["energy_data"], rtol=0, atol=1e-12)
    assert (variational.metrics["energy_model"] - usual.metrics["energy_model"]).abs() > 1e-3


@models
@pytest.mark.parametrize(
    "init", [Persistent(chains=8), Replay(size=12, rejuvenation=0.3)], ids=["persistent", "replay"]
)
def test_the_negative_phase_has_the_states_where_chains_ended(name, init):
    """Visible and hidden units of the same chain, which are also those that are kept."""
    module = built(MODELS[name]("binary"))
    starts, like = prepared(init, module), torch.zeros(5, D, dtype=torch.float64)
    for seed in range(3):
        context = StepContext(generator(seed), starts, 1)
        x = starts.draw(like, context.rng)
        units = context.chain(Gibbs(steps=2), module, x, starts=starts, joint=True)
        assert units.shape == (5, D + module.hidden_units)
        chain = context.chains[0][1]
        assert torch.equal(units, torch.cat([chain.x, chain.hidden], 1))
        kept = starts.positions
        assert (units[:, None, :D] == kept[None]).all(2).any(1).all()
        if name != "rbm":
            both_parts = torch.cat([kept, starts.hidden], 1)
            assert (units[:, None] == both_parts[None]).all(2).any(1).all()
        assert not units.requires_grad


def test_a_sampler_of_visible_states_has_no_joint_ones():
    module = built(MODELS["rbm"]("binary"))
    context = StepContext(generator(0), None, 1)
    with pytest.raises(TypeError, match="moves no hidden units"):
        context.chain(GibbsWithGradients(steps=1), module, batch_of("binary"), joint=True)


@both
def test_training_approaches_the_distribution_of_the_data(values):
    """A machine that can represent the data exactly, from a start elsewhere."""
    p = torch.softmax(2 * torch.randn(2**D, generator=generator(1), dtype=torch.float64), 0)
    module = built(DBM(hidden=(4, 2), values=values), scale=0.3)
    starts = prepared(Persistent(chains=200), module)
    optimizer, rng, every = torch.optim.Adam(module.parameters(), lr=0.02), generator(2), states(D, values)

    def divergence():
        log_q = (-module(every)).log_softmax(0).detach()
        return float((p * (p.log() - log_q)).sum())

    before = divergence()
    for _ in range(120):
        batch = every[torch.multinomial(p, 200, replacement=True, generator=rng)]
        loss = VariationalMLE(sampler=Gibbs(steps=2)).loss(module, batch, StepContext(rng, starts, 1)).value
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert divergence() < before / 3
