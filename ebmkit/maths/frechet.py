"""The Frechet distance between two Gaussians."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor


class Fitted(NamedTuple):
    """A Gaussian, given by its mean `(D,)` and a root R `(K, D)` of its covariance: S = R'R. S may be singular."""

    mean: Tensor
    root: Tensor


def fitted(points: Tensor) -> Fitted:
    """The Gaussian with the mean and the covariance of points `(n, D)`, in float64 on the CPU.

    The covariance is the unbiased estimate. Its root is the triangular factor of a QR decomposition of the centred
    points, so that the covariance itself, which would square their condition number, is never formed.
    """
    if len(points) < 2:
        raise ValueError(f"a covariance needs at least two points, but there is {len(points)}")
    points = points.detach().to("cpu", torch.float64)  # some devices have no float64
    if lost := int((~points.isfinite().all(dim=1)).sum()):
        raise FloatingPointError(f"the features of {lost} of {len(points)} points are not finite")
    mean = points.mean(0)
    return Fitted(mean, torch.linalg.qr((points - mean) / (len(points) - 1) ** 0.5, mode="r").R)


def frechet(a: Fitted, b: Fitted) -> float:
    """d^2 = |m_a - m_b|^2 + tr S_a + tr S_b - 2 tr (S_a^1/2 S_b S_a^1/2)^1/2.

    The last trace is the sum of the singular values of R_a R_b' for any choice of roots: two roots of one covariance
    differ by a rotation, which changes no singular value, and for symmetric roots the products agree. Eigenvalues of
    S_a S_b would also work, but for singular covariances some are slightly negative, and the root of a rounding error
    of 1e-16 is 1e-8. Singular values are never negative, so no truncation is needed. The distance between two equal
    Gaussians is zero up to rounding, of either sign.
    """
    shared = torch.linalg.svdvals(a.root @ b.root.T).sum()
    apart = (a.mean - b.mean).square().sum()
    return float(apart + a.root.square().sum() + b.root.square().sum() - 2 * shared)
