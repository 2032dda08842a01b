"""Paths of files in a spec: as they are written, and where the files were found."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

    from ebmkit.contracts.component import Component


class LocatedPath(str):
    """A relative path of a spec: equal to what is written, so that the hash of an experiment does not depend on the
    folder of a project, and in addition the file that was found."""

    #: Absolute; None if there was no such file.
    found: Path | None
    #: The folders in which it was looked for, and what they are.
    looked_in: dict[Path, str]
    #: What deletes a temporary file when it is no longer used: it lasts as long as this path.
    owner: object

    def __new__(cls, path: str, found: Path | None, looked_in: dict[Path, str], owner: object = None) -> LocatedPath:
        made = super().__new__(cls, path)
        made.found, made.looked_in, made.owner = found, looked_in, owner
        return made

    def __deepcopy__(self, memo: dict[int, object]) -> LocatedPath:
        """Itself: modules that are copied know the component that built them."""
        return self


class _Locate:
    """Lets the checker of a spec, which knows its folder, find the file."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        return core_schema.with_info_after_validator_function(_located_by, handler(source))


def _located_by(path: str, info: Any) -> str:
    locate = getattr(info.context, "locate", None)
    return locate(path) if locate else path


#: A parameter that names a file or a folder. Relative to the folder of the spec if it exists there, else to the working
#: directory. `located` returns the path to open.
FilePath: TypeAlias = Annotated[str, _Locate()]


def located(path: str) -> Path:
    """The file to open. A path that does not come from a spec is relative to the working directory."""
    return path.found if isinstance(path, LocatedPath) and path.found else Path(path)


def absence(path: str) -> str:
    """That there is no such file, and where it was looked for."""
    if isinstance(path, LocatedPath) and path.looked_in:
        where = ", nor in ".join(f"{folder}, {what}" for folder, what in path.looked_in.items())
        return f"there is no file '{path}' in {where}"
    return f"there is no file '{path}'" + ("" if Path(path).is_absolute() else f" in {Path.cwd()}")


def located_in(component: Component) -> list[LocatedPath]:
    """The located paths among the parameters of a component."""
    values = (getattr(component, field.name) for field in dataclasses.fields(component))  # type: ignore[arg-type]
    return [value for value in values if isinstance(value, LocatedPath)]


def as_written(component: Component, file: Path) -> LocatedPath | str:
    """A file that a component reads, as its parameters write it."""
    for path in located_in(component):
        if file.is_relative_to(located(path)):
            rest = file.relative_to(located(path))
            return path if rest == Path() else LocatedPath(str(Path(path) / rest), None, path.looked_in)
    return str(file)
