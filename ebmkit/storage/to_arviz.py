"""Draws of long chains as objects of ArviZ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from ebmkit.errors.running import EnvironmentLacks
from ebmkit.storage.export import arviz_groups, arviz_names


def to_arviz(x: Tensor, seen: Mapping[str, Tensor], coordinates: tuple[str, ...] | None = None) -> Any:
    """Draws `(chains, draws, *event)` as a DataTree of ArviZ 1.0 and later, or an InferenceData of earlier versions.

    The states are not copied: memory is used for their statistics, and for what ArviZ computes from them.
    """
    try:
        import arviz
    except ImportError as error:
        raise EnvironmentLacks(
            "to_arviz() needs ArviZ, which is not installed", help="pip install 'ebmkit-core[arviz]'"
        ) from error
    groups: dict[str, Any] = {
        group: {name: of.cpu().numpy() for name, of in arrays.items()}
        for group, arrays in arviz_groups(x, seen).items()
    }
    names = arviz_names(coordinates)
    old = hasattr(arviz, "InferenceData")
    return arviz.from_dict(**groups, **names) if old else arviz.from_dict(groups, **names)
