"""`ising`: bonds counted one by one, normalisers by transfer matrices, and Onsager's energy."""

import math
from itertools import product

import pytest
import torch

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import frozen
from ebmkit.components.models.ising import Ising
from ebmkit.components.models.nets import ising, swept_lattice
from ebmkit.components.models.nets.checkerboard import _places
from ebmkit.components.samplers.gibbs import Gibbs
from ebmkit.maths import enumeration
from tests.components.oracles import generator
from tests.statistics.transitions import every_state, number, rows, stationary_error, transition_matrix


def bonds(shape, periodic):
    """Pairs of neighbours, from one unit and one axis at a time."""
    found = set()
    for place in product(*map(range, shape)):
        for axis, length in enumerate(shape):
            ahead = list(place)
            ahead[axis] += 1
            if ahead[axis] == length:
                if not periodic or length < 3:
                    continue
                ahead[axis] = 0
            found.add(frozenset((place, tuple(ahead))))
    return [tuple(pair) for pair in found]


def spins(n, shape, seed=0):
    return 2.0 * torch.randint(2, (n, *shape), generator=generator(seed)) - 1


SHAPES = [(1,), (2,), (10,), (1, 4, 4), (3, 5), (2, 3, 4), (5, 1)]


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("values", ["spin", "binary"])
def test_the_energy_is_that_of_its_bonds(shape, periodic, values):
    field = tuple(torch.linspace(-1, 2, math.prod(shape)).tolist())
    module = Ising(shape=shape, coupling=0.7, field=field, periodic=periodic, values=values).build(shape)
    x = spins(6, shape) if values == "spin" else (spins(6, shape) + 1) / 2
    expected = -x.flatten(1) @ torch.tensor(field)
    for one, other in bonds(shape, periodic):
        expected = expected - 0.7 * x[(slice(None), *one)] * x[(slice(None), *other)]
    torch.testing.assert_close(module(x), expected)


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("shape", [*SHAPES, (4, 4)], ids=str)
def test_shifts_of_the_lattice_are_its_table_of_neighbours(shape, periodic, monkeypatch):
    field = tuple(torch.linspace(-1, 2, math.prod(shape)).tolist())
    module = Ising(shape=shape, coupling=0.7, field=field, periodic=periodic).build(shape)
    x = spins(6, shape).flatten(1)
    asked = [None, *module.blocks(), torch.arange(math.prod(shape)).flip(0)]
    by_table = [module.local_field(x, sites) for sites in asked]
    monkeypatch.setattr(ising, "MANY", 0)
    for sites, expected in zip(asked, by_table, strict=True):
        torch.testing.assert_close(module.local_field(x, sites), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_one_field_is_that_of_all_units(shape):
    one = Ising(shape=shape, field=0.3).build(shape)
    each = Ising(shape=shape, field=(0.3,) * math.prod(shape)).build(shape)
    torch.testing.assert_close(one(spins(5, shape)), each(spins(5, shape)))


@pytest.mark.parametrize("shape", [(3, 4), (1, 4, 4)], ids=str)
def test_a_matrix_of_the_same_bonds_is_the_same_model(shape):
    d = math.prod(shape)
    units = torch.arange(d).view(shape)
    J = torch.zeros(d, d)
    for one, other in bonds(shape, True):
        J[units[one], units[other]] = J[units[other], units[one]] = 0.4
    rows, field = tuple(map(tuple, J.tolist())), tuple(torch.linspace(-1, 1, d).tolist())
    lattice = Ising(shape=shape, coupling=0.4, field=field, periodic=True).build(shape)
    matrix = Ising(shape=shape, coupling=rows, field=field).build(shape)
    x = spins(50, shape)
    for one, other in zip(lattice.energy_and_grad(x), matrix.energy_and_grad(x), strict=True):
        torch.testing.assert_close(one, other)
    assert [block.tolist() for block in lattice.blocks()] == [block.tolist() for block in matrix.blocks()]
    sites = torch.tensor([3, 0, 7])
    torch.testing.assert_close(lattice.log_odds(x, sites), matrix.log_odds(x, sites))
    torch.testing.assert_close(lattice.log_z(), matrix.log_z())
    assert not any(parameter.requires_grad for parameter in matrix.parameters())


@pytest.mark.parametrize("shape", [(2, 2), (5, 4), (4, 6), (3, 4, 2)], ids=str)
@pytest.mark.parametrize("periodic", [False, True])
def test_a_lattice_is_a_checkerboard(shape, periodic):
    periodic = periodic and all(length % 2 == 0 for length in shape)
    blocks = Ising(shape=shape, periodic=periodic).build(shape).blocks()
    parity = sum(torch.meshgrid(*map(torch.arange, shape), indexing="ij")).flatten() % 2
    assert [block.tolist() for block in blocks] == [(parity == k).nonzero()[:, 0].tolist() for k in (0, 1)]


def test_rings_of_odd_length_need_a_third_colour():
    blocks = Ising(shape=(5,), periodic=True).build((5,)).blocks()
    assert sorted(unit for block in blocks for unit in block.tolist()) == list(range(5))
    assert len(blocks) == 3
    assert len(Ising(shape=(7, 7)).build((7, 7)).blocks()) == 2


def transfer(J, h, length, periodic):
    """log Z of a chain of spins."""
    T = torch.tensor([[J * a * b + h * (a + b) / 2 for b in (-1, 1)] for a in (-1, 1)]).exp()
    if periodic:
        return float(torch.linalg.matrix_power(T, length).trace().log())
    ends = torch.tensor([-h / 2, h / 2]).exp()
    return float((ends @ torch.linalg.matrix_power(T, length - 1) @ ends).log())


@pytest.mark.parametrize("length", [1, 2, 3, 8, 16])
@pytest.mark.parametrize("periodic", [False, True])
def test_the_normaliser_of_a_chain_is_that_of_its_transfer_matrix(length, periodic):
    module = Ising(shape=(length,), coupling=0.8, field=-0.3, periodic=periodic).build((length,))
    closed = periodic and length > 2
    assert float(module.log_z()) == pytest.approx(transfer(0.8, -0.3, length, closed), abs=1e-12)


def kaufman(K, n):
    """log Z of the n x n torus without a field (Kaufman, Phys. Rev. 76, 1949)."""
    gamma = [2 * K + math.log(math.tanh(K))]
    for r in range(1, 2 * n):
        c = math.cosh(2 * K) ** 2 / math.sinh(2 * K) - math.cos(math.pi * r / n)
        gamma.append(math.acosh(c))
    odd, even = gamma[1::2], gamma[0::2]
    total = (
        math.prod(2 * math.cosh(n * g / 2) for g in odd)
        + math.prod(2 * math.sinh(n * g / 2) for g in odd)
        + math.prod(2 * math.cosh(n * g / 2) for g in even)
        + math.prod(2 * math.sinh(n * g / 2) for g in even)
    )
    return n * n / 2 * math.log(2 * math.sinh(2 * K)) + math.log(total / 2)


@pytest.mark.parametrize("coupling", [0.2, 0.5])
@pytest.mark.parametrize("n", [3, 4])
def test_the_normaliser_of_a_torus_is_kaufmans(n, coupling):
    module = Ising(shape=(n, n), coupling=coupling, periodic=True).build((n, n))
    assert float(module.log_z()) == pytest.approx(kaufman(coupling, n), abs=1e-10)


def onsager(K):
    """The energy per spin of the infinite lattice in the plane, in units of the temperature."""
    k = 2 * math.sinh(2 * K) / math.cosh(2 * K) ** 2
    t = (torch.arange(20_000) + 0.5) / 20_000 * math.pi / 2
    elliptic = float((1 / (1 - (k * t.sin()) ** 2).sqrt()).mean()) * math.pi / 2
    return -K / math.tanh(2 * K) * (1 + 2 / math.pi * (2 * math.tanh(2 * K) ** 2 - 1) * elliptic)


def test_onsagers_energy_is_the_slope_of_kaufmans_normaliser():
    """U = -K d(log Z / N)/dK, on a torus that is large against the correlation length."""
    slope = (kaufman(0.3001, 20) - kaufman(0.2999, 20)) / 0.0002 / 400
    assert onsager(0.3) == pytest.approx(-0.3 * slope, abs=1e-5)


@pytest.mark.parametrize(("coupling", "ordered"), [(0.3, False), (0.6, True)])
def test_chains_on_a_large_lattice_have_onsagers_energy(coupling, ordered):
    """Far from the critical point, where 24 x 24 spins are as good as infinitely many to 1e-5."""
    shape, chains = (24, 24), 200
    module = Ising(shape=shape, coupling=coupling, periodic=True).build(shape)
    x = torch.ones(chains, *shape) if ordered else spins(chains, shape)
    x = run_chain(Gibbs(steps=60), module, x, generator(1)).x
    with frozen(module) as energy:
        found = energy(x) / math.prod(shape)
    error = float(found.std()) / math.sqrt(chains)
    assert error < 0.003
    assert abs(float(found.mean()) - onsager(coupling)) < 5.5 * error  # false alarm 4e-8


def test_what_it_offers_follows_from_its_size():
    assert {"sample_exact", "log_z", "conditionals"} <= Ising(shape=(4, 4)).traits().offers
    assert Ising(shape=(17,)).traits().offers == {"energy", "gradient", "conditionals", "blocks", "sweeps"}
    assert "sweeps" not in Ising(shape=(17,), periodic=True).traits().offers
    assert (Ising().traits().space, Ising(values="binary").traits().space) == ("spin", "binary")
    assert Ising(shape=(2, 3)).event() == (2, 3)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        (
            {"shape": (2,), "coupling": ((0.0, 1.0), (2.0, 0.0))},
            "row 1 has 2.0 in column 0, but row 0 has 1.0 in column 1",
        ),
        ({"shape": (2,), "coupling": ((0.0, 1.0), (1.0, 0.5))}, "row 1 has 0.5 on the diagonal"),
        ({"shape": (2,), "coupling": ((0.0, 1.0), (1.0,))}, "row 1 has 1 numbers, but there are 2 units"),
        ({"shape": (3,), "coupling": ((0.0, 1.0), (1.0, 0.0))}, "'coupling' has 2 rows, but there are 3 units"),
        ({"coupling": ((0.0, 1.0), (1.0, 0.0))}, "'coupling' has 2 rows, but there are 16 units"),
        ({"shape": (2,), "coupling": ((0.0, 1.0), (1.0, 0.0)), "periodic": True}, "'periodic' is for a lattice"),
        ({"shape": (2, 2), "field": (1.0, 2.0)}, "'field' has 2 numbers, but there are 4 units"),
    ],
)
def test_what_is_no_coupling_is_refused(parameters, says):
    with pytest.raises(ValueError, match=says):
        Ising(**parameters)


# Sweeps on half lattices ----------------------------------------------------------------------------------------------


def swept(shape, periodic, values):
    field = tuple(torch.linspace(-1, 2, math.prod(shape)).tolist())
    return Ising(shape=shape, coupling=0.7, field=field, periodic=periodic, values=values).build(shape)


EVEN = [(2,), (10,), (1, 4, 4), (4, 6), (2, 4, 6), (2, 2)]
SWEPT = [*((shape, False) for shape in [*SHAPES, (3, 3, 3)]), *((shape, True) for shape in EVEN)]


@pytest.mark.parametrize("values", ["spin", "binary"])
@pytest.mark.parametrize(("shape", "periodic"), SWEPT, ids=str)
def test_half_lattices_have_the_field_and_the_energy_of_the_whole_one(shape, periodic, values):
    module, (low, high) = swept(shape, periodic, values), enumeration.VALUES[values]
    x = spins(6, shape).flatten(1)
    x = x if values == "spin" else (x + 1) / 2
    (board,), _ = module._boards(x)
    assert torch.equal(board.load(x), torch.zeros(6))
    board.store(found := torch.empty_like(x), torch.zeros(6))
    assert torch.equal(found, x)
    odds = torch.zeros(6, *shape)
    for colour in (0, 1):
        found = board.fields[colour] + (high - low) ** 2 * 0.7 * board.around(colour)
        for site, unit in _places(odds, found, colour):
            site.copy_(unit)
    torch.testing.assert_close(odds.flatten(1), (high - low) * module.local_field(x), rtol=0, atol=1e-12)
    torch.testing.assert_close(module.sweep(x, 1.0, generator(0))[1], module(x.view(-1, *shape)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("temperature", [1.0, 1.7])
@pytest.mark.parametrize("values", ["spin", "binary"])
@pytest.mark.parametrize(
    ("shape", "periodic"), [((1,), False), ((2, 2), False), ((4,), True), ((3,), False), ((3, 1), False)], ids=str
)
def test_a_sweep_is_the_product_of_exact_draws(shape, periodic, values, temperature):
    module = swept(shape, periodic, values)
    states = every_state(shape, enumeration.VALUES[values])
    pi = (-module(states) / temperature).softmax(0)
    sampler = Gibbs(temperature=temperature)
    P = transition_matrix(sampler, module, states)
    assert stationary_error(P, pi) < 1e-12
    expected, flat = torch.eye(len(pi)), states.flatten(1)
    for block in module.blocks():
        others = flat.clone()
        others[:, block] = 0
        _, group = others.unique(dim=0, return_inverse=True)
        same = (group.unsqueeze(0) == group.unsqueeze(1)) * pi
        expected = expected @ (same / same.sum(1, keepdim=True))
    torch.testing.assert_close(P, expected, rtol=0, atol=1e-12)

    def heated(rng):  # with a temperature for each chain
        with frozen(module) as energy:
            hot = energy.at(torch.full((len(states),), temperature))
            return number(Gibbs().step(hot, Gibbs().init(hot, states.clone(), rng), rng)[0].x, states)

    torch.testing.assert_close(rows(heated, chains=len(states), states=len(states)), P, rtol=0, atol=1e-12)


def test_half_lattices_of_a_chain_follow_states_that_were_changed():
    """They are not read again from the states that they returned, but from any other and from changed ones."""
    module = swept((4, 4), True, "spin")
    x, hot = spins(5, (4, 4)).flatten(1), 1e9
    with module.baked():
        one, _ = module.sweep(x, hot, generator(1))
        torch.testing.assert_close(module.sweep(one.view(5, 4, 4).flatten(1), hot, generator(2))[1], module(one))
        two, _ = module.sweep(x, hot, generator(3))
        two.neg_()
        torch.testing.assert_close(module.sweep(two.view(5, 4, 4).flatten(1), hot, generator(4))[1], module(two))
        torch.testing.assert_close(module.sweep(one, hot, generator(5))[1], module(one))


@pytest.mark.parametrize("units", [16, 32])
def test_half_lattices_of_a_few_chains_each_do_so_too(units, monkeypatch):
    monkeypatch.setattr(swept_lattice, "UNITS", units)
    test_half_lattices_of_a_chain_follow_states_that_were_changed()


def test_each_chain_has_its_temperature_also_if_not_all_are_swept_together(monkeypatch):
    monkeypatch.setattr(swept_lattice, "UNITS", 32)
    x, cold = torch.ones(5, 16), 1e-6
    temperature = torch.tensor([[cold], [1e9], [cold], [1e9], [cold]])
    after, energy = swept((4, 4), True, "spin").sweep(x, temperature, generator(1))
    assert (after == 1).all(1).tolist() == [True, False, True, False, True]
    assert len(energy.unique()) == 1


@pytest.mark.parametrize("wrong", [0.3, 3.0, -3.0, 0.0, math.nan])
def test_states_that_are_none_and_fields_that_are_no_numbers_are_not_hidden(wrong):
    x = spins(3, (4, 4)).flatten(1)
    x[1, 5] = wrong
    after, energy = swept((4, 4), True, "spin").sweep(x, 1.0, generator(1))
    assert after.isnan().all(1).tolist() == energy.isnan().tolist() == [False, True, False]
    module = swept((4, 4), True, "spin")
    module.field[3] = math.nan
    assert bool(module.sweep(spins(3, (4, 4)).flatten(1), 1.0, generator(1))[0].isnan().all())
