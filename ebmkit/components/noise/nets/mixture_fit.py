"""Mixtures of Gaussians fitted to points, by expectation maximisation."""

from __future__ import annotations

import torch
from torch import Tensor

from ebmkit.components.models.nets.gaussian import whitening

#: The least variance of a component along any direction, as a part of the mean variance of the points: one that has
#: gathered on few of them does not become a spike.
FLOOR = 1e-3


def fit_mixture(points: Tensor, components: int, steps: int) -> tuple[Tensor, Tensor, Tensor]:
    """Weights `(K,)`, means `(K, d)` and covariances `(K, d, d)` for points `(N, d)`. There is no chance in it."""
    floor = FLOOR * points.var(0).mean() * torch.eye(points.shape[1], dtype=points.dtype)
    nearest = torch.cdist(points, _far_apart(points, components)).argmin(1)
    shares = torch.nn.functional.one_hot(nearest, components).to(points.dtype)
    for _ in range(steps):
        weights, means, covariances = _moments(points, shares, floor)
        matrices = whitening(covariances)
        white = torch.bmm(points - means.unsqueeze(1), matrices.mT)
        heights = weights.log() + torch.linalg.slogdet(matrices).logabsdet
        shares = (heights - white.square().sum(2).T / 2).softmax(1)
    return _moments(points, shares, floor)


def _moments(points: Tensor, shares: Tensor, floor: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Those of the points in their shares `(N, K)`."""
    mass = shares.sum(0)
    means = shares.T @ points / mass.unsqueeze(1)
    covariances = [
        (share.unsqueeze(1) * (points - mean)).T @ (points - mean) / share.sum() + floor
        for share, mean in zip(shares.T, means, strict=True)
    ]
    return mass / mass.sum(), means, torch.stack(covariances)


def _far_apart(points: Tensor, count: int) -> Tensor:
    """Points to begin with: the one next to the mean, then each time the farthest from those that there are."""
    distance = (points - points.mean(0)).norm(dim=1)
    chosen = [int(distance.argmin())]
    distance = torch.full_like(distance, torch.inf)
    while len(chosen) < count:
        distance = torch.minimum(distance, (points - points[chosen[-1]]).norm(dim=1))
        chosen.append(int(distance.argmax()))
    return points[chosen]
