"""States of samplers, taken apart and put together again, to the last bit."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import torch

from ebmkit.chains.leaves import Leaves, Unsaveable, paths, put_together, take_apart


class Inner(NamedTuple):
    x: Any
    level: Any = None


@dataclass
class Odd:
    x: Any
    turns: int


def there_and_back(tree, template=None):
    leaves = take_apart(tree)
    written = json.loads(json.dumps(leaves.values, allow_nan=False))
    tensors = {name: tensor.contiguous() for name, tensor in leaves.tensors.items()}  # as a file holds them
    return put_together(tree if template is None else template, Leaves(tensors, written), torch.device("cpu"))


def test_every_kind_of_leaf_and_of_container():
    x = torch.randn(3, 2)
    tree = {"state": Inner(x, (1, [2.5, -math.inf], "word")), "also": Odd(x.double(), 7), "none": None, "yes": True}
    again = there_and_back(tree)
    assert type(again["state"]) is Inner
    assert again["state"].x.equal(x)
    assert again["state"].level == (1, [2.5, -math.inf], "word")
    assert again["also"].x.dtype == torch.float64
    assert (again["also"].turns, again["none"], again["yes"]) == (7, None, True)


def test_a_leaf_may_change_its_shape_or_become_none():
    """As masses do in a warm-up."""
    again = there_and_back(Inner(torch.ones(3), torch.ones(2)), template=Inner(torch.ones(()), None))
    assert again.x.shape == (3,)
    assert again.level.equal(torch.ones(2))


@pytest.mark.parametrize(
    "x",
    [
        torch.arange(24.0).view(2, 3, 4).permute(2, 0, 1),
        torch.arange(24.0).view(2, 3, 2, 2).contiguous(memory_format=torch.channels_last),
        torch.arange(3.0).view(1, 3).expand(4, 3),
        torch.arange(12.0).view(3, 4)[:, ::2],
        torch.arange(12.0).view(4, 3)[:2],
    ],
    ids=["permuted", "channels last", "expanded", "every second", "the first"],
)
def test_random_numbers_for_it_are_the_same(x):
    """They follow the layout of the memory."""
    again = there_and_back(Inner(x)).x
    assert again.equal(x)
    drawn = [torch.empty_like(each).normal_(generator=torch.Generator().manual_seed(0)) for each in (x, again)]
    assert drawn[0].equal(drawn[1])
    assert drawn[0].stride() == drawn[1].stride()


@pytest.mark.parametrize("leaf", [torch.Generator(), object(), {1, 2}, {1: 2}, torch.eye(2).to_sparse()])
def test_what_cannot_be_saved_is_named(leaf):
    with pytest.raises(Unsaveable, match=r"'level' is a \w+, which is neither a tensor nor a number"):
        take_apart(Inner(torch.ones(2), leaf))


def test_another_structure_is_refused():
    with pytest.raises(LookupError, match=r"level\.0: in one of the two states only"):
        there_and_back(Inner(torch.ones(2), (1,)), template=Inner(torch.ones(2), ()))
    assert paths(Inner(1, (2, 3))) == {"x", "level.0", "level.1"}
