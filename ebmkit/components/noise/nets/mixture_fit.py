"""Fit of Gaussian mixtures by expectation maximisation."""

from __future__ import annotations

import torch
from torch import Tensor

from ebmkit.components.models.nets.gaussian import whitening

#: Minimum variance of a component along any direction, as a fraction of the mean variance of the points: no component
#: collapses on few of them.
FLOOR = 1e-3


def fit_mixture(points: Tensor, components: int, steps: int) -> tuple[Tensor, Tensor, Tensor]:
    """Weights `(K,)`, means `(K, d)` and covariances `(K, d, d)` for points `(N, d)`. The fit is deterministic."""
    floor = FLOOR * points.var(0).mean() * torch.eye(points.shape[1], dtype=points.dtype)
    # By differences: products, the default of many points, lose digits far from the origin.
    nearest = torch.cdist(points, _far_apart(points, components), compute_mode="donot_use_mm_for_euclid_dist").argmin(1)
    shares = torch.nn.functional.one_hot(nearest, components).to(points.dtype)
    for _ in range(steps):
        weights, means, covariances = _moments(points, shares, floor)
        matrices = whitening(covariances)
        white = torch.bmm(points - means.unsqueeze(1), matrices.mT)
        heights = weights.log() + torch.linalg.slogdet(matrices).logabsdet
        shares = (heights - white.square().sum(2).T / 2).softmax(1)
    return _moments(points, shares, floor)


def _moments(points: Tensor, shares: Tensor, floor: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Weights, means and covariances of the points with the responsibilities `shares (N, K)`."""
    mass = shares.sum(0)
    means = shares.T @ points / mass.unsqueeze(1)
    covariances = [
        (share.unsqueeze(1) * (points - mean)).T @ (points - mean) / share.sum() + floor
        for share, mean in zip(shares.T, means, strict=True)
    ]
    return mass / mass.sum(), means, torch.stack(covariances)


def _far_apart(points: Tensor, count: int) -> Tensor:
    """Initial means: the point nearest to the mean, then repeatedly the point farthest from those chosen."""
    distance = (points - points.mean(0)).norm(dim=1)
    chosen = [int(distance.argmin())]
    distance = torch.full_like(distance, torch.inf)
    while len(chosen) < count:
        distance = torch.minimum(distance, (points - points[chosen[-1]]).norm(dim=1))
        chosen.append(int(distance.argmax()))
    return points[chosen]
