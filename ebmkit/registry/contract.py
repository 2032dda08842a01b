"""The contract of a kind, read from its source: what its author may declare, and what must be written."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from pathlib import Path

from ebmkit.contracts.component import Component


@dataclasses.dataclass(frozen=True)
class Member:
    """A class variable or a method of a contract, as it is declared there."""

    #: `needs: frozenset[str] = frozenset({"energy"})`, or `step(energy, state, rng) -> tuple[State, StepInfo]`.
    declaration: str
    meaning: str
    #: Whether it is a method that every component has to define.
    required: bool = False


@dataclasses.dataclass(frozen=True)
class Contract:
    """What the author of a component of a kind writes."""

    summary: str
    body: str
    attributes: tuple[Member, ...]
    methods: tuple[Member, ...]
    #: The other types of the contract, such as the information of a step, as they are defined there.
    types: tuple[Member, ...]


def contract_of(kind: type[Component]) -> Contract:
    """The contract of a kind, in the order of its file."""
    lines = Path(inspect.getfile(kind)).read_text().splitlines()
    classes = [node for node in ast.parse("\n".join(lines)).body if isinstance(node, ast.ClassDef)]
    of_kind = next(node for node in classes if node.name == kind.__name__)
    summary, _, body = (ast.get_docstring(of_kind) or "").partition("\n\n")
    return Contract(
        summary=" ".join(summary.split()),
        body=body,
        attributes=tuple(_attribute(node, lines) for node in of_kind.body if _is_attribute(node)),
        methods=tuple(_method(node) for node in of_kind.body if _is_method(node)),
        types=tuple(_type(node, lines) for node in classes if node.name != kind.__name__ and node.name[0] != "_"),
    )


def _is_attribute(node: ast.stmt) -> bool:
    return isinstance(node, ast.AnnAssign) and ast.unparse(node.target) != "component_kind"


def _is_method(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and not node.name.startswith("_")


def _attribute(node: ast.stmt, lines: list[str]) -> Member:
    assert isinstance(node, ast.AnnAssign)
    declaration = re.sub(r"ClassVar\[(.*)\](?=$| = )", r"\1", ast.unparse(node))
    comments: list[str] = []
    for line in reversed(lines[: node.lineno - 1]):
        if not line.strip().startswith("#:"):
            break
        comments.insert(0, line.strip().removeprefix("#:").strip())
    return Member(declaration, " ".join(comments))


def _method(node: ast.stmt) -> Member:
    assert isinstance(node, ast.FunctionDef)
    decorators = {ast.unparse(each) for each in node.decorator_list}
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    if "property" in decorators:
        declaration = f"{node.name}{returned.replace(' ->', ':')}"
    else:
        arguments = ast.unparse(node.args).removeprefix("self").removeprefix(", ")
        declaration = f"{node.name}({arguments}){returned}"
    return Member(declaration, ast.get_docstring(node) or "", required="abstractmethod" in decorators)


def _type(node: ast.ClassDef, lines: list[str]) -> Member:
    """A type with its source, but for the docstring, which is its meaning."""
    first = node.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    rest = node.body[1:] if documented else node.body
    source = lines[node.lineno - 1 : node.lineno]
    if rest:
        start = (first.end_lineno or first.lineno) if documented else node.lineno
        source += "\n".join(lines[start : node.end_lineno]).lstrip("\n").splitlines()
    return Member("\n".join(source), ast.get_docstring(node) or "")
