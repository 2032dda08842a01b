"""Noise and starting points of sets of particles."""

import pytest
import torch
from ebmkit_energies_graph import Independent, Lattice, Plasma
from ebmkit_energies_graph.lattice_starts import central_sites
from torch.distributions import MultivariateNormal


def generator():
    return torch.Generator().manual_seed(4)


def test_the_noise_is_one_gaussian_for_all_particles():
    data = torch.randn(500, 4, 2, generator=generator()) @ torch.tensor([[1.0, 0.4], [0.0, 0.5]]) + 1
    density = Independent(inflate=1.3).build((4, 2), data)
    particles = data.reshape(-1, 2)
    exact = MultivariateNormal(particles.mean(0), 1.3 * torch.cov(particles.T))
    x = data[:20]
    torch.testing.assert_close(density.log_prob(x), exact.log_prob(x).sum(1))
    order = torch.tensor([2, 0, 3, 1])
    torch.testing.assert_close(density.log_prob(x[:, order]), density.log_prob(x))


def test_noise_needs_varied_particles():
    with pytest.raises(ValueError, match="do not span 2 coordinates"):
        Independent().build((4, 2), torch.ones(10, 4, 2))


@pytest.mark.parametrize(("n", "d"), [(1, 2), (4, 2), (6, 2), (8, 3), (5, 1), (3, 5)])
def test_sites_are_apart_and_centred(n, d):
    sites = central_sites(n, d)
    assert sites.shape == (n, d)
    torch.testing.assert_close(sites.mean(0), torch.zeros(d))
    if n > 1:
        assert float(torch.pdist(sites).min()) == pytest.approx(1)


def test_starts_occupy_all_sites_in_random_order():
    starts = Lattice(spacing=2.0, jitter=0.0).build((6, 2))
    x = starts.draw(torch.empty(1_000, 6, 2), generator())
    assert torch.equal(x.sort(1).values.unique(dim=0), starts.sites.sort(0).values[None])
    first = (x[:, 0].unsqueeze(1) == starts.sites).all(2).double().mean(0)
    assert float((first - 1 / 6).abs().max()) < 4.9 * (5 / 36 / 1_000) ** 0.5 * 1.1  # 1e-6 for each of six


def test_starts_of_charges_have_lower_energies_than_independent_ones():
    """What they are for: the worst of a thousand."""
    plasma, like = Plasma(particles=6), torch.empty(1_000, 6, 2)
    shaken = Lattice().build((6, 2)).draw(like, generator())
    independent = torch.randn(1_000, 6, 2, generator=generator()) * shaken.std()
    assert float(plasma.log_prob(shaken).min()) > float(plasma.log_prob(independent).min()) + 5
