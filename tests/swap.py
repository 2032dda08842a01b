"""One piece of code in the place of another, found as code and not as text.

    swapped(source, "eps = state.step_size", "eps = 2 * state.step_size")

Both are compared as syntax trees: quotes, line breaks, comments and parentheses that change nothing do not matter. What
is looked for is an expression, or one or several statements in a row. The body of a statement may be left open:
`for i in x: ...` finds the loop whatever it does, and in its place `for i in y: ...` keeps the body.
"""

import ast
import textwrap
from collections.abc import Iterator
from typing import Any


class NotOnce(AssertionError):
    """What is to be replaced is not there, or there several times."""


def swapped(source: str, old: str, new: str) -> str:
    """The text of a module with `new` in the place of `old`, which occurs once."""
    tree, before, after = ast.parse(source), _statements(old), _statements(new)
    match before, after:
        case [ast.Expr(value=expression)], [ast.Expr(value=other)]:
            holder, place = _only(_expressions(tree, expression), old)
            holder[place] = other
        case _:
            body, start = _only(_runs(tree, before), old)
            end = start + len(before)
            if _is_open(before[-1]) and _is_open(after[-1]):
                after[-1].body = body[end - 1].body  # type: ignore[attr-defined]
            body[start:end] = after
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _statements(text: str) -> list[ast.stmt]:
    return ast.parse(textwrap.dedent(text).strip()).body


def _only(found: Iterator[Any], old: str) -> Any:
    every = list(found)
    if len(every) != 1:
        raise NotOnce(f"what is to be replaced occurs {len(every)} times, not once; keep the table in step:\n{old}")
    return every[0]


# Where something stands -----------------------------------------------------------------------------------------------


def _expressions(tree: ast.AST, wanted: ast.expr) -> Iterator[tuple[Any, Any]]:
    """Holders that have an expression, and at which key or index."""
    sought = ast.dump(wanted)
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            holder, places = (value, range(len(value))) if isinstance(value, list) else (vars(parent), [field])
            for place in places:
                if isinstance(holder[place], ast.expr) and ast.dump(holder[place]) == sought:
                    yield holder, place


def _runs(tree: ast.AST, wanted: list[ast.stmt]) -> Iterator[tuple[list[ast.stmt], int]]:
    """Bodies that have these statements in a row, and from where on."""
    for parent in ast.walk(tree):
        for _, body in ast.iter_fields(parent):
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                for start in range(len(body) - len(wanted) + 1):
                    if all(map(_is, body[start:], wanted)):
                        yield body, start


def _is(statement: ast.stmt, wanted: ast.stmt) -> bool:
    if _is_open(wanted) and type(statement) is type(wanted):
        return all(_dump(statement, field) == _dump(wanted, field) for field in wanted._fields if field != "body")
    return ast.dump(statement) == ast.dump(wanted)


def _dump(node: ast.AST, field: str) -> list[str]:
    value = getattr(node, field)
    return [ast.dump(each) if isinstance(each, ast.AST) else repr(each) for each in _listed(value)]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_open(statement: ast.stmt) -> bool:
    """Whether its body is `...`, which stands for any body."""
    match getattr(statement, "body", None):
        case [ast.Expr(value=ast.Constant(value=constant))]:
            return constant is ...
    return False
