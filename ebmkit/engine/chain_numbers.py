"""The numbers of the chains of a training step."""

from __future__ import annotations

from collections.abc import Container, Iterator
from functools import partial

import torch
from torch import Tensor

from ebmkit.chains.chain import Chain, means
from ebmkit.contracts.kinds import Sampler
from ebmkit.engine.statistic import Statistic, Turn, is_finite, total, wrong_rows
from ebmkit.errors.source import Path


def chain_numbers(
    chain: Chain, sampler: Sampler, path: Path, inits: Container[Path]
) -> Iterator[tuple[Statistic, Tensor]]:
    """The statistics of chains whose sampler is at `path` in the spec; `inits` are the places of chain starts."""
    all_of_it = Statistic("the state of a chain", path, Turn.CHAIN, False, cause=partial(_cause, chain, path, inits))
    yield all_of_it, total([chain.start, chain.x, *chain.energies])
    last = chain.last._replace(energy=None, divergence=None)
    seen = {name: trace.mean() for name, trace in chain.traces.items() if name != "energy"} or means(last)
    if sampler.traits().step_sizes_vary:
        seen.pop("acceptance", None)  # it would be compared with the rates of samplers that have one step size
    if chain.divergences:
        seen["divergence"] = torch.cat(chain.divergences).mean()
    for name, value in seen.items():
        yield Statistic("v" if name == "gradient_norm" else f"chain_{name}", path, Turn.CHAIN), value


def _cause(chain: Chain, path: Path, inits: Container[Path]) -> Statistic:
    """The first quantity of chains that is not finite: their start, energies on the way, or their end."""
    here = Statistic("the state of a chain", path, Turn.CHAIN, recorded=False)
    if not is_finite(chain.start):
        init = (*path[:-1], "init")
        return here._replace(name="the start of a chain", path=init if init in inits else path)
    steps = len(chain.energies)
    first = next((step for step, energy in enumerate(chain.energies, 1) if not is_finite(energy)), None)
    found = f", found at step {first} of {steps} of its chains" if first else ""
    if not is_finite(chain.x):
        return here._replace(detail=wrong_rows(chain.x) + found)
    if first:
        return here._replace(name="the energy along a chain", detail=wrong_rows(chain.energies[first - 1]) + found)
    return here._replace(name="the sum over states and energies of chains")
