"""The laws of models."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from ebmkit.chains.energy import Energy, frozen
from ebmkit.contracts.kinds import Model
from ebmkit.testing.case import Case
from ebmkit.testing.device import pretended_device
from ebmkit.testing.law import Inapplicable, Law, require
from ebmkit.testing.oracles import DRAWS, Quadrature, features, generator, integrate, require_means, require_slope
from ebmkit.testing.partner import build, default_dtype, seeded, states
from ebmkit.testing.untouched import no_global_randomness, require_same_bits, unchanged

#: A noise level, for what takes one.
SIGMA = 0.7

#: The values of a unit, by space.
VALUES = {"binary": (0.0, 1.0), "spin": (-1.0, 1.0)}
#: Units whose states are gone through one by one.
FEW = 16


def _states(model: Model, case: Case, n: int = 7, dtype: torch.dtype = torch.float64) -> Tensor:
    return states(model.space, n, case.event, generator(1), dtype)


def _answer(model: Model, module: nn.Module, x: Tensor) -> Tensor:
    """Energies or scores, at one noise level where the network takes one."""
    beside = () if model.conditioning is None else (x.new_full((len(x),), SIGMA),)
    answer: Tensor = module(x, *beside)
    return answer


def _needs(model: Model, ability: str) -> None:
    if ability not in model.offers:
        raise Inapplicable(f"it does not offer {ability}")


def _parameters(module: nn.Module) -> list[Tensor]:
    found: list[Tensor] = [parameter for parameter in module.parameters() if parameter.requires_grad]
    if not found:
        raise Inapplicable("nothing in it is trained")
    return found


def _network(model: Model, case: Case) -> Any:
    """A network whose parameters have moved, as training moves them: what holds at the beginning only is caught."""
    module = build(model, case.event)
    _train_a_little(module)
    return module


def _train_a_little(module: nn.Module) -> None:
    rng = generator(9)
    with torch.no_grad():
        for parameter in module.parameters():
            size = max(0.1, float(parameter.square().mean().sqrt()))
            parameter.add_(torch.randn(parameter.shape, generator=rng, dtype=parameter.dtype), alpha=0.2 * size)


# The energy -----------------------------------------------------------------------------------------------------------


def gives_one_number_a_state(model: Model, case: Case) -> None:
    """The network maps `(B, *event)` to `(B,)`, a score to the shape of x, finite, for B = 0, 1 and 7."""
    module = build(model, case.event)
    for n in (0, 1, 7):
        x = _states(model, case, n)
        answer = _answer(model, module, x)
        expected = (n,) if "energy" in model.offers else tuple(x.shape)
        require(tuple(answer.shape) == expected, f"{n} states give shape {tuple(answer.shape)}, not {expected}")
        require(bool(answer.isfinite().all()), f"energies are {answer.tolist()[:3]}")


def treats_states_apart(model: Model, case: Case) -> None:
    """The energy of a state does not depend on which others are in the batch."""
    module, x = _network(model, case), _states(model, case)
    with torch.no_grad():
        together = _answer(model, module, x)
        alone = torch.cat([_answer(model, module, row[None]) for row in x])
    off = float((together - alone).abs().max())
    require(off <= 1e-9 * (1 + float(alone.abs().max())), f"a state has an energy {off:.3g} apart when it is alone")


def keeps_the_dtype(model: Model, case: Case) -> None:
    """A network in float64 computes in float64, one in float32 in float32, whatever it was built in."""
    for dtype in (torch.float32, torch.float64):
        module: Any = build(model, case.event, dtype=torch.float32).to(dtype)
        x = _states(model, case, dtype=dtype)
        found = {"its answer": _answer(model, module, x)}
        if "gradient" in model.offers and model.conditioning is None:
            with frozen(module) as energy:
                found["its energy"], found["its gradient"] = energy.value_and_grad(x)
        if "sample_exact" in model.offers:
            found["an exact sample"] = module.sample_exact(3, generator(0))
        if "conditionals" in model.offers:
            found["log_odds"] = module.log_odds(x, module.blocks()[0])
        if "log_z" in model.offers:
            found["log_z"] = module.log_z()
        if "noised" in model.offers:
            found["its noised energy"] = module.noised(SIGMA)(x)
        for name, value in found.items():
            require(value.dtype == dtype, f"{name} is {value.dtype} from a network of {dtype}")


def has_the_gradient_of_differences(model: Model, case: Case) -> None:
    """dE/dx by autograd fits finite differences of the energy."""
    _needs(model, "gradient")
    module, x = _network(model, case), _states(model, case, 3).requires_grad_()
    (slope,) = torch.autograd.grad(_answer(model, module, x).sum(), x)
    point = x.detach()
    require_slope(lambda: _answer(model, module, point).sum(), [point], [slope], "dE/dx")


def has_the_gradient_by_hand(model: Model, case: Case) -> None:
    """`energy_and_grad`, where a network offers it, is the energy and its gradient by autograd, without a graph."""
    module = _network(model, case)
    if not hasattr(module, "energy_and_grad"):
        raise Inapplicable("it has no energy_and_grad")
    x = _states(model, case).requires_grad_()
    expected = module(x)
    (slope,) = torch.autograd.grad(expected.sum(), x)
    with frozen(module) as energy:
        value, gradient = energy.value_and_grad(x.detach())
    require(gradient.shape == x.shape, f"the gradient has shape {tuple(gradient.shape)}, not {tuple(x.shape)}")
    for name, ours, true in (("energy", value, expected), ("gradient", gradient, slope)):
        off = float((ours - true).detach().abs().max())
        require(off <= 1e-9 * (1 + float(true.detach().abs().max())), f"the {name} is off by {off:.3g}")
        require(not ours.requires_grad, f"the {name} requires a gradient")


def has_the_parameter_gradient_of_differences(model: Model, case: Case) -> None:
    """dE/dtheta by autograd fits finite differences, over all parameters at once."""
    module, x = _network(model, case), _states(model, case)
    parameters = _parameters(module)

    def value() -> Tensor:
        return _answer(model, module, x).mean()

    slopes = torch.autograd.grad(value(), parameters, allow_unused=True)
    filled = [torch.zeros_like(p) if slope is None else slope for p, slope in zip(parameters, slopes, strict=True)]
    require_slope(value, parameters, filled, "dE/dtheta")


# The network ----------------------------------------------------------------------------------------------------------


def is_built_from_the_seed_alone(model: Model, case: Case) -> None:
    """The same seed of torch's generator builds the same network to the last bit, in float32 on the CPU; no other
    global state moves."""
    with no_global_randomness(torch_too=False), default_dtype(torch.float32):
        with seeded(0):
            one = model.build(case.event)
        with seeded(0):
            two = model.build(case.event)
    for name, tensor in one.state_dict().items():
        require_same_bits(tensor, two.state_dict()[name], f"'{name}' of two builds")
        require(tensor.device.type == "cpu", f"'{name}' is on {tensor.device}")
        wrong = tensor.is_floating_point() and tensor.dtype != torch.float32
        require(not wrong, f"'{name}' is {tensor.dtype}")


def is_saved_whole(model: Model, case: Case) -> None:
    """A network with the state of another gives the same energies to the last bit."""
    one, two = _network(model, case), build(model, case.event, seed=1)
    two.load_state_dict({name: tensor.detach().clone() for name, tensor in one.state_dict().items()})
    x = _states(model, case)
    require_same_bits(_answer(model, one, x), _answer(model, two, x), "energies of a network and its restored twin")


def is_not_changed_by_looking(model: Model, case: Case) -> None:
    """In eval mode energies are deterministic and change nothing; in training mode they use no global randomness."""
    module, x = build(model, case.event), _states(model, case)
    with unchanged(module), no_global_randomness():
        once = _answer(model, module, x)
        again = _answer(model, module, x)
    require_same_bits(once, again, "two looks at the same energies")
    with no_global_randomness():
        _answer(model, module.train(), x)


def runs_on_the_device(model: Model, case: Case) -> None:
    """On another device energies, gradients and exact samples are those of the CPU, and the host does not wait."""
    n = 7
    module: Any = build(model, case.event, dtype=torch.float32)
    x = _states(model, case, n, torch.float32)
    on_cpu = _answer(model, module, x).detach()
    with pretended_device() as gpu:
        module, x = module.to(gpu.device), x.to(gpu.device)
        with gpu.watched() as seen:
            answer = _answer(model, module, x)
            if any(parameter.requires_grad for parameter in module.parameters()):
                answer.sum().backward()  # type: ignore[no-untyped-call]
            if "gradient" in model.offers and model.conditioning is None:
                with frozen(module) as energy:
                    energy.value_and_grad(x)
            if "sample_exact" in model.offers:
                module.sample_exact(n, gpu.generator(0))
            if "conditionals" in model.offers:
                module.log_odds(x, module.blocks()[0])
        seen.require_no_host_syncs()
        with gpu.watched():  # not in a chain: these may wait, but not mix devices
            for value in ([module.log_z()] if "log_z" in model.offers else []) + [answer]:
                require(value.device == gpu.device, f"a result is on {value.device}")
            if "noised" in model.offers:
                module.noised(SIGMA)(x)
        off = float((answer.detach().cpu() - on_cpu).abs().max())
    require(off <= 1e-5 * (1 + float(on_cpu.abs().max())), f"energies differ from those on the CPU by {off:.3g}")


# What a model claims to know exactly ----------------------------------------------------------------------------------


def _law(model: Model, module: nn.Module, case: Case) -> Quadrature:
    """The model's own law: all of its states, or by quadrature in one and two dimensions."""
    if model.space not in VALUES:
        return integrate(lambda x: -module(x), case.event)
    units = math.prod(case.event)
    if units > FEW:
        raise Inapplicable(f"{units} units have too many states to go through")
    values = torch.tensor(VALUES[model.space], dtype=torch.float64)
    x = torch.cartesian_prod(*[values] * units).view(-1, *case.event)
    with torch.no_grad():
        log_p = -module(x)
    return Quadrature(x, log_p.softmax(0), float(log_p.logsumexp(0)), 0.0)


def knows_the_values_of_its_units(model: Model, case: Case) -> None:
    """A network on binary or spin states, or a part of it, has `unit_values`: (0, 1) or (-1, 1)."""
    if model.space not in VALUES:
        raise Inapplicable("its states are not discrete")
    found = Energy(build(model, case.event)).unit_values
    require(tuple(found) == VALUES[model.space], f"units of a {model.space} model are said to be {found}")


def has_the_conditionals_of_its_energy(model: Model, case: Case) -> None:
    """log_odds is what the energy falls by when a unit goes up, and does not depend on others of its block; the blocks
    hold each unit once."""
    _needs(model, "conditionals")
    module, x = _network(model, case), _states(model, case)
    units, (low, high) = math.prod(case.event), VALUES[model.space]
    sites = torch.arange(units).flip(0)[::2]  # every second one, from the last to the first
    with torch.no_grad():
        claimed = module.log_odds(x, sites)
        require(claimed.shape == (len(x), len(sites)), f"log_odds of {len(sites)} units has {tuple(claimed.shape)}")
        for k, site in enumerate(sites.tolist()):
            at = [_with(x, site, value) for value in (low, high)]
            off = float((claimed[:, k] - (module(at[0]) - module(at[1]))).abs().max())
            require(off <= 1e-9 * (1 + float(claimed.abs().max())), f"log_odds is {off:.3g} off what energies say")
        blocks = module.blocks()
        held = torch.cat(list(blocks)).sort().values.tolist()
        require(held == list(range(units)), f"the blocks hold units {held[:5]}..., and there are {units}")
        for block in blocks:
            others = x.clone()
            others.flatten(1)[:, block] = low + high - others.flatten(1)[:, block]
            off = float((module.log_odds(others, block) - module.log_odds(x, block)).abs().max())
            require(off <= 1e-9, f"units of a block move each other's log odds by {off:.3g}")


def _with(x: Tensor, site: int, value: float) -> Tensor:
    """The states with one unit set to a value."""
    x = x.clone()
    x.view(len(x), -1)[:, site] = value
    return x


def has_the_normaliser_of_quadrature(model: Model, case: Case) -> None:
    """log_z is the log of the integral of exp(-E), before and after training, in one and two dimensions; of discrete
    states it is the log of the sum."""
    _needs(model, "log_z")
    module: Any = build(model, case.event)
    for trained in (False, True):
        claimed, exact = float(module.log_z().detach()), _law(model, module, case)
        off, when = abs(claimed - exact.log_z), "after training" if trained else "at the beginning"
        require(off <= 1e-6 + exact.error, f"log_z {when} is {claimed:.9g}, quadrature says {exact.log_z:.9g}")
        _train_a_little(module)


def draws_from_its_density(model: Model, case: Case) -> None:
    """Exact samples have the shape of states and the density exp(-E) / Z, at a false-alarm rate of 1e-6.

    In one and two dimensions, and on discrete states, the means of waves are those of quadrature or of the sum. In
    more dimensions, Stein's identity holds along them: E[w_k' grad f - f dE/dx_k] = 0 for each wave f and its own
    direction k.
    """
    _needs(model, "sample_exact")
    module = _network(model, case)
    with no_global_randomness():
        x = module.sample_exact(DRAWS, generator(5))
    require(tuple(x.shape) == (DRAWS, *case.event), f"{DRAWS} draws have shape {tuple(x.shape)}")
    require_same_bits(x, module.sample_exact(DRAWS, generator(5)), "draws from one seed")
    if math.prod(case.event) <= 2 or model.space in VALUES:
        exact = _law(model, module, case)
        require_means(features(x), exact.mean(features(exact.x)), "the mean of a wave over exact draws")
    else:
        _needs(model, "gradient")
        require_means(_stein(module, x), torch.zeros(12, dtype=torch.float64), "Stein's identity")


def _stein(module: nn.Module, x: Tensor) -> Tensor:
    """Twelve functions of states whose mean is zero if the states have the density exp(-E) / Z."""
    x = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(module(x).sum(), x)
    waves = features(x)
    terms = []
    for k in range(waves.shape[1]):
        (ripple,) = torch.autograd.grad(waves[:, k].sum(), x, retain_graph=True)
        axis = k % ripple[0].numel()
        terms.append(ripple.flatten(1)[:, axis] - waves[:, k] * slope.flatten(1)[:, axis])
    return torch.stack(terms, 1).detach()


def is_convolved_when_noised(model: Model, case: Case) -> None:
    """noised(sigma) is another model, with the density of x + sigma xi: by quadrature in one and two dimensions, by
    samples in more."""
    _needs(model, "noised")
    module = _network(model, case)
    with unchanged(module):
        _train_a_little(module.noised(SIGMA))
    noised = module.noised(SIGMA)
    if math.prod(case.event) > 2:
        _needs(model, "sample_exact")
        x = module.sample_exact(DRAWS, generator(5))
        x = x + SIGMA * torch.empty_like(x).normal_(generator=generator(6))
        require_means(_stein(noised, x), torch.zeros(12, dtype=torch.float64), "Stein's identity for noised draws")
        return
    exact = integrate(lambda points: -module(points), case.event)
    y = _states(model, case, 10)
    squares = torch.cdist(y.flatten(1), exact.x.flatten(1)).square()
    width = math.prod(case.event) / 2 * math.log(2 * math.pi * SIGMA**2)
    true = (exact.weights.log() - squares / (2 * SIGMA**2)).logsumexp(1) - width
    off = -noised(y).detach() - true
    # Without log_z the energy is known up to a constant.
    worst = float((off - (noised.log_z().detach() if "log_z" in model.offers else off.mean())).abs().max())
    require(worst <= 1e-6 + exact.error, f"its log density is off by {worst:.3g} from the convolution by quadrature")


LAWS: tuple[Law, ...] = (
    gives_one_number_a_state,
    treats_states_apart,
    keeps_the_dtype,
    has_the_gradient_of_differences,
    has_the_gradient_by_hand,
    has_the_parameter_gradient_of_differences,
    is_built_from_the_seed_alone,
    is_saved_whole,
    is_not_changed_by_looking,
    runs_on_the_device,
    knows_the_values_of_its_units,
    has_the_conditionals_of_its_energy,
    has_the_normaliser_of_quadrature,
    draws_from_its_density,
    is_convolved_when_noised,
)
