"""The laws of a network: how it is built, saved, evaluated and moved."""

from __future__ import annotations

import copy
from typing import Any

import torch

from ebmkit.chains.energy import Energy, frozen
from ebmkit.chains.joint import ChainSpace
from ebmkit.components.samplers.gibbs import Gibbs
from ebmkit.contracts.kinds import Model
from ebmkit.testing.case import Case
from ebmkit.testing.device import pretended_device
from ebmkit.testing.law import Inapplicable, require
from ebmkit.testing.laws.model.setting import SIGMA, network_of, output_of, states_of
from ebmkit.testing.partner import build, default_dtype, seeded
from ebmkit.testing.untouched import no_global_randomness, require_same_bits, unchanged


def is_built_from_the_seed_alone(model: Model, case: Case) -> None:
    """The same seed of torch's generator builds the same network to the last bit, in float32 on the CPU; no other
    global state changes."""
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


def counts_its_parameters(model: Model, case: Case) -> None:
    """The number of trainable parameters that is announced before the network is built is that of the network."""
    announced = model.parameter_count(case.event)
    if announced is None:
        raise Inapplicable("it does not announce the number of its parameters")
    found = sum(part.numel() for part in build(model, case.event).parameters() if part.requires_grad)
    require(announced == found, f"it announces {announced} trainable numbers, but there are {found}")


def names_its_coordinates(model: Model, case: Case) -> None:
    """Every coordinate of a vector has a name of its own, if any has."""
    names = model.coordinate_names()
    if names is None:
        raise Inapplicable("it names no coordinates")
    require((len(names),) == case.event, f"it names {len(names)} coordinates of states of shape {case.event}")
    twice = [name for name in names if names.count(name) > 1]
    require(not twice, f"it gives the name '{(twice or [''])[0]}' to more than one coordinate")


def is_saved_whole(model: Model, case: Case) -> None:
    """A network that loads the state of another gives the same energies to the last bit."""
    one, two = network_of(model, case), build(model, case.event, seed=1)
    two.load_state_dict({name: tensor.detach().clone() for name, tensor in one.state_dict().items()})
    x = states_of(model, case)
    require_same_bits(output_of(model, one, x), output_of(model, two, x), "energies of a network and its restored twin")


def is_not_changed_by_looking(model: Model, case: Case) -> None:
    """In eval mode energies are deterministic, change nothing and use no global randomness. In training mode they
    depend only on torch's global generator, which the engine seeds, as for `nn.Dropout`."""
    module, x = build(model, case.event), states_of(model, case)
    with unchanged(module), no_global_randomness():
        once = output_of(model, module, x)
        again = output_of(model, module, x)
    require_same_bits(once, again, "two evaluations of the same energies")
    outputs = []
    for twin in (copy.deepcopy(module), copy.deepcopy(module)):  # buffers may change in training mode
        with no_global_randomness(torch_too=False), seeded(0):
            outputs.append(output_of(model, twin.train(), x))
    require_same_bits(outputs[0], outputs[1], "in training mode, energies from one seed of torch's global generator")


def runs_on_the_device(model: Model, case: Case) -> None:
    """On another device energies, gradients and exact samples equal those on the CPU, without host synchronisation."""
    n = 7
    module: Any = build(model, case.event, dtype=torch.float32)
    x = states_of(model, case, n, torch.float32)
    on_cpu = output_of(model, module, x).detach()
    with pretended_device() as gpu:
        module, x = module.to(gpu.device), x.to(gpu.device)
        with gpu.watched() as seen:
            answer = output_of(model, module, x)
            if any(parameter.requires_grad for parameter in module.parameters()):
                answer.sum().backward()  # type: ignore[no-untyped-call]
            if "gradient" in model.traits().offers and model.traits().conditioning is None:
                with frozen(module) as energy:
                    energy.value_and_grad(x)
            if "sample_exact" in model.traits().offers:
                module.sample_exact(n, gpu.generator(0))
            if "conditionals" in model.traits().offers:
                module.log_odds(x, torch.arange(x[0].numel(), device=x.device))
            if "blocks" in model.traits().offers:
                space = ChainSpace(Gibbs(), Energy(module), x, gpu.generator(0))
                for block in module.blocks():
                    module.draw_units(space.start.flatten(1), block, 1.0, gpu.generator(0))
        seen.require_no_host_syncs()
        with gpu.watched():  # not in a chain: host synchronisation is allowed, mixing devices is not
            for value in ([module.log_z()] if "log_z" in model.traits().offers else []) + [answer]:
                require(value.device == gpu.device, f"a result is on {value.device}")
            if "noised" in model.traits().offers:
                module.noised(SIGMA)(x)
        off = float((answer.detach().cpu() - on_cpu).abs().max())
    require(off <= 1e-5 * (1 + float(on_cpu.abs().max())), f"energies differ from those on the CPU by {off:.3g}")
