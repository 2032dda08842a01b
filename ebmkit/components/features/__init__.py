"""Named feature extractors, in whose features samples are compared with data. One file each; nothing here needs torch.

A new one is a file with an `EXTRACTOR`, and its name in the list below. Figures of different extractors cannot be
compared: whoever measures with one has its name in the names of the results.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from ebmkit.contracts.extractor import Extractor

#: The names that a spec may write; `digits-cnn` stands in `digits_cnn.py`.
FeatureName: TypeAlias = Literal["digits-cnn"]


def find_extractor(name: FeatureName) -> Extractor:
    """The extractor of that name. Its network is loaded, and perhaps trained, when it is asked for."""
    found: Extractor = import_module(f"ebmkit.components.features.{name.replace('-', '_')}").EXTRACTOR
    return found
