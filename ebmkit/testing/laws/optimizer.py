"""The laws of optimizers."""

from __future__ import annotations

import json
from typing import Any

import torch
from torch import Tensor, nn

from ebmkit.contracts.kinds import Optimizer
from ebmkit.testing.case import Case
from ebmkit.testing.device import pretended_device
from ebmkit.testing.law import Law, require
from ebmkit.testing.oracles import generator
from ebmkit.testing.untouched import no_global_randomness, require_same_bits


def _parameters() -> list[nn.Parameter]:
    """A matrix and a number, away from their optimum."""
    rng = generator(0)
    return [
        nn.Parameter(torch.randn(3, 2, generator=rng, dtype=torch.float32)),
        nn.Parameter(torch.randn((), generator=rng, dtype=torch.float32)),
    ]


def _loss(parameters: list[nn.Parameter]) -> Tensor:
    """A quadratic loss in which the parameters interact."""
    matrix, number = parameters
    return (matrix - 1).square().sum() + (matrix.sum() - 2 * number).square()


def _steps(optimizer: torch.optim.Optimizer, parameters: list[nn.Parameter], n: int) -> None:
    for _ in range(n):
        optimizer.zero_grad()
        _loss(parameters).backward()  # type: ignore[no-untyped-call]
        optimizer.step()


def descends(optimizer: Optimizer, case: Case) -> None:
    """A hundred steps lower a quadratic loss, which stays finite."""
    parameters = _parameters()
    before = float(_loss(parameters).detach())
    _steps(optimizer.build(iter(parameters)), parameters, 100)
    after = float(_loss(parameters).detach())
    require(after < before, f"the loss went from {before:.6g} to {after:.6g}")  # false for nan too


def moves_every_parameter(optimizer: Optimizer, case: Case) -> None:
    """Three steps change every parameter that has a gradient. One without any is left alone and stops nothing."""
    parameters = _parameters()
    frozen = nn.Parameter(torch.ones(2, dtype=torch.float32))
    before = [parameter.detach().clone() for parameter in parameters]
    _steps(optimizer.build([parameters[0], frozen, parameters[1]]), parameters, 3)
    for parameter, value in zip(parameters, before, strict=True):
        shape = tuple(value.shape)
        require(
            not torch.equal(parameter.detach(), value), f"a parameter of shape {shape} with a gradient did not move"
        )
    require(bool((frozen.detach() == 1).all()), "a parameter without a gradient moved")


def is_deterministic(optimizer: Optimizer, case: Case) -> None:
    """The same gradients give the same steps to the last bit, without using global randomness."""
    runs = []
    for _ in range(2):
        parameters = _parameters()
        with no_global_randomness():
            _steps(optimizer.build(parameters), parameters, 5)
        runs.append(parameters)
    for one, two in zip(*runs, strict=True):
        require_same_bits(one.detach(), two.detach(), "parameters after the same five steps")


def is_saved_as_tensors_and_numbers(optimizer: Optimizer, case: Case) -> None:
    """Its state consists of tensors and JSON; an optimizer that loads it makes the same next steps to the last bit."""
    parameters = _parameters()
    live = optimizer.build(parameters)
    _steps(live, parameters, 3)
    twins = [nn.Parameter(parameter.detach().clone()) for parameter in parameters]
    restored = optimizer.build(twins)
    moments: dict[int, dict[str, Any]] = {}
    for index, entry in live.state_dict()["state"].items():
        numbers = {name: value for name, value in entry.items() if not isinstance(value, Tensor)}
        tensors = {name: value.clone() for name, value in entry.items() if isinstance(value, Tensor)}
        moments[index] = {**json.loads(json.dumps(numbers)), **tensors}
    restored.load_state_dict({**restored.state_dict(), "state": moments})
    _steps(live, parameters, 3)
    _steps(restored, twins, 3)
    for one, two in zip(parameters, twins, strict=True):
        require_same_bits(one.detach(), two.detach(), "parameters of an optimizer and its restored twin")


def counts_its_state(optimizer: Optimizer, case: Case) -> None:
    """It keeps at most as many numbers for each parameter as it announces, apart from single ones such as a count."""
    if (each := optimizer.state_count()) is None:
        return
    parameters = _parameters()
    live = optimizer.build(parameters)
    _steps(live, parameters, 1)
    for parameter in parameters:
        kept = [part for part in live.state[parameter].values() if isinstance(part, Tensor) and part.dim()]
        found, announced = sum(part.numel() for part in kept), each * parameter.numel()
        require(found <= announced, f"it announces {announced} numbers for {parameter.numel()} parameters, not {found}")


def runs_on_the_device(optimizer: Optimizer, case: Case) -> None:
    """On another device it makes the same steps as on the CPU."""
    there = _parameters()
    here = [nn.Parameter(parameter.detach().clone()) for parameter in there]
    _steps(optimizer.build(here), here, 3)
    with pretended_device() as gpu:
        there = [nn.Parameter(parameter.detach().to(gpu.device)) for parameter in there]
        live = optimizer.build(there)
        with gpu.watched():  # host synchronisation is allowed, as in torch's optimizers; mixing devices is not
            _steps(live, there, 3)
        off = max(float((a.detach().cpu() - b.detach()).abs().max()) for a, b in zip(there, here, strict=True))
    require(off <= 1e-5, f"parameters differ from those on the CPU by {off:.3g}")


LAWS: tuple[Law, ...] = (
    descends,
    moves_every_parameter,
    is_deterministic,
    is_saved_as_tensors_and_numbers,
    counts_its_state,
    runs_on_the_device,
)
