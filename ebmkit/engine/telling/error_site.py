"""Exceptions of components and hooks, reported at the line of the spec that names them."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from types import FrameType, TracebackType

import torch

from ebmkit.contracts.built import WrongBuild, builder_of
from ebmkit.contracts.component import Component
from ebmkit.contracts.packages import lacking, package_missing
from ebmkit.contracts.unmeasurable import Unmeasurable
from ebmkit.contracts.walk import walk
from ebmkit.engine.limit import Paused
from ebmkit.errors import EbmkitError, Mistakes
from ebmkit.errors.describe import text_of, type_name
from ebmkit.errors.running import ComponentFailed, Diverged, EnvironmentLacks, OutOfMemory
from ebmkit.errors.source import Path
from ebmkit.language.plan import Plan
from ebmkit.registry.origin import origin


class ErrorSite:
    """`with ErrorSite(plan, ("objective",)):` turns an exception into `ComponentFailed` at that line of the spec.

    If a component calls another, such as the noise inside an objective, the innermost one is reported.
    A FloatingPointError says that a number is not finite, `Unmeasurable` that a metric has no value: both become
    `Diverged`, with the step in words from `when`. `given` says what the component was given, after what it raised.
    A class instead of a generator, because the training loop enters it in every step.
    """

    def __init__(self, plan: Plan, path: Path, when: Callable[[], str] = str, *, given: str = "") -> None:
        self.plan = plan
        self.path = path
        self.when = when
        self.given = given

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, EnvironmentLacks) and error.place is None:
            error.place = self.plan.place(self._innermost(trace)[0])
        # Errors that already have a place pass, and so do Ctrl-C and the limit of a session. A component that calls
        # sys.exit() has failed.
        if not isinstance(error, Exception | SystemExit) or isinstance(error, EbmkitError | Mistakes | Paused):
            return
        if isinstance(error, ModuleNotFoundError):
            self._raise_missing_package(error)
        path, who, where = self._innermost(trace)
        said = text_of(error).strip().split("\n")[0]
        if isinstance(error, MemoryError | torch.OutOfMemoryError) or "can't allocate memory" in said:
            wanted = re.search(r"allocate ([\d.]+ \w+)", said)
            raise OutOfMemory(
                f"{who} ran out of memory" + (f" when allocating {wanted[1]}" if wanted else ""),
                self.plan.place(path),
                help=f"{where}reduce batch_size, samples or the size of the network",
            ) from error
        if isinstance(error, FloatingPointError | Unmeasurable):
            raise Diverged(f"{who}: {said}{self.when()}", self.plan.place(path)) from error
        if isinstance(error, WrongBuild):
            raise ComponentFailed(f"{who}: {said}", self.plan.place(path)) from error
        raise ComponentFailed(
            f"{who} raised {type_name(error)}" + (f": {said}" if said else "") + self.given,
            self.plan.place(path),
            help=f"{where}--debug shows the traceback",
        ) from error

    def _raise_missing_package(self, error: ModuleNotFoundError) -> None:
        """For a package that a component of the plan declares in `needs_packages`: say how to install it."""
        for path, component, package in lacking(self.plan.spec):
            if error.name == package:
                missing = package_missing(component, package, self.plan.name_at(path))
                missing.place = self.plan.place(path)
                raise missing from error

    def _innermost(self, trace: TracebackType | None) -> tuple[Path, str, str]:
        """The innermost component of a traceback: its path, its label, and the line of code that raised."""
        for frame, line in reversed(list(traceback.walk_tb(trace))):
            if found := _culprit(self.plan, frame):
                return *found, f"raised at {frame.f_code.co_filename}:{line}; "
        return self.path, label_at(self.plan, self.path), ""


def label_at(plan: Plan, path: Path) -> str:
    """The component at a path in words, `sampler 'langevin'`, or the name of a section."""
    kinds = {at: component.component_kind for at, component in walk(plan.spec)}
    if path not in kinds:
        return str(path[0])
    name = plan.name_at(path)
    return f"{kinds[path]} '{name}'{origin(name, plan.plugins)}"


def _culprit(plan: Plan, frame: FrameType) -> tuple[Path, str] | None:
    """The component of the plan whose method this frame is, or that built the module prepared here, or the plugin."""
    owner = frame.f_locals.get("self")
    culprit = owner if issubclass(type(owner), Component) else None
    if frame.f_code.co_name == "prepare":  # other methods of a module may fail because of their caller
        culprit = culprit or builder_of(owner)
    if culprit is not None:
        for path, component in walk(plan.spec):
            if component is culprit:
                return path, label_at(plan, path)
    for loaded in plan.plugins:
        name = frame.f_code.co_name
        if name.startswith("ebmkit_") and frame.f_globals.get("__name__", "").startswith(loaded.module):
            return ("plugins", loaded.plugin.namespace), f"hook '{name}' of {loaded.plugin.label}"
    return None
