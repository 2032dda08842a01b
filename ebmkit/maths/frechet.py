"""The Frechet distance of two Gaussians."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor


class Fitted(NamedTuple):
    """A Gaussian by its mean `(D,)` and a root R `(K, D)` of its covariance: S = R'R. S may be singular."""

    mean: Tensor
    root: Tensor


def fitted(points: Tensor) -> Fitted:
    """The Gaussian with the mean and the covariance of some points `(n, D)`, in float64 on the CPU.

    The covariance is the unbiased one. Its root is the triangle of a QR decomposition of the centred points, so that
    the covariance itself, which would square their condition, is never formed.
    """
    if len(points) < 2:
        raise ValueError(f"a covariance takes two points or more, and there is {len(points)}")
    points = points.detach().to("cpu", torch.float64)  # some devices have no float64
    if lost := int((~points.isfinite().all(dim=1)).sum()):
        raise ValueError(f"the features of {lost} of {len(points)} points are not finite")
    mean = points.mean(0)
    return Fitted(mean, torch.linalg.qr((points - mean) / (len(points) - 1) ** 0.5, mode="r").R)


def frechet(a: Fitted, b: Fitted) -> float:
    """d^2 = |m_a - m_b|^2 + tr S_a + tr S_b - 2 tr (S_a^1/2 S_b S_a^1/2)^1/2.

    The last trace is the sum of the singular values of R_a R_b', whatever roots these are: two roots of one covariance
    differ by a rotation, which changes no singular value, and with symmetric ones the products agree. Eigenvalues of
    S_a S_b would do too, but of singular covariances some come out slightly below zero, and the root of a rounding
    error of 1e-16 is 1e-8. Singular values are never negative: nothing has to be cut off. The distance of two equal
    Gaussians is zero to rounding, on either side.
    """
    shared = torch.linalg.svdvals(a.root @ b.root.T).sum()
    apart = (a.mean - b.mean).square().sum()
    return float(apart + a.root.square().sum() + b.root.square().sum() - 2 * shared)
