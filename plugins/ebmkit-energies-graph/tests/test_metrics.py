"""Metrics on views whose answers are known."""

from types import SimpleNamespace

import pytest
import torch
from ebmkit_energies_graph import ImportanceKL, PairDistances, Plasma, SpinChain

FALSE_ALARM = 4.9  # standard errors at 1e-6


def view(data, energy, samples=None):
    """The part of a view that the metrics read."""
    rng = torch.Generator().manual_seed(8)
    points = {split: data.load(split, torch.Generator().manual_seed(k)).x for k, split in enumerate(("train", "test"))}
    return SimpleNamespace(
        spec=SimpleNamespace(data=data),
        data=points.get,
        energy=energy,
        samples=lambda n: samples[:n],
        device=torch.device("cpu"),
        rng=rng,
    )


def test_the_truth_has_no_divergence_whatever_its_constant():
    data = Plasma(particles=4, size=10, test_size=500)
    found = ImportanceKL().measure(view(data, lambda x: 7 - data.log_prob(x)))
    assert found["importance_kl"] == pytest.approx(0, abs=1e-12)
    assert found["kl_ess"] == pytest.approx(1)


def test_the_divergence_of_a_chain_is_that_of_a_sum_over_its_states():
    data, other = SpinChain(length=4, coupling=0.3, test_size=200_000), SpinChain(length=4, coupling=0.1, field=0)
    states = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 4)
    log_p, log_q = data.log_prob(states), other.log_prob(states)
    p, off = log_p.exp(), log_p - log_q
    exact = float((p * off).sum())
    weights = (log_q - log_p).exp()
    # The estimate is a mean of `off` plus the logarithm of a mean of weights, both of the same points.
    variance = float((p * (off + weights - exact - 1) ** 2).sum())
    found = ImportanceKL().measure(view(data, lambda x: -3 - other.log_prob(x)))
    assert abs(found["importance_kl"] - exact) < FALSE_ALARM * (variance / 200_000) ** 0.5
    assert found["kl_ess"] == pytest.approx(1 / float((p * weights**2).sum()), rel=0.05)
    assert exact > 0.05


def test_pair_distances_of_other_draws_are_near_the_floor_and_of_scaled_ones_as_far_as_scaled():
    data = Plasma(particles=3, size=4_000, test_size=4_000)
    x = data.load("train", torch.Generator().manual_seed(9)).x
    same = PairDistances().measure(view(data, None, x))
    assert same["pair_distances"] < 0.05
    assert same["pair_distances_floor"] < 0.05
    mean = float(torch.stack([(x[:, i] - x[:, j]).norm(dim=1) for i in range(3) for j in range(i)]).mean())
    scaled = PairDistances().measure(view(data, None, 1.5 * x))
    assert scaled["pair_distances"] == pytest.approx(0.5 * mean, abs=0.05)


def test_a_single_particle_has_no_pairs():
    question = SimpleNamespace(event=(1, 3))
    assert "a single one" in PairDistances().refusal(question)
    assert PairDistances().refusal(SimpleNamespace(event=(2, 3))) is None
