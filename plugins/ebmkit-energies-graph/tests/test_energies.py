"""Energies against their symmetries and their formulas."""

import math

import pytest
import torch
from ebmkit_energies_graph import EnergyAttention, MessagePassing


def built(model, event):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return model.build(event).requires_grad_(False)


def sets(n=6, d=3):
    return torch.randn(20, n, d, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("layers", [0, 1, 2])
def test_the_energy_of_a_set_has_no_order_and_no_direction(layers):
    module, x = built(MessagePassing(layers=layers, width=8), (6, 3)), sets()
    energy = module(x)
    turn, _ = torch.linalg.qr(torch.randn(3, 3, generator=torch.Generator().manual_seed(2)))
    torch.testing.assert_close(module(x[:, torch.tensor([3, 1, 5, 0, 2, 4])]), energy)
    torch.testing.assert_close(module(x @ turn), energy)
    torch.testing.assert_close(module.interaction(x + 3.0), module.interaction(x))
    assert float((module(x + 3.0) - energy).abs().min()) > 1
    assert float(energy.std()) > 0.01


def test_message_passing_is_its_formula():
    """Particle by particle, with messages of all others."""
    module, x = built(MessagePassing(layers=2, width=4, bumps=3, reach=4.0, trap=0.7), (3, 2)), sets(3, 2)
    widths = torch.tensor([4.0 / 50, 4.0 / math.sqrt(50), 4.0])
    for particles, energy in zip(x, module(x), strict=True):

        def bumps(i, j, at=particles):
            return torch.exp(-(at[i] - at[j]).square().sum() / (2 * widths**2))

        h = [torch.zeros(4)] * 3
        for layer in module.layers:
            said = [[layer.message(torch.cat([h[i], h[j], bumps(i, j)])) for j in range(3) if j != i] for i in range(3)]
            h = [h[i] + layer.update(torch.cat([h[i], sum(said[i])])) for i in range(3)]
        pairs = sum(module.pair(torch.cat([h[i] + h[j], bumps(i, j)])) for j in range(3) for i in range(j))
        assert float(energy) == pytest.approx(float(pairs) + 0.35 * float(particles.square().sum()))


def test_without_layers_it_is_a_sum_over_pairs():
    module, x = built(MessagePassing(layers=0, width=8), (6, 3)), sets()
    pairs = sum(module.interaction(x[:, [i, j]]) for i in range(6) for j in range(i))
    torch.testing.assert_close(module.interaction(x), pairs)


def test_with_a_layer_a_third_particle_matters():
    module, x = built(MessagePassing(layers=1, width=8), (6, 3)), sets()
    pairs = sum(module.interaction(x[:, [i, j]]) for i in range(6) for j in range(i))
    assert float((module.interaction(x) - pairs).abs().max()) > 1e-3


def test_its_parameters_suit_sets_of_any_size():
    module = built(MessagePassing(width=8), (6, 3))
    assert module(sets(2, 2)).shape == (20,)
    torch.testing.assert_close(module(sets(1)), sets(1).square().sum((1, 2)) / 2)  # alone in the trap


def test_particles_far_from_each_other_do_not_interact():
    """Beyond the reach all Gaussians are zero: the rest of the energy does not depend on where they are."""
    module = built(MessagePassing(width=8, reach=0.5), (2, 1))
    far = [module.interaction(torch.tensor([[[0.0], [r]]])) for r in (10.0, 20.0)]
    torch.testing.assert_close(*far)


def spins(n=5):
    return 2 * torch.randint(2, (7, n), generator=torch.Generator().manual_seed(3)).double() - 1


def test_attention_is_its_formula():
    module, x = built(EnergyAttention(heads=2, width=3), (5,)), spins()
    module.bias.copy_(torch.linspace(-1, 1, 5))
    for state, energy in zip(x, module(x), strict=True):
        tokens = [module.position[i] + state[i] * module.value[i] for i in range(5)]
        expected = -float(state @ module.bias)
        for Q, K in zip(module.query, module.key, strict=True):
            for i in range(5):
                scores = [float((tokens[i] @ Q) @ (tokens[j] @ K)) / math.sqrt(3) for j in range(5) if j != i]
                expected -= math.sqrt(3) * math.log(sum(map(math.exp, scores)))
        assert float(energy) == pytest.approx(expected)


def test_small_scores_are_couplings_of_pairs():
    """-1/beta log sum exp(beta s) = -log(n - 1) / beta - mean s + O(s^2): quadratic in the spins."""
    module, x = built(EnergyAttention(heads=1, width=3), (5,)), spins()
    module.query.mul_(1e-5)
    tokens = module.position + x.unsqueeze(2) * module.value
    scores = (tokens @ module.query[0]) @ (tokens @ module.key[0]).mT
    off_diagonal = scores.sum((1, 2)) - scores.diagonal(dim1=1, dim2=2).sum(1)
    expected = -5 * math.sqrt(3) * math.log(4) - off_diagonal / 4
    torch.testing.assert_close(module(x), expected, rtol=0, atol=1e-8)
    assert float(off_diagonal.std()) > 1e-6
