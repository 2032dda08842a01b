"""Covariances as written in a spec: a number, a diagonal, or a full matrix. Checked without torch."""

from __future__ import annotations

from math import isclose, sqrt
from typing import TYPE_CHECKING, Annotated, TypeAlias

from annotated_types import Gt, MinLen

from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

#: One variance for all coordinates, one per coordinate, or the rows of a matrix.
Covariance: TypeAlias = (
    Annotated[float, Gt(0)]
    | Annotated[tuple[Annotated[float, Gt(0)], ...], MinLen(1)]
    | Annotated[tuple[tuple[float, ...], ...], MinLen(1)]
)


def check_covariance(covariance: Covariance, dimension: int, noun: str = "covariance") -> None:
    """Raise a ValueError with the reason if this is not a covariance of this many coordinates."""
    entries = covariance if isinstance(covariance, tuple) else (covariance,) * dimension
    if len(entries) != dimension:
        raise ValueError(f"the {noun} has {len(entries)} coordinates, but the mean has {dimension}")
    rows = [entry for entry in entries if isinstance(entry, tuple)]
    variances = [entry for entry in entries if not isinstance(entry, tuple)]
    if rows:
        _check_matrix(rows, dimension, noun)
    for variance in variances:
        if not variance > 0:
            raise ValueError(f"the {'variance' if noun == 'covariance' else noun} {variance} is not positive")


def _check_matrix(rows: list[tuple[float, ...]], dimension: int, noun: str) -> None:
    if len(rows) != dimension or any(len(row) != dimension for row in rows):
        raise ValueError(f"a {noun} of {dimension} coordinates must have {dimension} rows of {dimension} numbers each")
    factor = [[0.0] * dimension for _ in rows]  # a plain Cholesky: torch is not imported while a spec is checked
    for i, row in enumerate(rows):
        for j in range(i + 1):
            scale = sqrt(abs(row[i] * rows[j][j]))  # an inverse has rounding errors where it should have zeros
            if not isclose(row[j], rows[j][i], rel_tol=1e-9, abs_tol=1e-12 * scale):
                raise ValueError(f"the {noun} is not symmetric: row {i} has {row[j]}, but row {j} has {rows[j][i]}")
            rest = row[j] - sum(a * b for a, b in zip(factor[i][:j], factor[j][:j], strict=True))
            if i != j:
                factor[i][j] = rest / factor[j][j]
            elif rest > 1e-12 * abs(row[i]):  # smaller values are rounding errors of a singular matrix
                factor[i][i] = sqrt(rest)
            else:
                raise ValueError(f"the {noun} is not positive definite")


def check_mixture(
    means: tuple[tuple[float, ...], ...], covariances: tuple[Covariance, ...], weights: tuple[float, ...] | None
) -> None:
    """Raise a ValueError with the reason if these do not define a mixture of Gaussians."""
    count, dimension = len(means), len(means[0])
    for k, mean in enumerate(means):
        if len(mean) != dimension:
            raise ValueError(f"means[{k}] has {len(mean)} coordinates, but means[0] has {dimension}")
    if len(covariances) not in (1, count):
        raise ValueError(f"there are {len(covariances)} covariances for {count} means: give one for all or one each")
    for k, covariance in enumerate(covariances):
        try:
            check_covariance(covariance, dimension)
        except ValueError as error:
            raise ValueError(f"covariances[{k}]: {error}") from None
    if weights is not None and len(weights) != count:
        raise ValueError(f"there are {len(weights)} weights for {count} means")


def mixture_tensors(
    means: tuple[tuple[float, ...], ...], covariances: tuple[Covariance, ...], weights: tuple[float, ...] | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Weights `(K,)` that sum to one, means `(K, d)` and covariances `(K, d, d)`, in float64."""
    centers = torch.tensor(means, dtype=torch.float64)
    count, dimension = centers.shape
    shares = torch.tensor(weights or (1.0,) * count, dtype=torch.float64)
    matrices = torch.stack([covariance_matrix(c, dimension) for c in covariances])
    return shares / shares.sum(), centers, matrices.expand(count, -1, -1)


def covariance_matrix(covariance: Covariance, dimension: int) -> Tensor:
    """The full matrix, in float64, because it is factored and inverted before it is rounded."""
    entries = torch.tensor(covariance, dtype=torch.float64)
    if entries.dim() == 0:
        entries = entries.expand(dimension)
    return entries.diag() if entries.dim() == 1 else entries
