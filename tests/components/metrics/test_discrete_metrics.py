"""Metrics of discrete models: `probability`, `total_variation` and `log_z`."""

import math
from itertools import product

import pytest
import torch

from ebmkit.components.metrics.log_z import LogZ
from ebmkit.components.metrics.probability import Probability
from ebmkit.components.metrics.total_variation import TotalVariation
from ebmkit.components.models.boltzmann import Boltzmann
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.ising import Ising
from ebmkit.contracts.question import Question
from ebmkit.errors import Mistakes
from ebmkit.language.load import load_spec
from ebmkit.maths import enumeration
from tests.components.oracles import generator
from tests.views import FakeView, viewed_spec

LECTURE = Boltzmann(weights=((0, -1, -1), (-1, 0, 2), (-1, 2, 0)), biases=(0, 1, 0), values="spin")


def view_of(model, samples):
    """As much of a run as these metrics read."""
    event = model.event()
    return FakeView(samples, event=event, module=model.build(event), spec=viewed_spec(model=model))


def exact_view(model, n, seed=0):
    return view_of(model, model.build(model.event()).sample_exact(n, generator(seed)))


def test_numbers_and_states_are_each_others_inverse():
    for values, event in product(enumeration.VALUES.values(), [(1,), (2,), (10,), (1, 2, 3)]):
        numbers = torch.arange(2 ** math.prod(event))
        states = enumeration.states(numbers, event, values, torch.float64)
        expected = torch.tensor(list(product(values, repeat=math.prod(event)))).view(-1, *event)
        assert torch.equal(states, expected)
        assert torch.equal(enumeration.numbers(states, values), numbers)


def test_energies_are_computed_in_blocks(monkeypatch):
    module, like = LECTURE.build((3,)), torch.zeros(0)
    whole = enumeration.log_weights(module, (3,), (-1.0, 1.0), like)
    monkeypatch.setattr(enumeration, "BLOCK", 3)
    assert torch.equal(enumeration.log_weights(module, (3,), (-1.0, 1.0), like), whole)


def test_a_sum_over_many_states_is_that_over_few_blocks(monkeypatch):
    model = Ising(shape=(3, 3), coupling=0.4, field=0.1)
    module, like = model.build((3, 3)).double(), torch.zeros(0, dtype=torch.float64)
    whole = float(enumeration.log_weights(module, (3, 3), (-1.0, 1.0), like).logsumexp(0))
    for block in (1 << 16, 100, 1):
        monkeypatch.setattr(enumeration, "BLOCK", block)
        assert float(enumeration.log_sum(module, (3, 3), (-1.0, 1.0), like)) == pytest.approx(whole, abs=1e-12)


def test_log_z_of_17_independent_units():
    """More than a model offers by itself: the sum has a closed form."""
    model = Ising(shape=(17,), coupling=0.0, field=0.3)
    found = LogZ().measure(view_of(model, None))["log_z"]
    assert found == pytest.approx(17 * math.log(2 * math.cosh(float(torch.tensor(0.3)))), abs=1e-10)
    assert LogZ().refusal(Question((5, 5), Ising(shape=(5, 5)))) is None
    assert "at most 25 discrete units, but a state has 26" in LogZ().refusal(Question((26,), Ising(shape=(26,))))


# probability


def test_the_claims_of_the_lecture():
    view = exact_view(LECTURE, 100_000)
    marginal = Probability(of=((0, 1),), samples=100_000).measure(view)
    conditional = Probability(of=((0, 1),), given=((1, -1),), samples=100_000).measure(view)
    assert round(marginal["p(x0=1)_exact"], 3) == 0.135
    assert round(conditional["p(x0=1|x1=-1)_exact"], 3) == 0.980
    assert abs(marginal["p(x0=1)"] - 0.135) < 0.006
    assert abs(conditional["p(x0=1|x1=-1)"] - 0.980) < 0.008


def test_shares_are_counted():
    x = torch.tensor([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    view = view_of(Boltzmann(shape=(2,)), x)
    assert Probability(of=((0, 1),), exact=False).measure(view) == {"p(x0=1)": 0.75}
    assert Probability(of=((0, 1), (1, 1)), exact=False).measure(view) == {"p(x0=1&x1=1)": 0.5}
    both = Probability(of=((0, 0),), given=((1, 1),), exact=False)
    assert both.measure(view) == {"p(x0=0|x1=1)": pytest.approx(1 / 3)}
    assert Probability(of=((0, 0),), exact=False, samples=2).measure(view) == {"p(x0=0)": 0.5}


@pytest.mark.parametrize("values", ["binary", "spin"])
def test_the_exact_value_is_that_of_a_sum_over_states(values):
    low = 0 if values == "binary" else -1
    model = Ising(shape=(2, 2), coupling=0.8, field=(0.1, -0.5, 1.0, 0.3), values=values)
    states = torch.tensor(list(product((float(low), 1.0), repeat=4)))
    weights = (-model.build((2, 2))(states.view(-1, 2, 2))).exp()
    given = (states[:, 1] == low) & (states[:, 3] == 1)
    expected = weights[given & (states[:, 2] == low)].sum() / weights[given].sum()
    metric = Probability(of=((2, low),), given=((1, low), (3, 1)))
    found = metric.measure(exact_view(model, 50_000))
    name = f"p(x2={low}|x1={low}&x3=1)"
    assert tuple(found) == metric.results() == (name, f"{name}_exact")
    assert found[f"{name}_exact"] == pytest.approx(float(expected), abs=1e-12)
    assert abs(found[name] - float(expected)) < 0.02


def test_nobody_to_ask_is_an_error():
    view = view_of(LECTURE, torch.ones(10, 3))
    with pytest.raises(ValueError, match="none of 10 samples has x1=-1"):
        Probability(given=((1, -1),)).measure(view)


@pytest.mark.parametrize("parameters", [{"of": ((0, 1), (0, -1))}, {"of": ((0, 1),), "given": ((0, 1),)}])
def test_a_unit_has_one_value(parameters):
    with pytest.raises(ValueError, match="name unit 0 twice"):
        Probability(**parameters)


def test_what_cannot_be_asked_is_refused():
    def refusal(event, model, **parameters):
        return Probability(**parameters).refusal(Question(event, model))

    assert refusal((3,), LECTURE) is None
    assert "names unit 3, but a state has 3" in refusal((3,), LECTURE, of=((3, 1),))
    assert "names value 0 of unit 0, but spin units are -1 or 1" in refusal((3,), LECTURE, of=((0, 0),))
    assert "names value -1 of unit 1" in refusal((3,), Boltzmann(shape=(3,)), given=((1, -1),))
    large = Ising(shape=(5, 5))
    assert "at most 16 units, but a state has 25; set 'exact: false' to omit it" in refusal((5, 5), large)
    assert refusal((5, 5), large, exact=False) is None


def spec(*metrics, model="ising"):
    return {"ebmkit": 1, "model": model, "sampler": "gibbs", "evaluate": list(metrics)}


def test_two_questions_can_be_asked_and_one_not_twice():
    one, other = ({"use": "probability", "of": [[unit, 1]]} for unit in (0, 1))
    load_spec(spec(one, other))
    with pytest.raises(Mistakes, match=r"'p\(x0=1\)' is measured twice"):
        load_spec(spec(one, one))
    with pytest.raises(Mistakes, match="needs binary, categorical or spin states"):
        load_spec(spec(one, model={"use": "gaussian", "mean": [0]}) | {"sampler": "langevin"})


# total_variation


def test_the_distance_is_half_the_sum_of_differences():
    model = Boltzmann(biases=(math.log(3.0),))  # 1/4 and 3/4
    view = view_of(model, torch.tensor([[0.0], [0.0], [0.0], [1.0]]))
    found = TotalVariation().measure(view)
    assert found["total_variation"] == pytest.approx(0.5)
    floor = sum(math.comb(4, k) * 0.75**k * 0.25 ** (4 - k) * abs(k / 4 - 0.75) for k in range(5))
    assert found["total_variation_floor"] == pytest.approx(floor)


@pytest.mark.parametrize("biases", [(0.0,), (800.0,), (-800.0, 0.2), (0.3, 40.0)])
@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_the_floor_is_the_mean_of_the_binomials(biases, n):
    """Also where a state is certain, or impossible."""
    model = Boltzmann(biases=biases, weights=((0.0,) * len(biases),) * len(biases))
    view = view_of(model, torch.zeros(n, len(biases)))
    states = torch.tensor(list(product((0.0, 1.0), repeat=len(biases))))
    p = (states @ torch.tensor(biases)).softmax(0)
    k = torch.arange(n + 1.0)
    choose = math.lgamma(n + 1) - torch.lgamma(k + 1) - torch.lgamma(n - k + 1)
    log_law = choose + torch.xlogy(k, p[:, None]) + torch.xlogy(n - k, 1 - p[:, None])
    expected = float((log_law.exp() * (k / n - p[:, None]).abs()).sum() / 2)
    assert TotalVariation().measure(view)["total_variation_floor"] == pytest.approx(expected, abs=1e-9)


def test_exact_draws_are_at_the_floor_and_others_are_not():
    """The distance of independent draws scatters by less than sqrt(1 / 4n) around its mean (McDiarmid: 1e-6 at 2.7)."""
    model, n = Ising(shape=(2, 4), coupling=0.4, field=0.2), 10_000
    view = exact_view(model, n)
    found = TotalVariation(samples=n).measure(view)
    assert abs(found["total_variation"] - found["total_variation_floor"]) < 2.7 / math.sqrt(n)
    wrong = TotalVariation(samples=n).measure(view_of(model, -view.samples(n)))
    assert wrong["total_variation"] > found["total_variation_floor"] + 2.7 / math.sqrt(n)
    assert (
        TotalVariation()
        .refusal(Question((17,), Ising(shape=(17,))))
        .startswith("enumerates the states of at most 16 units")
    )


# log_z


def test_the_normaliser_of_the_lecture():
    found = LogZ(plain=True).measure(view_of(LECTURE, None))
    assert round(found["z"], 3) == 172.420
    assert found["log_z"] == pytest.approx(math.log(found["z"]))
    assert LogZ().measure(view_of(LECTURE, None)) == {"log_z": found["log_z"]}


def test_a_normaliser_that_no_number_holds_is_infinite():
    model = Gaussian(mean=(0.0,) * 1000)
    found = LogZ(plain=True).measure(view_of(model, None))
    assert found["log_z"] == pytest.approx(500 * math.log(2 * math.pi))
    assert found["z"] == math.inf


def test_a_model_that_does_not_know_its_normaliser_is_refused():
    load_spec(spec("log_z", model={"use": "ising", "shape": [5, 5]}))
    with pytest.raises(Mistakes, match="at most 25 discrete units, but a state has 36 spin ones"):
        load_spec(spec("log_z", model={"use": "ising", "shape": [6, 6]}))
