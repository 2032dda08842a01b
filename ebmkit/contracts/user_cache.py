"""The folder for what ebmkit can make again: trained feature networks, and what plugins offer."""

from __future__ import annotations

from pathlib import Path


def user_cache() -> Path | None:
    """The user's cache folder, on Linux below XDG_CACHE_HOME or ~/.cache; None for a process without a home."""
    from platformdirs import user_cache_path

    try:
        folder = user_cache_path("ebmkit", appauthor=False)
    except RuntimeError:
        return None
    return folder if folder.is_absolute() else None  # older versions return `~` if the home is unknown
