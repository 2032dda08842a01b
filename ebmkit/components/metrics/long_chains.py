"""Draws of long chains, checked for diagnostics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.contracts.draws import blocks
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.unmeasurable import Unmeasurable
from ebmkit.diagnostics.coordinates import FEWEST

if TYPE_CHECKING:
    from ebmkit.contracts.draws import Draws
    from ebmkit.contracts.view import View


def long_chains(view: View) -> Draws:
    """The draws of long chains, in which every coordinate moves in some chain."""
    view.samples(1)
    if view.draws is None:
        raise ValueError("the samples are not from long chains: add 'chains:' to the spec")
    x = view.draws.x
    if x.shape[1] < FEWEST:
        raise ValueError(f"{x.shape[1]} draws per chain are too few: at least {FEWEST} are needed")
    half = x.shape[1] // 2
    moves = torch.zeros_like(x[0, 0], dtype=torch.bool)
    for part in (x[:, :half], x[:, x.shape[1] - half :]):
        for block in blocks(part):
            moves |= (block != part[:, :1]).flatten(0, 1).any(0)
    if fixed := (~moves).flatten().nonzero().flatten().tolist():
        raise Unmeasurable(
            f"{len(fixed):,} of {x[0, 0].numel():,} coordinates of a state never move, the first of them x[{fixed[0]}] "
            "of the flattened state: the mixing of chains that do not move cannot be measured"
        )
    return view.draws
