"""The component whose code raised an exception."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from ebmkit.contracts.component import Component
from ebmkit.contracts.walk import walk

if TYPE_CHECKING:
    from ebmkit.errors.source import Path
    from ebmkit.language.sections import Spec


def culprit(error: BaseException, spec: Spec) -> tuple[Path, Component] | None:
    """The innermost component of a spec whose method is in the traceback, with its path; None if there is none."""
    for frame, _ in reversed(list(traceback.walk_tb(error.__traceback__))):
        owner = frame.f_locals.get("self")
        if issubclass(type(owner), Component):
            for path, component in walk(spec):
                if component is owner:
                    return path, component
    return None
