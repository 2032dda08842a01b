"""A failure of the final evaluation, which is recorded and does not stop the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ebmkit.errors.base import EbmkitError

#: What failed if not a metric.
SAMPLES = "samples"


class Failure(NamedTuple):
    """A metric that failed, or the drawing of samples."""

    #: `metric 'fid'`, or `SAMPLES`.
    what: str
    #: The names of the values that are missing because of it.
    results: tuple[str, ...]
    error: EbmkitError

    def plain(self) -> dict[str, Any]:
        """For `run.json`."""
        return {
            "what": self.what,
            "results": list(self.results),
            "place": str(self.error.place or ""),
            "code": self.error.code,
            "reason": self.error.message,
        }


class Measured(NamedTuple):
    """The outcome of an evaluation: values by name, and what failed."""

    results: dict[str, float]
    failed: Sequence[Failure] = ()
