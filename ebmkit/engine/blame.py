"""Exceptions of components, told at the line of the spec that asked for the component."""

from __future__ import annotations

from types import TracebackType

from ebmkit.errors import EbmkitError, Mistakes
from ebmkit.errors.running import ComponentFailed
from ebmkit.plan import Plan
from ebmkit.translate import Path


class Blame:
    """`with Blame(plan, ("objective",), "objective 'nce'"):` turns what is raised inside into `ComponentFailed`.

    A class and not a generator, because the loop enters it every step.
    """

    def __init__(self, plan: Plan, path: Path, who: str) -> None:
        self.plan = plan
        self.path = path
        self.who = who

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Mistakes that already know their place pass, and so does Ctrl-C, which is nobody's fault.
        if not isinstance(error, Exception) or isinstance(error, EbmkitError | Mistakes):
            return
        said = str(error).strip().split("\n")[0]
        raise ComponentFailed(
            f"{self.who} raised {type(error).__name__}" + (f": {said}" if said else ""),
            self.plan.place(self.path),
            help="--debug shows the traceback",
        ) from error
