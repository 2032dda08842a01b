"""States of samplers, taken apart into named tensors and numbers, and put together again.

What is read back never chooses a class: a new state gives the structure, and only its leaves are replaced.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor


class Unsaveable(TypeError):
    """A state with a part that is neither a tensor nor a number, or whose structure changes from step to step."""


class Leaves(NamedTuple):
    """The leaves of a tree by their paths, such as `state.mass.inverse`."""

    tensors: dict[str, Tensor]
    #: For JSON: numbers, words, and the memory layout of each tensor.
    values: dict[str, Any]


def take_apart(tree: Any) -> Leaves:
    """The leaves of nested tuples, lists, dictionaries and dataclasses. Raises `Unsaveable`."""
    tensors: dict[str, Tensor] = {}
    values: dict[str, Any] = {}
    for path, leaf in _leaves(tree):
        if isinstance(leaf, Tensor) and leaf.layout == torch.strided:
            tensors[path], values[path] = leaf.detach(), {"layout": _layout(leaf)}
        elif type(leaf) is float:
            values[path] = {"float": leaf.hex()}  # JSON has no infinity
        elif leaf is None or type(leaf) in (bool, int, str):
            values[path] = leaf
        else:
            raise Unsaveable(f"'{path}' is a {type(leaf).__name__}, which is neither a tensor nor a number")
    return Leaves(tensors, values)


def put_together(template: Any, leaves: Leaves, device: torch.device) -> Any:
    """A tree with the structure of `template` and these leaves. A `LookupError` or `ValueError` if they do not fit."""
    if (lacking := paths(template) ^ leaves.values.keys()) != set():
        raise LookupError(f"{', '.join(sorted(lacking))}: in one of the two states only")

    def leaf(path: str) -> Any:
        value = leaves.values[path]
        if not isinstance(value, dict):
            if value is not None and type(value) not in (bool, int, str):
                raise ValueError(f"'{path}' is neither a number nor a word")
            return value
        if "float" in value:
            return float.fromhex(value["float"])
        return _laid_out(leaves.tensors[path].to(device), value["layout"])

    return _rebuilt(template, "", leaf)


def paths(tree: Any) -> set[str]:
    """The paths of all leaves."""
    return {path for path, _ in _leaves(tree)}


def _children(tree: Any) -> dict[str, Any] | None:
    """The parts of a container by name; None for a leaf."""
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return dict(zip(tree._fields, tree, strict=True))
    if type(tree) in (tuple, list):
        return {str(index): part for index, part in enumerate(tree)}
    if type(tree) is dict and all(type(key) is str for key in tree):
        return dict(tree)
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        return {field.name: getattr(tree, field.name) for field in dataclasses.fields(tree)}
    return None


def _leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    parts = _children(tree)
    if parts is None:
        yield path, tree
        return
    for name, part in parts.items():
        yield from _leaves(part, f"{path}.{name}" if path else name)


def _rebuilt(template: Any, path: str, leaf: Callable[[str], Any]) -> Any:
    parts = _children(template)
    if parts is None:
        return leaf(path)
    made = {name: _rebuilt(part, f"{path}.{name}" if path else name, leaf) for name, part in parts.items()}
    if isinstance(template, tuple) and hasattr(template, "_fields"):
        return type(template)(**made)
    if isinstance(template, tuple | list):
        return type(template)(made.values())
    return made if isinstance(template, dict) else dataclasses.replace(template, **made)


def _layout(tensor: Tensor) -> dict[str, list[int]] | None:
    """The axes from the outermost to the innermost in memory, and those that are expanded; None if contiguous.

    Random numbers fill new tensors in the order of the memory of `x`, so another layout would give other chains.
    """
    if tensor.is_contiguous():
        return None
    strides = tensor.stride()
    expanded = [axis for axis, stride in enumerate(strides) if stride == 0 and tensor.shape[axis] > 1]
    return {"order": sorted(range(tensor.dim()), key=lambda axis: -strides[axis]), "expanded": expanded}


def _laid_out(values: Tensor, layout: dict[str, list[int]] | None) -> Tensor:
    if layout is None:
        return values.contiguous()
    order, shape = layout["order"], values.shape
    for axis in layout["expanded"]:
        values = values.narrow(axis, 0, 1)
    back = sorted(range(len(order)), key=order.__getitem__)
    return values.permute(order).contiguous().permute(back).expand(shape)
