"""The integral of a density in more dimensions than quadrature can resolve, and whether draws are independent."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from ebmkit.testing.law import Inapplicable
from ebmkit.testing.oracles import DRAWS, FALSE_ALARM, features, generator, require_means

#: The proposals are wider than the draws by this factor, so that weights are bounded in the tails of a Gaussian.
WIDER = 1.3
#: The smallest share of effective draws of an estimate that is believed.
EFFECTIVE = 0.1
#: Weights are skewed, so that a few large ones may be missing, which their own variance does not show.
SKEWED = 0.1


def log_integral(log_density: Callable[[Tensor], Tensor], draws: Tensor) -> tuple[Tensor, float]:
    """Weights whose mean is the integral of a density over exp(scale), and the scale.

    The proposal is the Gaussian with the moments of `draws`, but wider. If these are no draws of the density, the
    estimate is less precise, but not wrong. Raises `Inapplicable` if too few weights count.
    """
    flat = draws.flatten(1)
    mean, d = flat.mean(0), flat.shape[1]
    spread = torch.cov(flat.T).view(d, d) + 1e-9 * torch.eye(d, dtype=flat.dtype)
    factor = WIDER * torch.linalg.cholesky(spread)
    xi = torch.randn(DRAWS, d, generator=generator(8), dtype=flat.dtype)
    x = mean + xi @ factor.T
    log_q = -xi.square().sum(1) / 2 - d / 2 * math.log(2 * math.pi) - factor.diagonal().log().sum()
    with torch.no_grad():
        log_w = log_density(x.view(-1, *draws.shape[1:])) - log_q
    scale = float(log_w.logsumexp(0)) - math.log(DRAWS)
    weights = (log_w - scale).exp()
    share = float(weights.sum().square() / weights.square().sum()) / DRAWS
    if not share >= EFFECTIVE:
        raise Inapplicable(f"a Gaussian is too far from its density to integrate it in {d} dimensions")
    return weights, scale


def require_log_integral(log_density: Callable[[Tensor], Tensor], draws: Tensor, claimed: float, what: str) -> str:
    """The log of the integral of a density is as claimed, at the usual false-alarm rate."""
    weights, scale = log_integral(log_density, draws)
    require_means(
        weights[:, None] * math.exp(scale - claimed), torch.ones(1, dtype=weights.dtype), what, allowance=SKEWED
    )
    error = float(weights.std()) / math.sqrt(len(weights))
    chance = float(torch.special.ndtri(torch.tensor(1 - FALSE_ALARM / 2, dtype=torch.float64)))
    return f"would have seen {what} that is wrong by {100 * (chance * error + SKEWED):.2g} %"


def require_independent(x: Tensor, what: str) -> None:
    """Neighbours, and rows that are half of all draws apart, are uncorrelated in waves."""
    waves = features(x)
    centred = waves - waves.mean(0)
    for apart in (1, len(x) // 2):
        # Pairs that share no row are independent of each other.
        one, other = _pairs(centred, apart)
        require_means(one * other, torch.zeros(waves.shape[1], dtype=waves.dtype), f"{what}: the product of two waves")


def _pairs(rows: Tensor, apart: int) -> tuple[Tensor, Tensor]:
    if apart == 1:
        even = rows[: len(rows) // 2 * 2]
        return even[::2], even[1::2]
    return rows[:apart], rows[apart : 2 * apart]
