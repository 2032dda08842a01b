"""Masses in a spec: a number, one per coordinate, or a matrix. Checked without torch."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, TypeAlias

from ebmkit.contracts.kinds import Event
from ebmkit.contracts.lazy import torch
from ebmkit.maths.covariance import Covariance, check_covariance

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.chains.mass import Mass

#: One mass for all coordinates, one per coordinate (an image row by row), or the rows of a matrix.
Masses: TypeAlias = Covariance


def check_masses(masses: Masses | None) -> None:
    """Raise a ValueError unless these are valid masses."""
    if masses is not None:
        check_covariance(masses, len(masses) if isinstance(masses, tuple) else 1, noun="mass")


def refusal_of(masses: Masses | None, event: Event) -> str | None:
    """Why these masses do not fit states of this shape, in words that follow the sampler's name."""
    if not isinstance(masses, tuple) or len(masses) == prod(event):
        return None
    return f"has a 'mass' of {len(masses)} coordinates, but a state has {prod(event)}"


def mass_of(masses: Masses | None, x: Tensor) -> Mass:
    """The masses of chains at `x`; 1 if the spec gives none."""
    from ebmkit.chains.mass import Mass

    if not isinstance(masses, tuple):
        return Mass.diagonal(x.new_full((), 1 / (masses or 1)))
    given = torch.tensor(masses, dtype=torch.float64, device="cpu")  # not every device supports float64
    return (Mass.matrix(given) if given.dim() == 2 else Mass.diagonal(given.reciprocal().view(x.shape[1:]))).to(x)
