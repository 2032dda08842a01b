"""`potts` and `categorical_boltzmann`, and what works on them, against sums over all states in float64."""

import math
from itertools import product

import pytest
import torch

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import Energy, frozen
from ebmkit.chains.one_hot import one_hot
from ebmkit.components.models.boltzmann import Boltzmann
from ebmkit.components.models.categorical_boltzmann import CategoricalBoltzmann
from ebmkit.components.models.ising import Ising
from ebmkit.components.models.potts import Potts
from ebmkit.components.samplers.exact_map import ExactMap
from ebmkit.components.samplers.gibbs import Gibbs
from ebmkit.maths import enumeration
from ebmkit.testing import check_component
from tests.components.models.test_ising import bonds
from tests.components.oracles import assert_mean, generator

KINDS = ("lattice", "torus", "graph", "machine")
#: Few enough states to enumerate, with two, three and five categories.
SMALL = [((1,), 5), ((2,), 3), ((2,), 5), ((4,), 2), ((3,), 3), ((1, 2, 2), 3)]
small = pytest.mark.parametrize(("event", "categories"), SMALL, ids=str)
kinds = pytest.mark.parametrize("kind", KINDS)


def table(*shape, seed):
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


def nested(numbers):
    return tuple(map(nested, numbers)) if numbers.dim() else float(numbers)


def parameters(kind, event, categories):
    """J_ij(a, b) as `(d, d, K, K)`, and h as `(d, K)`."""
    d = math.prod(event)
    h = table(d, categories, seed=1)
    if kind == "machine":
        full = table(d, d, categories, categories, seed=2)
        return (full + full.permute(1, 0, 3, 2)) * (1 - torch.eye(d))[:, :, None, None] / 2, h
    if kind == "graph":
        upper = table(d, d, seed=3).triu(1) * (table(d, d, seed=4) > -0.5)
    else:
        upper = torch.zeros(d, d)
        for one, other in bonds(event, kind == "torus"):
            i, j = (int(sum(n * math.prod(event[k + 1 :]) for k, n in enumerate(place))) for place in (one, other))
            upper[min(i, j), max(i, j)] = 0.7
    return (upper + upper.T)[:, :, None, None] * torch.eye(categories), h


def model_of(kind, event, categories):
    J, h = parameters(kind, event, categories)
    if kind == "machine":
        return CategoricalBoltzmann(categories=categories, weights=nested(J), biases=nested(h), shape=event)
    coupling = nested(J[:, :, 0, 0]) if kind == "graph" else 0.7
    return Potts(shape=event, categories=categories, coupling=coupling, field=nested(h), periodic=kind == "torus")


def every_state(event, categories):
    return torch.tensor(list(product(map(float, range(categories)), repeat=math.prod(event)))).view(-1, *event)


def energy_by_hand(kind, x, categories):
    """Pair by pair and unit by unit."""
    event = tuple(x.shape[1:])
    J, h = (numbers.tolist() for numbers in parameters(kind, event, categories))
    found = []
    for row in x.flatten(1).long().tolist():
        pairs = sum(J[i][j][a][b] for j, b in enumerate(row) for i, a in enumerate(row[:j]))
        found.append(-pairs - sum(h[i][a] for i, a in enumerate(row)))
    return torch.tensor(found)


def conditionals(kind, x, categories):
    """p(x_i = k | rest), `(N, d, K)`, from energies of states of which one unit is changed."""
    found = []
    for i in range(x.flatten(1).shape[1]):
        each = []
        for k in range(categories):
            changed = x.flatten(1).clone()
            changed[:, i] = k
            each.append(-energy_by_hand(kind, changed.view_as(x), categories))
        found.append(torch.stack(each, 1).softmax(1))
    return torch.stack(found, 1)


@pytest.mark.parametrize("categories", [2, 3, 5])
@pytest.mark.parametrize("event", [(1,), (2,), (10,), (1, 4, 4)], ids=str)
@kinds
def test_energies_and_gradients_are_those_of_pairs(kind, event, categories):
    module = model_of(kind, event, categories).build(event)
    x = torch.randint(categories, (6, *event), generator=generator(5)).double()
    expected = energy_by_hand(kind, x, categories)
    torch.testing.assert_close(module(x), expected, rtol=0, atol=1e-12)
    hot = one_hot(x, categories).requires_grad_()
    torch.testing.assert_close(module.one_hot_energy(hot), expected, rtol=0, atol=1e-12)
    (by_autograd,) = torch.autograd.grad(module.one_hot_energy(hot).sum(), hot)
    value, slope = module.energy_and_grad(x)
    torch.testing.assert_close(value, expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(slope, by_autograd, rtol=0, atol=1e-12)
    # The energy is linear in the one-hot vector of each unit: its gradient has the differences.
    p = conditionals(kind, x, categories)
    torch.testing.assert_close((-slope.flatten(1, -2)).softmax(2), p, rtol=0, atol=1e-12)


@kinds
@small
def test_log_z_and_conditionals_are_those_of_enumeration(kind, event, categories):
    module = model_of(kind, event, categories).build(event)
    states = every_state(event, categories)
    energy = energy_by_hand(kind, states, categories)
    assert module.log_z().item() == pytest.approx(float((-energy).logsumexp(0)), abs=1e-12)
    like = torch.zeros(0)
    summed = enumeration.log_sum(module, event, module.unit_values, like)
    assert float(summed) == pytest.approx(module.log_z().item(), abs=1e-12)
    d = math.prod(event)
    p = conditionals(kind, states, categories)
    for sites in (torch.arange(d), torch.arange(d).flip(0)[:1]):
        odds = module.log_odds(states, sites)
        torch.testing.assert_close(odds.softmax(2), p[:, sites], rtol=0, atol=1e-12)
    lowest = run_chain(ExactMap(), module, states[:2], generator(0)).x
    assert torch.equal(lowest, states[energy.argmin()].expand_as(lowest))


@small
def test_the_gradient_of_the_likelihood_is_data_minus_model(event, categories):
    module = model_of("machine", event, categories).build(event)
    states, d = every_state(event, categories), math.prod(event)
    p = (-energy_by_hand("machine", states, categories)).softmax(0)
    x = states[torch.randint(len(states), (7,), generator=generator(6))]
    (module(x).mean() + module.log_z()).backward()

    def means(weights, of):
        hot = one_hot(of.flatten(1), categories)
        return torch.einsum("n,nia,njb->ijab", weights, hot, hot), torch.einsum("n,nia->ia", weights, hot)

    (pairs, units), (pairs_of_data, units_of_data) = means(p, states), means(torch.full((7,), 1 / 7), x)
    torch.testing.assert_close(module.biases.grad, units - units_of_data, rtol=0, atol=1e-10)
    upper = torch.ones(d, d).triu(1).nonzero().T
    expected = (pairs - pairs_of_data)[upper[0], upper[1]]
    torch.testing.assert_close(module.couplings.grad, expected, rtol=0, atol=1e-10)


def test_numbers_and_states_are_each_others_inverse():
    for categories, event in product((2, 3, 5), [(1,), (2,), (1, 2, 3)]):
        values = tuple(map(float, range(categories)))
        numbers = torch.arange(categories ** math.prod(event))
        states = enumeration.states(numbers, event, values, torch.float64)
        assert torch.equal(states, every_state(event, categories))
        assert torch.equal(enumeration.numbers(states, values), numbers)


def test_as_many_states_as_with_two_values_are_enumerated():
    for bound, categories in product((16, 25), range(2, 40)):
        most = enumeration.most_units(bound, range(categories))
        assert categories**most <= 2**bound < categories ** (most + 1)


# Two categories are the models of two values --------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(4,), (3, 3), (1, 2, 3)], ids=str)
def test_two_categories_on_a_lattice_are_the_ising_model(shape):
    """E_Potts = E_Ising - J/2 for each bond, with a coupling of J/2 and fields of (h_1 - h_0)/2."""
    h = table(math.prod(shape), seed=7)
    potts = Potts(shape=shape, categories=2, coupling=0.8, field=nested(torch.stack([-h, h], 1)), periodic=True)
    ising = Ising(shape=shape, coupling=0.4, field=nested(h), periodic=True)
    one, two = potts.build(shape), ising.build(shape)
    x = every_state(shape, 2)
    shift = 0.4 * len(bonds(shape, True))
    torch.testing.assert_close(one(x), two(2 * x - 1) - shift, rtol=0, atol=1e-12)
    assert one.log_z().item() == pytest.approx(two.log_z().item() + shift, abs=1e-12)
    assert [block.tolist() for block in one.blocks()] == [block.tolist() for block in two.blocks()]


def binary_pair(units):
    """A Boltzmann machine of two values, and the same one with two categories."""
    upper, b = table(units, units, seed=8).triu(1), table(units, seed=9)
    W = upper + upper.T
    J, h = torch.zeros(units, units, 2, 2), torch.zeros(units, 2)
    J[:, :, 1, 1], h[:, 1] = W, b
    return Boltzmann(weights=nested(W), biases=nested(b)), CategoricalBoltzmann(
        categories=2, weights=nested(J), biases=nested(h)
    )


def test_two_categories_with_couplings_are_the_boltzmann_machine():
    two, one = (model.build((4,)) for model in binary_pair(4))
    x = every_state((4,), 2)
    torch.testing.assert_close(one(x), two(x), rtol=0, atol=1e-12)
    assert one.log_z().item() == pytest.approx(two.log_z().item(), abs=1e-12)
    odds = one.log_odds(x, torch.arange(4))
    torch.testing.assert_close(odds[..., 1] - odds[..., 0], two.log_odds(x, torch.arange(4)), rtol=0, atol=1e-12)


# Closed forms ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("categories", [2, 3, 5])
@pytest.mark.parametrize("periodic", [False, True])
def test_a_chain_has_the_normaliser_of_its_transfer_matrix(categories, periodic):
    n, J = 7, 0.9
    module = Potts(shape=(n,), categories=categories, coupling=J, periodic=periodic).build((n,))
    same, other = math.exp(J) + categories - 1, math.exp(J) - 1
    z = same**n + (categories - 1) * other**n if periodic else categories * same ** (n - 1)
    found = enumeration.log_sum(module, (n,), module.unit_values, torch.zeros(0))
    assert float(found) == pytest.approx(math.log(z), abs=1e-12)


def test_the_normaliser_of_a_lattice_is_a_sum_over_sets_of_bonds():
    """Z = sum over sets of bonds of (e^J - 1)^bonds q^clusters (Fortuin and Kasteleyn)."""
    q, J = 3, 1.1
    pairs = bonds((2, 3), False)
    places = sorted({place for pair in pairs for place in pair})
    total = 0.0
    for chosen in product([False, True], repeat=len(pairs)):
        cluster = {place: place for place in places}
        for pair, there in zip(pairs, chosen, strict=True):
            if there:
                old, new = cluster[pair[0]], cluster[pair[1]]
                cluster = {place: new if of == old else of for place, of in cluster.items()}
        total += (math.exp(J) - 1) ** sum(chosen) * q ** len(set(cluster.values()))
    found = Potts(shape=(2, 3), categories=q, coupling=J).build((2, 3)).log_z()
    assert found.item() == pytest.approx(math.log(total), abs=1e-12)


def web(rings, around):
    """A cylinder of rings around a hub, as pairs of units: a graph that is its own dual."""
    unit = lambda ring, k: 1 + ring * around + k % around  # noqa: E731
    spokes = [(unit(ring - 1, k) if ring else 0, unit(ring, k)) for ring in range(rings) for k in range(around)]
    return spokes + [(unit(ring, k), unit(ring, k + 1)) for ring in range(rings) for k in range(around)]


@pytest.mark.parametrize(("rings", "around", "categories"), [(1, 4, 2), (2, 4, 2), (2, 3, 3), (1, 4, 5)])
def test_at_the_critical_point_a_self_dual_graph_has_the_energy_of_the_square_lattice(rings, around, categories):
    """By duality a bond joins equal units with probability (1 + 1/sqrt q) / 2 at J = log(1 + sqrt q), at every size."""
    pairs, units, J = web(rings, around), 1 + rings * around, math.log(1 + math.sqrt(categories))
    coupling = torch.zeros(units, units)
    for one, other in pairs:
        coupling[one, other] = coupling[other, one] = J
    module = Potts(shape=(units,), categories=categories, coupling=nested(coupling)).build((units,))
    states = every_state((units,), categories)
    energy = module(states)
    mean = float((-energy).softmax(0) @ energy)
    assert mean == pytest.approx(-J * len(pairs) * (1 + 1 / math.sqrt(categories)) / 2, abs=1e-10)


def test_the_energy_of_a_small_torus_is_that_of_transfer_matrices():
    """Of the 4 x 4 torus of three categories at the critical point: the correction that potts-critical.yaml names."""
    L, q, J = 4, 3, math.log(1 + math.sqrt(3))
    row = every_state((L,), q)
    within = (row == row.roll(1, 1)).sum(1)
    between = (row[:, None] == row[None]).sum(2)

    def log_z(J):
        T = torch.exp(J * between + J * (within[:, None] + within[None]) / 2)
        return float(torch.linalg.matrix_power(T, L).trace().log())

    energy = -J * (log_z(J + 1e-5) - log_z(J - 1e-5)) / 2e-5 / L**2
    assert energy == pytest.approx(-J * (1 + 1 / math.sqrt(3)) - 0.406 * L**-0.8, abs=2e-3)
    model = Potts(shape=(L, L), categories=q, coupling=J, periodic=True)
    x = run_chain(Gibbs(steps=200), model.build((L, L)), torch.zeros(2000, L, L), generator(2)).x
    assert_mean(model.build((L, L))(x) / L**2, energy)


# The contract ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        Potts(),
        Potts(shape=(2, 3), categories=2, coupling=-0.4, periodic=True),
        model_of("graph", (1, 2, 2), 5),
        CategoricalBoltzmann(shape=(1, 2, 2)),
        model_of("machine", (2,), 5),
    ],
    ids=lambda model: f"{model.component_name}-{model.categories}",
)
def test_they_obey_the_laws(model):
    check_component(model)


def test_what_they_offer_follows_from_the_number_of_states():
    exact = {"log_z", "sample_exact", "ground_state"}
    assert exact <= Potts(shape=(10,)).traits().offers
    assert not exact & Potts(shape=(11,)).traits().offers
    assert exact <= Potts(shape=(16,), categories=2).traits().offers
    assert exact <= CategoricalBoltzmann(shape=(6,), categories=5).traits().offers
    assert not exact & CategoricalBoltzmann(categories=5).traits().offers
    assert CategoricalBoltzmann(categories=5).traits().unit_values == (0, 1, 2, 3, 4)


def test_units_without_couplings_are_not_connected():
    J, h = parameters("machine", (3,), 3)
    J[0, 2] = J[2, 0] = 0
    model = CategoricalBoltzmann(weights=nested(J), biases=nested(h))
    module = model.build((3,))
    assert module.couplings.shape == (2, 3, 3)
    assert model.parameter_count((3,)) == sum(p.numel() for p in module.parameters()) == 27
    assert sorted(map(len, module.blocks())) == [1, 2]


def test_a_state_that_is_not_a_number_has_no_energy_and_a_draw_from_nothing_is_none():
    for kind in KINDS:
        module = model_of(kind, (3,), 3).build((3,))
        x = torch.tensor([[0.0, math.nan, 1.0]])
        assert bool(module(x).isnan().all())
        with frozen(module) as energy:
            assert bool(energy.value_and_grad(x)[0].isnan().all())
        assert bool(module.draw_units(x, torch.tensor([0]), 1.0, generator(0)).isnan().all()) or kind == "graph"
    with torch.no_grad():
        module = model_of("machine", (2,), 3).build((2,))
        module.biases[0, 0] = math.nan
        assert bool(module.sample_exact(5, generator(0)).isnan().all())


def test_energies_know_their_categories():
    assert Energy(model_of("graph", (2,), 5).build((2,))).unit_values == (0.0, 1.0, 2.0, 3.0, 4.0)


J3, H3 = parameters("machine", (2,), 3)


@pytest.mark.parametrize(
    ("kind", "wrong", "says"),
    [
        (Potts, {"shape": (2,), "coupling": ((0, 1), (2, 0))}, "'coupling' is not symmetric"),
        (Potts, {"shape": (3,), "coupling": ((0, 1), (1, 0))}, "'coupling' has 2 rows, but there are 3 units"),
        (Potts, {"shape": (2,), "coupling": ((0, 1), (1, 0)), "periodic": True}, "'periodic' is for a lattice"),
        (Potts, {"field": (0.0, 1.0)}, "'field': row 0 has 2 numbers, but there are 3 categories"),
        (Potts, {"field": ((0.0, 1.0, 2.0),)}, "'field' has 1 rows, but there are 9 units"),
        (CategoricalBoltzmann, {"biases": ((0.0, 1.0),)}, "'biases': row 0 has 2 numbers, but there are 3 categories"),
        (CategoricalBoltzmann, {"biases": ((0.0,) * 3,), "shape": (2,)}, "'biases' has 1 rows, but there are 2 units"),
        (CategoricalBoltzmann, {"weights": nested(J3), "shape": (3,)}, "'weights' has 2 rows of tables, but there are"),
        (CategoricalBoltzmann, {"weights": nested(J3[:, :1])}, "'weights': row 0 has 1 tables, but there are 2 units"),
        (CategoricalBoltzmann, {"weights": nested(J3[..., :2])}, "the table of units 0 and 0 is not 3 x 3"),
        (CategoricalBoltzmann, {"weights": nested(J3 + 1)}, "the table of unit 0 with itself must be zero"),
        (CategoricalBoltzmann, {"weights": nested(J3.triu())}, "'weights' is not symmetric: units 1 and 0 have"),
    ],
)
def test_what_is_no_model_is_refused(kind, wrong, says):
    with pytest.raises(ValueError, match=says):
        kind(**wrong)
