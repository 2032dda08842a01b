"""The laws of exact properties of a model: units, conditionals, normaliser, draws and noised density."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import Energy
from ebmkit.components.samplers.hmc import HMC
from ebmkit.contracts.kinds import Model
from ebmkit.testing.case import Case
from ebmkit.testing.importance import require_independent, require_log_integral
from ebmkit.testing.law import Inapplicable, require
from ebmkit.testing.laws.model.setting import SIGMA, network_of, require_ability, states_of, train_a_little
from ebmkit.testing.oracles import (
    DRAWS,
    FEW,
    Quadrature,
    enumerated,
    features,
    generator,
    integrate,
    require_means,
    values_of,
)
from ebmkit.testing.partner import build
from ebmkit.testing.untouched import no_global_randomness, require_same_bits, unchanged

#: Axes along which exact draws are compared with slopes, one by one.
AXES = 16


def _density(model: Model, module: nn.Module, case: Case) -> Quadrature:
    """The exact distribution of the model: all of its states, or by quadrature in one and two dimensions."""
    values = values_of(model)
    if not values:
        return integrate(lambda x: -module(x), case.event)
    return enumerated(lambda x: -module(x), case.event, values)


def knows_the_values_of_its_units(model: Model, case: Case) -> None:
    """A network on discrete states, or a part of it, has `unit_values`: (0, 1), (-1, 1), or 0 to K - 1."""
    values = values_of(model)
    if not values:
        raise Inapplicable("its states are not discrete")
    found = Energy(build(model, case.event)).unit_values
    require(tuple(found) == values, f"units of a {model.traits().space} model have values {found}")


def has_the_conditionals_of_its_energy(model: Model, case: Case) -> None:
    """log_odds is the decrease of the energy when a unit is raised, or from one category to another."""
    require_ability(model, "conditionals")
    module, x = network_of(model, case), states_of(model, case)
    units, values = math.prod(case.event), values_of(model)
    categorical = model.traits().space == "categorical"
    sites = torch.arange(units).flip(0)[::2]  # every second one, from the last to the first
    with torch.no_grad():
        claimed = module.log_odds(x, sites)
        shape = (len(x), len(sites), len(values)) if categorical else (len(x), len(sites))
        require(claimed.shape == shape, f"log_odds of {len(sites)} units has {tuple(claimed.shape)}")
        if categorical:
            claimed = claimed - claimed[..., :1]
        for k, site in enumerate(sites.tolist()):
            at = torch.stack([module(_with(x, site, value)) for value in values], 1)
            gains = at[:, :1] - at if categorical else at[:, 0] - at[:, 1]
            off = float((claimed[:, k] - gains).abs().max())
            require(off <= 1e-9 * (1 + float(claimed.abs().max())), f"log_odds differs by {off:.3g} from the energies")


def _with(x: Tensor, site: int, value: float) -> Tensor:
    """The states with one unit set to a value."""
    x = x.clone()
    x.view(len(x), -1)[:, site] = value
    return x


def has_the_normaliser_of_quadrature(model: Model, case: Case) -> str:
    """log_z is the log of the integral of exp(-E), or of the sum over discrete states, before and after training: by
    quadrature in one and two dimensions, by importance sampling in more."""
    require_ability(model, "log_z")
    module: Any = build(model, case.event)
    if math.prod(case.event) > 2 and not values_of(model):
        train_a_little(module)
        x, claimed = _near_its_mass(model, module, case), float(module.log_z().detach())
        return require_log_integral(lambda x: -module(x), x, claimed, "exp(log_z)")
    for trained in (False, True):
        claimed, exact = float(module.log_z().detach()), _density(model, module, case)
        off, when = abs(claimed - exact.log_z), "after training" if trained else "before training"
        require(off <= 1e-6 + exact.error, f"log_z {when} is {claimed:.9g}, but quadrature gives {exact.log_z:.9g}")
        train_a_little(module)
    return ""


def _near_its_mass(model: Model, module: Any, case: Case) -> Tensor:
    """States where the mass of a density is: exact draws, or the ends of chains."""
    if "sample_exact" in model.traits().offers:
        x: Tensor = module.sample_exact(DRAWS, generator(7))
        return x
    if "gradient" not in model.traits().offers:
        raise Inapplicable("it has neither exact draws nor a gradient to find its mass")
    return run_chain(HMC(steps=100, step_size=0.1), module, states_of(model, case, 2_000), generator(7)).x


def draws_from_its_density(model: Model, case: Case) -> None:
    """Exact samples have the shape of states and the density exp(-E) / Z, at a false-alarm rate of 1e-6.

    In one and two dimensions, and on discrete states, the means of waves agree with quadrature or with the sum. In
    more dimensions Stein's identity is tested: E[df/dx_k - f dE/dx_k] = 0 for waves f and each direction k. Draws are
    independent of each other.
    """
    require_ability(model, "sample_exact")
    module = network_of(model, case)
    with no_global_randomness():
        x = module.sample_exact(DRAWS, generator(5))
    require(tuple(x.shape) == (DRAWS, *case.event), f"{DRAWS} draws have shape {tuple(x.shape)}")
    require_same_bits(x, module.sample_exact(DRAWS, generator(5)), "draws from one seed")
    require_independent(x, "exact draws")
    if math.prod(case.event) <= 2 or values_of(model):
        exact = _density(model, module, case)
        require_means(features(x), exact.mean(features(exact.x)), "the mean of a wave over exact draws")
    else:
        require_ability(model, "gradient")
        require_stein(module, x, "Stein's identity")


def require_stein(module: nn.Module, x: Tensor, what: str) -> None:
    """Means of functions of states are zero, as they are if the states have the density exp(-E) / Z."""
    found = _stein(module, x)
    require_means(found, torch.zeros(found.shape[1], dtype=torch.float64), what)


def _stein(module: nn.Module, x: Tensor) -> Tensor:
    """Of twelve waves along random directions, and of one along each of the first axes."""
    x = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(module(x).sum(), x)
    waves = features(x)
    terms = []
    for k in range(waves.shape[1]):
        (ripple,) = torch.autograd.grad(waves[:, k].sum(), x, retain_graph=True)
        axis = k % ripple[0].numel()
        terms.append(ripple.flatten(1)[:, axis] - waves[:, k] * slope.flatten(1)[:, axis])
    flat, slopes = x.flatten(1)[:, :AXES], slope.flatten(1)[:, :AXES]
    centred = flat - flat.detach().median(0).values
    return torch.cat([torch.stack(terms, 1), centred.cos() - centred.sin() * slopes], 1).detach()


def has_no_energy_below_its_ground_state(model: Model, case: Case) -> None:
    """The ground state has the shape of a state, and no other one has a lower energy: none of all states if they are
    few, none of random ones and none that differs from it in one unit otherwise."""
    require_ability(model, "ground_state")
    module = network_of(model, case)
    units, values = math.prod(case.event), values_of(model)
    with no_global_randomness(), torch.no_grad():
        found = module.ground_state()
        require(tuple(found.shape) == case.event, f"the ground state has shape {tuple(found.shape)}")
        near = [_with(found[None], site, value) for site in range(min(units, 100)) for value in values]
        few = len(values) ** units <= FEW
        others = enumerated(lambda x: -module(x), case.event, values).x if few else states_of(model, case)
        lowest, least = float(module(found[None])), float(module(torch.cat([others, *near])).min())
    require(lowest <= least + 1e-9 * (1 + abs(least)), f"the ground state has energy {lowest:.9g}, another {least:.9g}")


def is_convolved_when_noised(model: Model, case: Case) -> None:
    """noised(sigma) is another model, with the density of x + sigma xi: by quadrature in one and two dimensions, by
    samples in more."""
    require_ability(model, "noised")
    module = network_of(model, case)
    with unchanged(module):
        train_a_little(module.noised(SIGMA))
    noised = module.noised(SIGMA)
    if math.prod(case.event) > 2:
        require_ability(model, "sample_exact")
        x = module.sample_exact(DRAWS, generator(5))
        x = x + SIGMA * torch.empty_like(x).normal_(generator=generator(6))
        require_stein(noised, x, "Stein's identity for noised draws")
        return
    exact = integrate(lambda points: -module(points), case.event)
    y = states_of(model, case, 10)
    squares = torch.cdist(y.flatten(1), exact.x.flatten(1)).square()
    width = math.prod(case.event) / 2 * math.log(2 * math.pi * SIGMA**2)
    true = (exact.weights.log() - squares / (2 * SIGMA**2)).logsumexp(1) - width
    off = -noised(y).detach() - true
    # Without log_z the energy is determined up to a constant.
    worst = float((off - (noised.log_z().detach() if "log_z" in model.traits().offers else off.mean())).abs().max())
    require(worst <= 1e-6 + exact.error, f"its log density differs by {worst:.3g} from the convolution by quadrature")
