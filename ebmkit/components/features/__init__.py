"""Named feature extractors for comparing samples with data. One file each, without torch.

A new one is a file with an `EXTRACTOR`, and its name in the list below. Values from different extractors are not
comparable: a metric that uses one has its name in the names of the results.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from ebmkit.contracts.extractor import Extractor

#: The names that a spec may use; `digits-cnn` is in `digits_cnn.py`.
FeatureName: TypeAlias = Literal["digits-cnn"]


def find_extractor(name: FeatureName) -> Extractor:
    """The extractor of that name. Its network is loaded, or trained if necessary, on first use."""
    found: Extractor = import_module(f"ebmkit.components.features.{name.replace('-', '_')}").EXTRACTOR
    return found
