"""The laws of units: blocks that are drawn given all others, and hidden units that are summed over."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ebmkit.contracts.abilities import Hidden
from ebmkit.contracts.ability import missing_members
from ebmkit.contracts.kinds import Model
from ebmkit.testing.case import Case
from ebmkit.testing.law import Inapplicable, require
from ebmkit.testing.laws.model.setting import network_of, require_ability, states_of
from ebmkit.testing.oracles import DRAWS, VALUES, generator, require_means, require_same_law
from ebmkit.testing.untouched import no_global_randomness

#: Temperatures at which units are drawn.
TEMPERATURES = (1.0, 2.5)
#: Units whose draws are compared with the energy, in each block.
TRIED = 3
#: Maximum number of hidden units whose states are summed here.
SUMMED = 10


def draws_units_given_all_others(model: Model, case: Case) -> None:
    """Blocks contain each unit once; what is drawn does not depend on the present values of its block; a unit that is
    drawn alone has the distribution exp(-E/T) given all others, by enumeration or quadrature; and drawing it again
    after its block does not change the distribution of the block. At a false-alarm rate of 1e-6."""
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
            many = units[:1].expand(DRAWS, -1).clone()
            many[:, block] = module.draw_units(many, block, temperature, generator(6))
        for k in range(min(TRIED, len(block))):
            site = block[k : k + 1]
            with torch.no_grad():
                alone = module.draw_units(units[:1].expand(DRAWS, -1), site, temperature, generator(7))[:, 0]
                again = module.draw_units(many, site, temperature, generator(8))[:, 0]
            mean = _mean(energy, units[:1], int(site), alone, temperature)
            found = torch.stack([alone, alone.square()], 1)
            require_means(found, mean, f"the mean of a unit drawn at temperature {temperature:g}")
            neighbour = many[:, block[k - 1]] if len(block) > 1 else torch.ones_like(alone)
            before, after = (torch.stack([u, u.square(), u * neighbour], 1) for u in (many[:, block[k]], again))
            require_same_law(before, after, f"a unit drawn again after its block at temperature {temperature:g}")


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


def has_the_joint_conditionals_of_its_energy(model: Model, case: Case) -> None:
    """joint_log_odds is the decrease of the energy of visible and hidden units when one of them is raised."""
    require_ability(model, "joint_conditionals")
    module, x = network_of(model, case), states_of(model, case)
    units, energy = _joint(module, x)
    sites = torch.arange(units.shape[1]).flip(0)[:: max(1, units.shape[1] // SUMMED)]
    low, high = VALUES[model.traits().space]
    with torch.no_grad():
        claimed = module.joint_log_odds(units, sites)
        require(claimed.shape == (len(x), len(sites)), f"odds of {len(sites)} units have shape {tuple(claimed.shape)}")
        for k, site in enumerate(sites):
            at_low, at_high = (units.index_fill(1, site, value) for value in (low, high))
            off = float((claimed[:, k] - (energy(at_low) - energy(at_high))).abs().max())
            require(off <= 1e-9 * (1 + float(claimed.abs().max())), f"odds differ by {off:.3g} from the energies")


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


def bounds_its_energy_by_the_posterior(model: Model, case: Case) -> None:
    """E_q[E(x, h)] - H(q) is differentiable in the parameters, and not below E(x) if that is offered, too."""
    require_ability(model, "posterior")
    module, x = network_of(model, case), states_of(model, case)
    bound = module.posterior_energy(x, generator(5))
    require(bound.shape == (len(x),), f"posterior energies of {len(x)} states have shape {tuple(bound.shape)}")
    require(bound.requires_grad, "its posterior energy has no gradient in the parameters")
    if "energy" in model.traits().offers:
        energy = module(x)
        under = float((energy - bound).detach().max())
        require(under <= 1e-9 * (1 + float(energy.detach().abs().max())), f"its bound is {under:.3g} below its energy")


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
