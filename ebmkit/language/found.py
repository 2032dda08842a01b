"""A mistake on its way through pydantic to its place."""

from __future__ import annotations

from dataclasses import dataclass

from ebmkit.errors.base import EbmkitError

#: Under this name a pydantic error carries ours, or None where it was reported elsewhere.
FOUND = "found"


@dataclass(frozen=True)
class Found:
    """A mistake, and whether its place is the key rather than the value."""

    mistake: EbmkitError
    at_key: bool = False
