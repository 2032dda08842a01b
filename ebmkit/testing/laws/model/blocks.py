"""The laws of units: blocks that are drawn given all others, and hidden units that are summed over."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ebmkit.contracts.abilities import Hidden, missing_members
from ebmkit.contracts.kinds import Model
from ebmkit.testing.case import Case
from ebmkit.testing.law import Inapplicable, require
from ebmkit.testing.laws.model.setting import network_of, require_ability, states_of
from ebmkit.testing.oracles import DRAWS, generator, require_means
from ebmkit.testing.untouched import no_global_randomness

#: Temperatures at which units are drawn.
TEMPERATURES = (1.0, 2.5)
#: Units whose draws are compared with the energy, in each block.
TRIED = 3
#: Maximum number of hidden units whose states are summed here.
SUMMED = 10


def draws_units_given_all_others(model: Model, case: Case) -> None:
    """Blocks contain each unit once; what is drawn does not depend on the present values of its block; and each unit
    has the distribution exp(-E/T) given all others, by enumeration or quadrature, at a false-alarm rate of 1e-6."""
    require_ability(model, "blocks")
    module, x = network_of(model, case), states_of(model, case)
    units, energy = _joint(module, x)
    blocks = module.blocks()
    held = torch.cat(list(blocks)).sort().values.tolist()
    total = units.shape[1]
    require(held == list(range(total)), f"the blocks contain units {held[:5]}..., but there are {total}")
    for block, temperature in ((block, temperature) for block in blocks for temperature in TEMPERATURES):
        with torch.no_grad(), no_global_randomness():
            one = module.draw_units(units, block, temperature, generator(5))
            require(one.shape == (len(x), len(block)), f"draws of {len(block)} units have shape {tuple(one.shape)}")
            moved = units.clone()
            moved[:, block] = units.roll(1, 0)[:, block]
            two = module.draw_units(moved, block, temperature, generator(5))
            require(torch.equal(one, two), "draws of a block depend on the values that its units had")
            many = module.draw_units(units[:1].expand(DRAWS, -1), block, temperature, generator(6))
        for k in range(min(TRIED, len(block))):
            mean = _mean(energy, units[:1], int(block[k]), many[:, k], temperature)
            found = torch.stack([many[:, k], many[:, k].square()], 1)
            require_means(found, mean, f"the mean of a unit drawn at temperature {temperature:g}")


def sweeps_over_its_blocks(model: Model, case: Case) -> None:
    """A sweep has the distribution of its blocks drawn in turn, by the means of units and of products of neighbours at
    a false-alarm rate of 1e-6; and it reports the energies of the states before."""
    require_ability(model, "sweeps")
    module, x = network_of(model, case), states_of(model, case)
    units, energy = _joint(module, x)
    with torch.no_grad(), no_global_randomness():
        swept, before = module.sweep(units, 1.0, generator(5))
        require(swept.shape == units.shape, f"states {tuple(units.shape)} are {tuple(swept.shape)} after a sweep")
        off = float((before - energy(units)).abs().max())
        require(off <= 1e-9 * (1 + float(before.abs().max())), f"energies before a sweep are off by {off:.3g}")
        start = units[:1].expand(DRAWS, -1)
        for temperature in TEMPERATURES:
            one, _ = module.sweep(start, temperature, generator(6))
            two, rng = start.clone(), generator(7)
            for block in module.blocks():
                two[:, block] = module.draw_units(two, block, temperature, rng)
            moments = [torch.cat([y, y * y.roll(1, 1)], 1) for y in (one, two)]
            require_alike(moments[0], moments[1], f"at temperature {temperature:g}")


def require_alike(one: Tensor, two: Tensor, when: str) -> None:
    """The means of the columns of two sets of draws agree, at a false-alarm rate of 1e-6."""
    error = ((one.var(0) + two.var(0)) / len(one)).sqrt()
    gap = (one.mean(0) - two.mean(0)).abs()
    require(bool((gap <= 6.5 * error + 1e-9).all()), f"a sweep {when} is not its blocks drawn in turn: means differ")


def sums_over_its_hidden_units(model: Model, case: Case) -> None:
    """exp(-E(x)) is the sum of exp(-E(x, h)) over all states of hidden units with two values."""
    require_ability(model, "hidden")
    module, x = network_of(model, case), states_of(model, case)
    if module.hidden_units > SUMMED:
        raise Inapplicable(f"it has more than {SUMMED} hidden units")
    with torch.no_grad():
        values = module.draw_hidden(x[:1].expand(1000, *case.event), generator(5)).unique()
        if len(values) > 2:
            raise Inapplicable("its hidden units have more than two values")
        low = float(values[0]) if len(values) == 2 else float(values[0].clamp(max=0))
        every = torch.cartesian_prod(*[torch.tensor([low, 1.0], dtype=x.dtype)] * module.hidden_units)
        every = every.view(-1, module.hidden_units)
        states = torch.cat([x.flatten(1).repeat_interleave(len(every), 0), every.repeat(len(x), 1)], 1)
        summed = -(-module.joint_energy(states)).view(len(x), -1).logsumexp(1)
        off = float((module(x) - summed).abs().max())
    require(off <= 1e-9 * (1 + float(summed.abs().max())), f"its energy differs by {off:.3g} from the sum over h")


def _joint(module: Any, x: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """Flat states of all units, and their energy."""
    if missing_members(module, Hidden):
        return x.flatten(1), lambda units: module(units.view(-1, *x.shape[1:]))
    with torch.no_grad():
        return torch.cat([x.flatten(1), module.draw_hidden(x, generator(4))], 1), module.joint_energy


def _mean(energy: Callable[[Tensor], Tensor], state: Tensor, unit: int, seen: Tensor, temperature: float) -> Tensor:
    """E[u] and E[u^2] of a unit given all others, whose values are those that were seen, or all numbers near them."""
    values: Tensor = torch.unique(seen)
    if len(values) > math.isqrt(len(seen)):
        middle, spread = seen.mean(), seen.std()
        values = torch.linspace(-12, 12, 4001, dtype=seen.dtype) * spread + middle
    states = state.expand(len(values), -1).clone()
    states[:, unit] = values
    with torch.no_grad():
        p = (-energy(states) / temperature).softmax(0)
    return torch.stack([p @ values, p @ values.square()])
