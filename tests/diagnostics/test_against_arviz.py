"""Every figure is that of arviz, to 1e-6, whatever chains are like.

Short chains of few values may differ for a reason that is nobody's mistake: where a sum of two autocorrelations is
exactly zero, rounding decides whether Geyer's sequence ends. That happens to one in thousands, and to none of these.
"""

import math

import numpy as np
import pytest
import torch

from ebmkit.diagnostics.autocorrelation import autocorrelation
from ebmkit.diagnostics.ess import ess_bulk, ess_mean, ess_tail
from ebmkit.diagnostics.mcse import mcse_mean
from ebmkit.diagnostics.rhat import rhat
from tests.diagnostics.chains import autoregressive, normal, repeated, uniform

FIGURES = {
    "rhat": (rhat, lambda az, x: az.rhat(x)),
    "ess_bulk": (ess_bulk, lambda az, x: az.ess(x, method="bulk")),
    "ess_tail": (ess_tail, lambda az, x: az.ess(x, method="tail")),
    "ess_mean": (ess_mean, lambda az, x: az.ess(x, method="mean")),
    "mcse_mean": (mcse_mean, lambda az, x: az.mcse(x, method="mean")),
}

apart = torch.arange(4, dtype=torch.float64).view(4, 1, 1)

CASES = {
    "independent": normal(4, 500, 5),
    "an odd number of draws": normal(3, 501, 5),
    "a prime number of chains and draws": normal(7, 211, 5),
    "one chain": normal(1, 300, 5),
    "one chain, odd": normal(1, 257, 5),
    "one chain, a quantile that falls on a draw": normal(1, 101, 5),
    "the same, where the place is rounded": normal(1, 61, 5),
    "many chains": normal(64, 20, 5),
    "fair coins": (uniform(4, 200, 8) < 0.5).double(),
    "unfair coins": (uniform(4, 200, 8) < 0.8).double(),
    "rare events": (uniform(4, 201, 8) < 0.02).double(),
    "spins": 2.0 * (uniform(3, 99, 8) < 0.5) - 1,
    "dice": (6 * uniform(2, 150, 8)).floor(),
    "tenths": 0.1 * (6 * uniform(2, 151, 8)).floor(),
    "repeated draws": repeated(normal(4, 300, 8), 0.8),
    "antithetic": autoregressive(4, 400, 5, -0.9),
    "very antithetic": autoregressive(4, 401, 5, -0.999),
    "alternating": (-1.0) ** torch.arange(200).view(1, -1, 1) + 0.01 * normal(4, 200, 5),
    "autocorrelated": autoregressive(4, 1000, 5, 0.9),
    "strongly autocorrelated": autoregressive(4, 1001, 5, 0.999),
    "random walks": normal(4, 300, 5).cumsum(1),
    "heavy tails": normal(4, 300, 5) / normal(4, 300, 5, seed=1),
    "different means": normal(4, 300, 5) + apart,
    "different scales": normal(4, 300, 5) * (1 + apart),
    "drifting": normal(4, 300, 5) + torch.linspace(0, 3, 300).view(1, -1, 1),
    "far from zero": normal(4, 300, 5) + 1e6,
    "tiny": normal(4, 300, 5) * 1e-10,
    "single precision": normal(4, 300, 5).float(),
    "images": normal(2, 60, 12).view(2, 60, 1, 3, 4),
    "scalars": normal(4, 100),
    "stuck at different values": apart.expand(4, 50, 1) + torch.cat([torch.zeros(4, 25, 1), torch.ones(4, 25, 1)], 1),
    **{f"{n} draws": normal(2, n, 5) for n in range(1, 20)},
    **{f"{n} coins": (uniform(3, n, 8) < 0.5).double() for n in range(8, 14)},
}


def theirs(az, figure, x):
    """A number a coordinate."""
    flat = x.reshape(*x.shape[:2], -1).double().numpy()
    found = [FIGURES[figure][1](az, flat[:, :, i]) for i in range(flat.shape[2])]
    return torch.tensor(np.array(found, dtype=float)).view(x.shape[2:])


def differences(found, expected):
    """Relative, and infinite where only one of them is a number."""
    off = (found - expected).abs() / expected.abs()
    off = off.where(found.isnan() == expected.isnan(), math.inf)
    return off.nan_to_num(0.0, posinf=math.inf)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # arviz divides by zero
@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("case", CASES)
def test_it_is_the_figure_of_arviz(arviz, case, figure):
    x = CASES[case]
    found, expected = FIGURES[figure][0](x), theirs(arviz, figure, x)
    assert found.dtype == torch.float64
    assert found.shape == x.shape[2:]
    assert float(differences(found, expected).max()) < 1e-6, (found, expected)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_never_moves_is_where_we_differ(arviz):
    x = torch.full((4, 50, 1), 0.1, dtype=torch.float64)
    assert {name: float(theirs(arviz, name, x)) for name in list(FIGURES)[1:]} == {
        "ess_bulk": 200,
        "ess_tail": 200,
        "ess_mean": 200,
        "mcse_mean": 0,
    }
    assert math.isnan(theirs(arviz, "rhat", x))
    assert all(math.isnan(ours(x)) for ours, _ in FIGURES.values())
    stuck = apart.expand(4, 50, 1)
    assert rhat(stuck) == math.inf
    assert theirs(arviz, "rhat", stuck) > 1e15  # a rounded zero
    for name in ("ess_bulk", "ess_tail", "ess_mean", "mcse_mean"):
        assert float(differences(FIGURES[name][0](stuck), theirs(arviz, name, stuck)).max()) < 1e-6


def test_autocorrelation_is_that_of_arviz(arviz):
    for x in (autoregressive(3, 400, 4, 0.9), normal(2, 77, 4), normal(1, 8, 4)):
        found = autocorrelation(x, x.shape[1])
        expected = torch.from_numpy(arviz.autocorr(x.numpy(), axis=1))
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)
