"""Why a panel could not be drawn."""

from __future__ import annotations

from ebmkit.contracts.panel import Panel
from ebmkit.errors.base import EbmkitError
from ebmkit.errors.describe import describe_error


def problem(panel: Panel, error: BaseException, gap: str = " ") -> str:
    """A sentence in place of the panel. An error of ebmkit, such as that there are no samples, is no fault of it."""
    if isinstance(error, EbmkitError):
        return f"Not drawn:{gap}{error.message}"
    return f"Panel '{panel.name}' failed.{gap}{describe_error(error)}"
