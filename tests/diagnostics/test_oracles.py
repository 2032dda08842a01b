"""The figures against closed forms: nothing here needs arviz.

Where a figure is random, its mean over many coordinates is compared. Bounds of "n standard errors" come from the spread
over coordinates, which are independent; six of them are a false alarm of 2e-9.
"""

import math
from statistics import NormalDist

import pytest
import torch

from ebmkit.diagnostics import coordinates
from ebmkit.diagnostics.autocorrelation import autocorrelation, autocovariance
from ebmkit.diagnostics.ess import ess_bulk, ess_mean, ess_tail
from ebmkit.diagnostics.mcse import mcse_mean
from ebmkit.diagnostics.ranks import folded, normal_scores, quantiles
from ebmkit.diagnostics.rhat import rhat
from ebmkit.diagnostics.split import split
from ebmkit.testing.device import pretended_device
from tests.diagnostics.chains import autoregressive, normal, uniform

FIGURES = [rhat, ess_bulk, ess_tail, ess_mean, mcse_mean]
figures = pytest.mark.parametrize("figure", FIGURES, ids=lambda f: f.__name__)


def assert_mean(found, expected, within):
    """The mean over coordinates, up to a bias of `within` of it and six standard errors."""
    error = float(found.std()) / math.sqrt(found.numel())
    assert abs(float(found.mean()) - expected) < within * expected + 6 * error, (found.mean(), expected, error)
    assert 6 * error < 0.1 * expected  # so that it could fail


# effective numbers


@pytest.mark.parametrize("ess", [ess_bulk, ess_tail, ess_mean])
@pytest.mark.parametrize(("chains", "draws"), [(4, 1000), (1, 2001)])
def test_independent_draws_are_worth_themselves(ess, chains, draws):
    """The smaller of two tails is a little below."""
    found = ess(normal(chains, draws, 200))
    assert_mean(found, chains * draws, within=0.05)


@pytest.mark.parametrize("rho", [-0.5, 0.3, 0.6, 0.9, 0.95])
def test_autoregressive_chains_have_a_known_effective_number(rho):
    """S (1 - rho) / (1 + rho); normal scores of Gaussian draws are the draws, nearly."""
    x = autoregressive(4, 4000, 100, rho)
    for ess in (ess_bulk, ess_mean):
        assert_mean(ess(x), 16_000 * (1 - rho) / (1 + rho), within=0.05)


def test_tails_of_autoregressive_chains_are_worth_what_their_indicators_are():
    """Indicators at the 5 % quantile have the autocorrelation of a bivariate normal law: summed here by quadrature."""
    rho, q = 0.8, NormalDist().inv_cdf(0.05)

    def correlation(r):
        # Owen: the derivative of P(X <= q, Y <= q) in r is the bivariate density at (q, q).
        steps = torch.linspace(0, r, 2001, dtype=torch.float64)
        density = torch.exp(-(q**2) / (1 + steps)) / (2 * math.pi * (1 - steps**2).sqrt())
        return float(torch.trapezoid(density, steps)) / (0.05 * 0.95)

    tau = 1 + 2 * sum(correlation(rho**t) for t in range(1, 80))
    assert_mean(ess_tail(autoregressive(4, 4000, 100, rho)), 16_000 / tau, within=0.08)


def test_antithetic_draws_are_worth_more_up_to_a_bound():
    x = autoregressive(4, 1000, 50, -0.5)
    assert_mean(ess_mean(x), 3 * 4000, within=0.05)
    alternating = (-1.0) ** torch.arange(1000).view(1, -1) * torch.ones(4, 1, dtype=torch.float64)
    assert float(ess_mean(alternating)) == pytest.approx(4000 * math.log10(4000))


def test_chains_that_disagree_are_worth_hardly_more_than_one_draw_each():
    x = normal(4, 500, 20) + 100 * torch.arange(4).view(4, 1, 1)
    for ess in (ess_bulk, ess_mean):
        assert float(ess(x).max()) < 8


# errors of means


@pytest.mark.parametrize("rho", [0.0, 0.8, -0.5])
def test_the_error_of_a_mean_is_its_spread(rho):
    x = autoregressive(4, 500, 1000, rho, seed=1)
    exact = math.sqrt((1 + rho) / (1 - rho) / 2000)
    assert_mean(mcse_mean(x), exact, within=0.05)
    spread = float(x.mean((0, 1)).square().mean().sqrt())
    assert abs(spread / exact - 1) < 6 / math.sqrt(2 * 1000)


# R-hat


def test_chains_that_agree():
    for x in (normal(4, 1000, 100), normal(4, 1000, 100) / normal(4, 1000, 100, seed=1)):
        assert float((rhat(x) - 1).abs().max()) < 0.01


def test_chains_that_differ_in_their_means():
    """Two laws that hardly overlap have normal scores of two halves of a normal law: means +-m, m^2 = 2/pi."""
    x = normal(2, 2000, 20) + torch.tensor([0.0, 10.0]).view(2, 1, 1)
    m2 = 2 / math.pi
    # Four half chains, means -m, -m, m, m: their variance is 4/3 m^2; within them it is 1 - m^2.
    assert float((rhat(x) - math.sqrt(1 + 4 / 3 * m2 / (1 - m2))).abs().max()) < 0.05
    # Means 0, 1, 2, 3, each of two half chains, have the variance 10/7; ranks change little.
    assert_mean(rhat(normal(4, 500, 20) + torch.arange(4).view(4, 1, 1)), math.sqrt(1 + 10 / 7), within=0.03)


def test_chains_that_differ_in_their_scales_show_by_folding():
    x = normal(4, 1000, 20) * torch.tensor([1.0, 1.0, 1.0, 5.0]).view(4, 1, 1)
    assert float(rhat(x).min()) > 1.1
    assert float(rhat(x.abs()).min()) > 1.1
    mirrored = torch.cat([x, -x], dim=1)  # whose means are all zero
    assert float(rhat(mirrored).min()) > 1.1


def test_chains_that_drift_alike_show_by_splitting():
    x = normal(4, 1000, 20) + torch.linspace(0, 3, 1000).view(1, -1, 1)
    assert float(rhat(x).min()) > 1.2


def test_ranks_do_not_see_a_change_of_scale():
    x = autoregressive(4, 301, 10, 0.5)
    torch.testing.assert_close(ess_bulk(x.exp()), ess_bulk(x), rtol=1e-12, atol=0)
    torch.testing.assert_close(ess_bulk(-2 * x), ess_bulk(x), rtol=1e-9, atol=0)
    torch.testing.assert_close(rhat(-2 * x), rhat(x), rtol=1e-9, atol=0)


# what they are made of


def test_split_leaves_the_middle_out():
    x = torch.arange(10).view(2, 5)
    assert split(x).tolist() == [[0, 1], [5, 6], [3, 4], [8, 9]]
    assert split(x[:, :4]).tolist() == [[0, 1], [5, 6], [2, 3], [7, 8]]
    assert split(torch.zeros(3, 7, 2, 4)).shape == (6, 3, 2, 4)


def test_normal_scores_of_ranks_and_of_equal_draws():
    x = torch.tensor([[0.3, 7.0, -2.0], [7.0, 7.0, 0.1]], dtype=torch.float64).unsqueeze(2)
    ranks = [[3, 5, 1], [5, 5, 2]]
    expected = [[NormalDist().inv_cdf((r - 3 / 8) / (6 + 1 / 4)) for r in row] for row in ranks]
    torch.testing.assert_close(normal_scores(x).squeeze(2), torch.tensor(expected, dtype=torch.float64))
    same = normal_scores(torch.full((2, 4, 1), 5.0, dtype=torch.float64))
    torch.testing.assert_close(same, torch.zeros_like(same), rtol=0, atol=1e-12)


def test_folded_draws_are_distances_from_the_mean_of_the_two_in_the_middle():
    x = torch.tensor([[1.0, 2.0], [5.0, 100.0]], dtype=torch.float64).unsqueeze(2)
    assert folded(x).squeeze(2).tolist() == [[2.5, 1.5], [1.5, 96.5]]


@pytest.mark.parametrize("size", [4, 37, 400])
def test_quantiles_are_linear_between_draws(size):
    x = normal(1, size, 5)
    for share, found in zip((0.05, 0.5, 0.95), quantiles(x, 0.05, 0.5, 0.95), strict=True):
        torch.testing.assert_close(found, x[0].quantile(share, dim=0))


def test_autocovariances_are_sums_of_products():
    x = normal(3, 17, 2) + 5
    centred = x - x.mean(1, keepdim=True)
    for t in range(17):
        expected = (centred[:, : 17 - t] * centred[:, t:]).sum(1) / 17
        torch.testing.assert_close(autocovariance(x, 17)[:, t], expected, rtol=1e-9, atol=1e-12)


def test_autocorrelation_of_autoregressive_chains():
    rho = 0.8
    found = autocorrelation(autoregressive(200, 5000, 1, rho), 20).mean((0, 2))
    torch.testing.assert_close(found, rho ** torch.arange(20, dtype=torch.float64), rtol=0, atol=0.02)
    assert autocorrelation(normal(3, 50, 2, 4), 7).shape == (3, 7, 2, 4)
    assert bool(autocorrelation(torch.full((2, 10), 0.1), 4).isnan().all())


# shapes, kinds of numbers, devices, and what there is no figure for


@figures
def test_coordinates_are_measured_by_themselves(figure, monkeypatch):
    x = autoregressive(3, 75, 12, 0.5)
    whole = figure(x)
    for block in (1, 3 * 75 * 5):  # blocks of one, and of five and a remainder
        monkeypatch.setattr(coordinates, "BLOCK", block)
        torch.testing.assert_close(figure(x), whole, rtol=1e-12, atol=0)
    torch.testing.assert_close(figure(x.view(3, 75, 1, 3, 4)), whole.view(1, 3, 4), rtol=1e-12, atol=0)
    torch.testing.assert_close(figure(x[..., 7]), whole[7], rtol=1e-12, atol=0)


@figures
def test_single_precision_is_read_and_not_calculated_with(figure):
    x = autoregressive(4, 100, 5, 0.5).float() + 1000
    found = figure(x)
    assert found.dtype == torch.float64
    torch.testing.assert_close(found, figure(x.double()), rtol=0, atol=0)


@figures
def test_states_of_discrete_models_may_be_integers(figure):
    x = (3 * uniform(4, 100, 5)).long()
    torch.testing.assert_close(figure(x), figure(x.double()), rtol=0, atol=0)


@figures
def test_there_is_no_figure_for_what_never_moves_is_too_short_or_is_not_finite(figure):
    moving = normal(4, 50, 4)
    x = moving.clone()
    x[..., 0] = 0.1
    x[1, 3, 1] = math.nan
    x[1, 3, 2] = math.inf
    found = figure(x)
    assert found.isnan().tolist() == [True, True, True, False]
    torch.testing.assert_close(found[3], figure(moving)[3], rtol=0, atol=0)
    for draws in range(4):
        assert figure(moving[:, :draws]).isnan().tolist() == [True] * 4
    assert bool(figure(moving[:, :4]).isfinite().all())


def test_one_chain_has_no_rhat():
    assert bool(rhat(normal(1, 100, 3)).isnan().all())


def test_no_chain_moves_and_they_differ():
    x = 0.1 * torch.arange(3, dtype=torch.float64).view(3, 1).expand(3, 40)
    assert float(rhat(x)) == math.inf
    assert float(ess_bulk(x)) < 4


@figures
def test_it_is_calculated_where_the_draws_are(figure):
    x = autoregressive(4, 61, 6, 0.5)
    with pretended_device() as gpu:
        there = x.to(gpu.device)
        with gpu.watched() as seen:
            found = figure(there)
        assert found.device == there.device
        assert not seen.host_syncs
        torch.testing.assert_close(found.cpu(), figure(x), rtol=1e-12, atol=0)


def test_draws_that_are_read_in_parts_have_the_same_figures(monkeypatch):
    """As those of a run are, with the draws of a coordinate far apart in their file."""
    x = autoregressive(4, 60, 7, 0.5)
    expected = [figure(x) for figure in (rhat, ess_bulk, ess_tail)]
    monkeypatch.setattr(coordinates, "SLAB", 3 * 4 * 60)
    monkeypatch.setattr(coordinates, "BLOCK", 2 * 4 * 60)
    by_draw = x.transpose(0, 1).contiguous().transpose(0, 1)
    for figure, known in zip((rhat, ess_bulk, ess_tail), expected, strict=True):
        # Sums of other blocks may be added in another order.
        torch.testing.assert_close(figure(by_draw), known, rtol=1e-12, atol=0)
