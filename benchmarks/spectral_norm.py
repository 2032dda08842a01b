"""Our spectral norm against torch's own parametrisation, in chains and in training.

    OMP_NUM_THREADS=1 .venv/bin/python benchmarks/spectral_norm.py [--turns N]

The networks are those of the registry. `torch` is the same network with `parametrizations.spectral_norm` on every
layer, with the same weights and the same singular vectors; `cached` is that inside `parametrize.cached()`; `limit` has
the normalised weights as plain ones. All take turns in one process, on one thread; the figures are medians of the
ratios of their CPU times within a turn. A chain is 20 Langevin steps, with what it takes to freeze the network; a
training step is contrastive: the energies of two batches in two passes, backward, Adam. What follows from the figures
stands in docs/decisions/0013-spectral-norm.md.
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Callable, Iterator
from typing import Any

import torch
from measuring import one_thread, take_turns
from torch import Tensor, nn
from torch.nn.utils import parametrizations, parametrize

from ebmkit.chains.energy import frozen
from ebmkit.components.models.conv import Conv
from ebmkit.components.models.mlp import MLP
from ebmkit.components.samplers.langevin import Langevin
from ebmkit.maths.spectral import SpectralNorm

STEPS = 20
Work = Callable[[], Tensor]


def layers(module: Any) -> Iterator[Any]:
    """Every layer with a weight, whatever normalises it."""
    stacks = (module.convolutions, module.dense) if hasattr(module, "convolutions") else (module.hidden,)
    for stack in stacks:
        yield from stack
    yield module.last


def weight_of(layer: Any) -> Tensor:
    """The weight that is learnt, before it is normalised."""
    if isinstance(layer, SpectralNorm):
        layer = layer.layer
    weight: Tensor = layer.parametrizations.weight.original if parametrize.is_parametrized(layer) else layer.weight
    return weight.detach()


def with_torchs(plain: nn.Module, ours: nn.Module) -> nn.Module:
    """`plain` with torch's spectral norm, and the weights and singular vectors of `ours`."""
    module = copy.deepcopy(plain)
    for layer, other in zip(layers(module), layers(ours), strict=True):
        layer.load_state_dict(other.layer.state_dict())
        parametrizations.spectral_norm(layer)
        norm = layer.parametrizations.weight[0]
        norm._u.copy_(other.u)
        norm._v.copy_(other.v)
    return module


def with_plain_weights(plain: nn.Module, ours: nn.Module) -> nn.Module:
    """`plain` with the weights that the normalisation comes to."""
    module = copy.deepcopy(plain)
    for layer, other in zip(layers(module), layers(ours), strict=True):
        layer.weight.data, layer.bias.data = other.normalised_weight().detach(), other.bias.detach().clone()
    return module


def networks(model: type[MLP] | type[Conv], event: tuple[int, ...], **parameters: Any) -> dict[str, nn.Module]:
    torch.manual_seed(0)
    ours = model(**parameters, spectral_norm=True).build(event).eval()
    plain = model(**parameters).build(event).eval()
    assert all(isinstance(layer, SpectralNorm) for layer in layers(ours))
    return {"limit": with_plain_weights(plain, ours), "ours": ours, "torch": with_torchs(plain, ours)}


def chain(module: nn.Module, x: Tensor, *, cached: bool = False) -> Tensor:
    sampler, rng = Langevin(step_size=0.01), torch.Generator().manual_seed(0)
    with parametrize.cached() if cached else torch.enable_grad(), frozen(module) as energy:
        state = sampler.init(energy, x, rng)
        for _ in range(STEPS):
            state, _ = sampler.step(energy, state, rng)
    return state.x


def trainer(module: nn.Module, x: Tensor, y: Tensor, *, cached: bool = False) -> Work:
    module = copy.deepcopy(module).train()
    optimizer = torch.optim.Adam(module.parameters(), lr=1e-3)

    def step() -> Tensor:
        with parametrize.cached() if cached else torch.enable_grad():
            (module(x).mean() - module(y).mean()).backward()
        optimizer.step()
        optimizer.zero_grad()
        return torch.cat([weight_of(layer).flatten() for layer in layers(module)])

    return step


def bits(one: Tensor, other: Tensor) -> str:
    return "same bits" if torch.equal(one, other) else f"differ by {float((one - other).abs().max()):.1e}"


def show(title: str, works: dict[str, Work], turns: int, units: int) -> None:
    for work in works.values():
        work()
    found = take_turns(works, turns, units)
    figures = [f"{name} {found[name]['cpu_x_ours']:.3f}" for name in works]
    print(f"| {title} | {' | '.join(figures)} | ours: {found['ours']['cpu_us']:.0f} us |", flush=True)


def measure_chains(title: str, made: dict[str, nn.Module], x: Tensor, turns: int) -> None:
    works: dict[str, Work] = {name: lambda module=module: chain(module, x) for name, module in made.items()}
    works["cached"] = lambda: chain(made["torch"], x, cached=True)
    ends = {name: work() for name, work in works.items()}
    print(f"\n{title}: ends of chains, cached and ours: {bits(ends['ours'], ends['cached'])}")
    show(f"{title}, a Langevin step", works, turns, STEPS)


def measure_training(title: str, made: dict[str, nn.Module], x: Tensor, turns: int) -> None:
    y = x + 0.1 * torch.randn(x.shape, generator=torch.Generator().manual_seed(1))
    works = {name: trainer(module, x, y) for name, module in made.items()}
    works["cached"] = trainer(made["torch"], x, y, cached=True)
    after = {name: work() for name, work in works.items()}
    for name in ("torch", "cached"):
        print(f"\n{title}: weights after a training step, {name} and ours: {bits(after[name], after['ours'])}")
    show(f"{title}, a training step", works, turns, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=41)
    turns = parser.parse_args().turns
    few = max(turns // 4, 5)
    with one_thread():
        rng = torch.Generator().manual_seed(0)
        perceptron = networks(MLP, (2,), hidden=(128, 128))
        for count in (16, 256):
            x = torch.randn(count, 2, generator=rng)
            measure_chains(f"mlp 2-128-128-1, {count} states", perceptron, x, turns)
            measure_training(f"mlp 2-128-128-1, {count} states", perceptron, x, turns)
        thesis = networks(Conv, (1, 28, 28), preset="thesis_a")
        x = torch.rand(64, 1, 28, 28, generator=rng)
        measure_chains("conv thesis_a 28 x 28, 8 states", thesis, x[:8], few)
        measure_training("conv thesis_a 28 x 28, 8 states", thesis, x[:8], turns)
        measure_training("conv thesis_a 28 x 28, 64 states", thesis, x, few)


if __name__ == "__main__":
    main()
