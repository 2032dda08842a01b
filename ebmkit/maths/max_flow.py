"""Minimum cuts by maximum flow."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

#: Sweeps of pushes between two computations of the distances.
SWEEPS = 16


class _Arcs(NamedTuple):
    """Each pair of nodes as two arcs. Arcs of a group start at different nodes, so they push at once."""

    tail: Tensor
    head: Tensor
    reverse: Tensor
    groups: list[Tensor]


def minimum_cut(pairs: Tensor, capacity: Tensor, supply: Tensor) -> Tensor:
    """The nodes on the side of the source in a minimum cut, as a mask `(d,)`.

        the minimum over z in {0, 1}^d of    sum_ij capacity_ij |z_i - z_j| - sum_i supply_i z_i

    The pairs `(2, P)` are joined by `capacity (P,)`, not negative, in both directions. The source is joined to nodes of
    a positive `supply (d,)` by this capacity, and nodes of a negative one to the sink. Of several minimum cuts it is
    that with the most nodes on the side of the source.

    Push-relabel (Goldberg and Tarjan, J. ACM 35, 1988) of all nodes at once, in which the labels are recomputed as the
    distances from the sink (global relabelling). Flow that cannot reach the sink need not return to the source, because
    only the cut is asked for.
    """
    if bool((capacity < 0).any()):
        raise ValueError("a minimum cut needs capacities that are not negative")
    arcs = _arcs(pairs, len(supply))
    residual = torch.cat([capacity, capacity]).double()
    excess, to_sink = supply.double().clamp(min=0), -supply.double().clamp(max=0)
    while True:
        distance = _distances(arcs, residual, to_sink)
        if not bool(((excess > 0) & (distance <= len(supply))).any()):
            return distance > len(supply)
        for _ in range(SWEEPS):
            _push(arcs, residual, excess, to_sink, distance)


def _arcs(pairs: Tensor, nodes: int) -> _Arcs:
    tail, head = torch.cat([pairs, pairs.flip(0)], 1)
    count = len(tail)
    order = tail.argsort(stable=True)
    first = torch.bincount(tail, minlength=nodes).cumsum(0).roll(1)
    first[0] = 0
    rank = torch.empty_like(tail)
    index = torch.arange(count, device=tail.device)
    rank[order] = index - first[tail[order]]
    groups = [(rank == k).nonzero().flatten() for k in range(int(rank.max()) + 1 if count else 0)]
    return _Arcs(tail, head, index.roll(count // 2), groups)


def _distances(arcs: _Arcs, residual: Tensor, to_sink: Tensor) -> Tensor:
    """The number of arcs with capacity left from each node to the sink; one more than there are nodes if none lead to
    it."""
    far = len(to_sink) + 1
    open_arcs = (residual > 0).nonzero().flatten()
    tail, head = arcs.tail[open_arcs], arcs.head[open_arcs]
    distance = torch.where(to_sink > 0, 1, far)
    while True:
        nearer = distance.scatter_reduce(0, tail, distance[head] + 1, "amin")
        if torch.equal(nearer, distance):
            return distance
        distance = nearer


def _push(arcs: _Arcs, residual: Tensor, excess: Tensor, to_sink: Tensor, distance: Tensor) -> None:
    """Move excess one arc nearer to the sink, in place."""
    amount = torch.where(distance == 1, torch.minimum(excess, to_sink), 0)
    excess -= amount
    to_sink -= amount
    for group in arcs.groups:
        tail, head = arcs.tail[group], arcs.head[group]
        downhill = distance[tail] == distance[head] + 1
        amount = torch.where(downhill, torch.minimum(excess[tail], residual[group]), 0)
        residual[group] -= amount
        residual.index_add_(0, arcs.reverse[group], amount)
        excess.index_add_(0, tail, -amount)
        excess.index_add_(0, head, amount)
