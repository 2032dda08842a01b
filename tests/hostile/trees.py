"""Mutations of plain data: the content of a spec, of JSON files of a run, of headers."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

Where = tuple[Any, Any]  # a list or a dictionary, and the position or key in it

#: Values of types that readers may not expect.
VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, 10**400, 0.5, -0.0, 1e308, 5e-324, 1e-400),
    *(float("nan"), float("inf"), -float("inf")),
    *(
        "",
        " ",
        "0",
        "1",
        "nan",
        "inf",
        "null",
        "true",
        "$x",
        "a.b",
        "../x",
        "/dev/zero",
        "/",
        "~",
        "-",
        "\x00",
        "\x1b[2J",
    ),
    *("\u202e", "\ufeff", "\ud800", "é", "😀", "x" * 5000, "1_000", "2024-01-01", "{{x}}", "!!python/object"),
    *(
        [],
        {},
        [[]],
        [None],
        [{}],
        {"use": None},
        {"use": "mlp"},
        {"": 0},
        {"use": []},
        ["x"] * 50,
        {"a": {"b": {"c": 1}}},
    ),
]


def places(tree: Any) -> Iterator[Where]:
    """Every position in a tree."""
    waiting = [tree]
    while waiting:
        inside = waiting.pop()
        pairs = inside.items() if isinstance(inside, dict) else enumerate(inside) if isinstance(inside, list) else ()
        for key, value in pairs:
            yield inside, key
            waiting.append(value)


def _any(tree: Any, rng: random.Random) -> Where:
    return rng.choice(list(places(tree)))


def swap_subtree(tree: Any, other: Any, rng: random.Random) -> None:
    """A subtree of another tree: where that one has the same key if there is such a place, or anywhere."""
    inside, key = _any(tree, rng)
    same = [place for place in places(other) if place[1] == key]
    there, their_key = rng.choice(same) if same and rng.random() < 0.7 else _any(other, rng)
    inside[key] = copy.deepcopy(there[their_key])


def add_subtree(tree: Any, other: Any, rng: random.Random) -> None:
    inside, _ = _any(tree, rng)
    there, key = _any(other, rng)
    if isinstance(inside, dict) and isinstance(there, dict):
        inside[key] = copy.deepcopy(there[key])
    elif isinstance(inside, list):
        inside.insert(rng.randrange(len(inside) + 1), copy.deepcopy(there[key]))


def other_value(tree: Any, other: Any, rng: random.Random) -> None:
    inside, key = _any(tree, rng)
    inside[key] = copy.deepcopy(rng.choice(VALUES))


def other_type(tree: Any, other: Any, rng: random.Random) -> None:
    inside, key = _any(tree, rng)
    value = inside[key]
    inside[key] = rng.choice([str(value), [value], {"use": value}, {str(key): value}, [value, value], repr(value)])


def other_number(tree: Any, other: Any, rng: random.Random) -> None:
    numbers = [place for place in places(tree) if _is_moderate(place[0][place[1]])]
    if numbers:
        inside, key = rng.choice(numbers)
        value = inside[key]
        inside[key] = rng.choice([-value, value + 1, value * 10, value * 10**6, float(value), int(value), value / 3])


def _is_moderate(value: Any) -> bool:
    """Whether it can be converted and multiplied: an earlier mutation may have left infinity."""
    return isinstance(value, int | float) and abs(value) < 1e100


def delete(tree: Any, other: Any, rng: random.Random) -> None:
    inside, key = _any(tree, rng)
    del inside[key]


def rename(tree: Any, other: Any, rng: random.Random) -> None:
    keys = [place for place in places(tree) if isinstance(place[0], dict)]
    if keys:
        inside, key = rng.choice(keys)
        inside[rng.choice([f"{key}x", key[:-1], key.upper(), "use", "\u200b" + key, "é", ""])] = inside.pop(key)


def nest(tree: Any, other: Any, rng: random.Random) -> None:
    inside, key = _any(tree, rng)
    value = inside[key]
    for _ in range(rng.choice([1, 3, 30, 70, 200])):
        value = [value] if rng.random() < 0.5 else {"use": "sum", "a": value}
    inside[key] = value


def repeat(tree: Any, other: Any, rng: random.Random) -> None:
    inside, key = _any(tree, rng)
    inside[key] = [inside[key]] * rng.choice([2, 10, 1000])


MUTATIONS: list[Callable[[Any, Any, random.Random], None]] = [
    *(swap_subtree, swap_subtree, swap_subtree, add_subtree, add_subtree, other_value, other_value, other_type),
    *(other_number, delete, rename, nest, repeat),
]


def mutated(tree: Any, others: list[Any], rng: random.Random, most: int = 3) -> Any:
    """The tree after one to `most` mutations."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.randint(1, most)):
        if not list(places(tree)):
            break
        rng.choice(MUTATIONS)(tree, rng.choice(others), rng)
    return tree
