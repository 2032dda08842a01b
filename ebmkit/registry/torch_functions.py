"""Functions of torch that a plugin replaces: every other component would use them too."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from ebmkit.contracts import lazy


def forget_replacements() -> bool:
    """Remove what a plugin set on the stand-in for torch that components import; whether there was anything."""
    proxy: dict[str, Any] = vars(lazy.torch)
    torch = sys.modules.get("torch")
    names = [name for name in proxy if not name.startswith("__")]
    replaced = [name for name in names if torch is None or getattr(torch, name, None) is not proxy[name]]
    for name in replaced:
        del proxy[name]
    return replaced != []


def functions_of_torch() -> list[tuple[dict[str, Any], str, Any]]:
    """The functions in the modules of torch that are imported: the names of the module, the name, the function."""
    return [
        (vars(module), name, value)
        for module in _modules()
        for name, value in list(vars(module).items())
        if type(value) in (FunctionType, BuiltinFunctionType) and not is_foreign(value)
    ]


def is_foreign(value: Any) -> bool:
    """Whether a function of torch was replaced: torch itself replaces some when it is used, but by code of its own."""
    if type(value) is not FunctionType:
        return value is None
    torch: Any = sys.modules["torch"]
    return not value.__code__.co_filename.startswith((str(Path(torch.__file__).parent), "<"))


def replaced_by(file: str) -> list[str]:
    """The functions of torch whose code is in the module or package in `file`, as `torch.nn.functional.softplus`."""
    path = Path(file)
    inside = f"{path.parent}/" if path.name == "__init__.py" else ""
    found = {
        f"{owner}.{name}"
        for owner, names in _owners()
        for name, value in names
        if type(value) is FunctionType
        and ((source := value.__code__.co_filename) == file or (inside and source.startswith(inside)))
    }
    return sorted(found)


def _modules() -> list[ModuleType]:
    found = list(sys.modules.items())
    return [module for name, module in found if name.partition(".")[0] == "torch" and isinstance(module, ModuleType)]


def _owners() -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    """The modules of torch, and its classes that everything uses, each with the names in it."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return
    for module in _modules():
        yield module.__name__, list(vars(module).items())
    classes = {torch.Tensor, torch.Generator, torch.optim.Optimizer}
    for module in (torch.nn, torch.optim):
        classes |= {value for value in vars(module).values() if isinstance(value, type)}
    for cls in classes:
        yield f"{cls.__module__}.{cls.__qualname__}", list(vars(cls).items())
