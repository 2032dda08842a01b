"""Metrics of categorical states: AIS over all paths, probabilities, distances and the verdict."""

import math

import pytest
import torch

from ebmkit.chains.annealing import Ladder, Transitions, anneal
from ebmkit.chains.energy import Energy, frozen
from ebmkit.components.metrics.ais import AIS
from ebmkit.components.metrics.log_likelihood import LogLikelihood
from ebmkit.components.metrics.log_z import LogZ
from ebmkit.components.metrics.nets.annealed import AnnealedUnits
from ebmkit.components.metrics.nets.bases import CategoricalBase, fit_log_p
from ebmkit.components.metrics.probability import Probability
from ebmkit.components.metrics.pseudo_likelihood import PseudoLikelihood
from ebmkit.components.metrics.total_variation import TotalVariation
from ebmkit.components.metrics.verdict import Verdict
from ebmkit.components.models.ising import Ising
from ebmkit.components.models.potts import Potts
from ebmkit.components.samplers.gibbs import Gibbs
from ebmkit.components.samplers.gibbs_with_gradients import GibbsWithGradients
from ebmkit.contracts.question import Question
from ebmkit.maths import enumeration
from tests.components.metrics.test_ais import EnergyAlone, view_of
from tests.components.models.test_categorical import every_state, model_of
from tests.components.oracles import generator
from tests.statistics.transitions import outcomes

PAIR = model_of("machine", (2,), 3)
LOG_P = torch.tensor([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]], dtype=torch.float64).log()


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("beta", [0.3, 1.0])
def test_log_odds_of_the_path_are_its_energy_differences(alone, beta):
    module = PAIR.build((2,)).double()
    path = AnnealedUnits(CategoricalBase((2,), LOG_P), EnergyAlone(module) if alone else module)
    path.beta = beta
    x = every_state((2,), 3)
    found = path.log_odds(x, torch.arange(2)).log_softmax(2)
    for i in range(2):
        each = []
        for k in range(3):
            changed = x.clone()
            changed[:, i] = k
            each.append(-path(changed))
        expected = torch.stack(each, 1).log_softmax(1)
        torch.testing.assert_close(found[:, i], expected, rtol=0, atol=1e-12)


def test_independent_units_are_normalised_and_have_the_frequencies_of_the_data():
    base, x = CategoricalBase((1, 2), LOG_P), every_state((1, 2), 3)
    assert float((-base(x)).logsumexp(0)) == pytest.approx(0, abs=1e-12)
    energy, slope = base.energy_and_grad(x)
    point, of_point = Energy(base).continuation(x)
    point.requires_grad_()
    (by_autograd,) = torch.autograd.grad(of_point(point).sum(), point)
    torch.testing.assert_close(slope, by_autograd)
    torch.testing.assert_close(energy, base(x))
    drawn = base.sample(50_000, LOG_P, generator(0)).flatten(1)
    torch.testing.assert_close(fit_log_p(drawn, 3).exp(), LOG_P.exp(), rtol=0, atol=0.012)
    some = torch.tensor([[0.0, 2.0], [0.0, 1.0]])
    assert fit_log_p(some, 3).exp().tolist() == [pytest.approx([3 / 5, 1 / 5, 1 / 5]), pytest.approx([0.2, 0.4, 0.4])]


def test_the_mean_weight_is_exact_over_all_paths():
    """From every state of the base, through every outcome of the Gibbs draws of three temperatures."""
    module, states = PAIR.build((2,)).double(), every_state((2,), 3)
    base = CategoricalBase((2,), LOG_P)
    ladder = Ladder(torch.tensor([0.0, 0.4, 1.0], dtype=torch.float64))
    annealed = AnnealedUnits(base, module)

    def run(rng):
        with frozen(annealed) as energy, torch.no_grad():
            return anneal(Transitions(Gibbs(steps=1), energy, annealed, rng), ladder, states.clone())

    total = sum(p * log_w.exp() for log_w, p in outcomes(run, len(states)))
    z = (-module(states)).exp().sum().detach()
    assert float(((-base(states)).exp() @ total).detach()) == pytest.approx(float(z), rel=1e-12)


@pytest.mark.parametrize("sampler", [None, Gibbs(steps=1, scan="random"), GibbsWithGradients(steps=4)], ids=str)
@pytest.mark.parametrize("alone", [True, False])
def test_log_z_is_that_of_enumeration(sampler, alone):
    model = Potts(shape=(2, 3), categories=3, coupling=0.8, field=(0.2, 0.0, -0.4))
    module = model.build((2, 3)).double()
    if alone and isinstance(sampler, GibbsWithGradients):
        pytest.skip("an energy alone has no gradient")
    train = module.sample_exact(300, generator(1))
    for data in (None, train):
        view = view_of(model, train=data, test=data, seed=4, module=EnergyAlone(module) if alone else None)
        found = AIS(chains=200, temperatures=100, sampler=sampler).measure(view)
        assert abs(found["ais_log_z"] - float(module.log_z())) < 5 * found["ais_log_z_error"]
        assert found["ais_ess"] > 60
        assert ("ais_log_likelihood" in found) == (data is not None)


def test_sums_and_likelihoods_are_exact():
    model = model_of("graph", (1, 2, 2), 3)
    module = model.build((1, 2, 2)).double()
    x = every_state((1, 2, 2), 3)
    log_z = float((-module(x)).logsumexp(0))
    assert LogZ().measure(view_of(model))["log_z"] == pytest.approx(log_z, abs=1e-12)
    found = LogLikelihood().measure(view_of(model, train=x[:9], test=x[9:12]))
    assert found["log_likelihood"] == pytest.approx(-float(module(x[9:12]).mean()) - log_z, abs=1e-12)
    many = Potts(shape=(12,), categories=3, coupling=0.0, field=(0.3, 0.0, 0.0))
    expected = 12 * math.log(math.exp(0.3) + 2)
    assert LogZ().measure(view_of(many))["log_z"] == pytest.approx(expected, abs=1e-6)
    assert LogZ().refusal(Question((15,), Potts(shape=(15,)))) is None
    reason = LogZ().refusal(Question((16,), Potts(shape=(16,))))
    assert "at most 15 discrete units of 3 values, but a state has 16" in reason


@pytest.mark.parametrize("values", ["categories", "binary", "spin"])
def test_the_pseudo_likelihood_is_that_of_enumeration(values):
    """In float64 by dividing probabilities of states, and by counting for independent units."""
    if values == "categories":
        model, levels = model_of("machine", (1, 1, 3), 3), (0.0, 1.0, 2.0)
    else:
        model, levels = Ising(shape=(1, 1, 3), coupling=0.6, field=0.3, values=values), enumeration.VALUES[values]
    module = model.build((1, 1, 3)).double()
    x = enumeration.states(
        torch.randint(len(levels) ** 3, (40,), generator=generator(1)), (1, 1, 3), levels, torch.float64
    )
    train, test = x[:30], x[30:]
    found = PseudoLikelihood().measure(view_of(model, train=train, test=test))
    for name, points in (("", test), ("_train", train)):
        total = 0.0
        for row in points:
            for i in range(3):
                each = row.repeat(len(levels), 1, 1, 1)
                each[:, 0, 0, i] = torch.tensor(levels)
                log_p = (-module(each)).log_softmax(0)
                total += float(log_p[levels.index(float(row[0, 0, i]))].detach())
        assert found[f"pseudo_log_likelihood{name}"] == pytest.approx(total / (3 * len(points)), abs=1e-12)
    alone = [
        math.log((1 + int((train[:, 0, 0, i] == row[0, 0, i]).sum())) / (30 + len(levels)))
        for row in test
        for i in range(3)
    ]
    assert found["independent_log_likelihood"] == pytest.approx(sum(alone) / 30, abs=1e-12)


def test_shares_and_distances_of_samples():
    model = model_of("machine", (2,), 5)
    module = model.build((2,)).double()
    view = view_of(model, module.sample_exact(20_000, generator(1)))
    found = Probability(of=((0, 4),), given=((1, 2),), samples=20_000).measure(view)
    states = every_state((2,), 5)
    p = (-module(states)).softmax(0).detach()
    given = states[:, 1] == 2
    exact = float(p[given & (states[:, 0] == 4)].sum() / p[given].sum())
    assert found["p(x0=4|x1=2)_exact"] == pytest.approx(exact, abs=1e-12)
    assert abs(found["p(x0=4|x1=2)"] - exact) < 0.05
    assert "names value 5 of unit 0, but categorical units are 0 to 4" in Probability(of=((0, 5),)).refusal(
        Question((2,), model)
    )
    distance = TotalVariation(samples=20_000).measure(view)
    assert distance["total_variation"] < 1.3 * distance["total_variation_floor"]
    assert TotalVariation().refusal(Question((7,), Potts(shape=(7,), categories=5))) == (
        "enumerates the states of at most 6 units of 5 values, but a state has 7"
    )
    numbers = enumeration.numbers(states, module.unit_values)
    assert numbers.tolist() == list(range(25))


@pytest.mark.parametrize("event", [(1,), (4,), (1, 4, 4)], ids=str)
def test_the_verdict_does_not_depend_on_the_numbers_of_categories(event):
    """Names are exchanged: another permutation of the categories has the same levels."""
    p = torch.tensor([0.5, 0.2, 0.2, 0.1])
    model = Potts(shape=event, categories=4)
    levels, sizes = [], []
    for permutation in ([0, 1, 2, 3], [2, 0, 3, 1]):
        of = torch.tensor(permutation, dtype=torch.float64)

        def draws(n, law, seed, of=of):
            drawn = torch.multinomial(law, n * math.prod(event), replacement=True, generator=generator(seed))
            return of[drawn].view(n, *event)

        test, good = draws(2000, p, 1), draws(2000, p, 2)
        bad = draws(2000, torch.tensor([0.2, 0.2, 0.2, 0.4]), 3)
        judged = [Verdict().judge(view_of(model, x, test=test, draws=None)) for x in (good, bad)]
        levels.append([judged[0].level, judged[1].level, judged[1].worst.kind])
        sizes.append(judged[1].worst.size)
        assert judged[0].level == "match"
        assert judged[1].level == "mismatch"
        assert len(judged[1].worst.columns) <= 2
    assert levels[0] == levels[1]
    assert sizes[0] == pytest.approx(sizes[1])


def test_pairs_that_go_together_are_missed():
    """Samples with the right shares and without the coupling."""
    x = torch.randint(3, (2000, 1), generator=generator(1)).double()
    test = torch.cat([x, x], 1)
    apart = torch.randint(3, (2000, 2), generator=generator(2)).double()
    model = Potts(shape=(2,), categories=3)
    judgement = Verdict().judge(view_of(model, apart, test=test, draws=None))
    assert judgement.level == "mismatch"
    assert Verdict().judge(view_of(model, test.roll(7, 0), test=test, draws=None)).level == "match"


@pytest.mark.parametrize("states", [2, 3, 5])
@pytest.mark.parametrize("units", [1, 2, 3])
def test_equal_states_are_at_no_distance(states, units):
    """Squared distances from products of coordinates have rounding errors, which differ between processors."""
    test = torch.randint(states, (1500, units), generator=generator(3)).double()
    model = Potts(shape=(units,), categories=states)
    judgement = Verdict().judge(view_of(model, test.roll(7, 0), test=test, draws=None))
    assert judgement.level == "match"
    assert judgement.worst.size < 0.06


def test_every_metric_says_whether_it_knows_categories():
    """Those that compare coordinates as numbers do not."""
    from ebmkit.registry.builtin import ebmkit_components

    known = {
        offer.name for offer in ebmkit_components() if offer.kind == "metric" and "categorical" in offer.load().spaces
    }
    assert not known & {"mmd", "moments", "sliced_wasserstein", "nearest_neighbours", "fid", "mode_weights"}
    assert known >= {"ais", "log_z", "log_likelihood", "total_variation", "mean_energy", "verdict", "probability"}
