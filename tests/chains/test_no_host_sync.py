"""Nothing inside a chain brings a value to the host: on a GPU each time would cost more than a small network."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from ebmkit.chains.chain import iterate_chain, run_chain
from ebmkit.chains.energy import frozen
from ebmkit.components.samplers.langevin import Langevin
from ebmkit.registry.builtin import ebmkit_components
from ebmkit.testing.example import instance
from ebmkit.testing.partner import build, model_for, states
from tests.chains.long_chains import run_chains

SAMPLERS = [offer.load() for offer in ebmkit_components() if offer.kind == "sampler"]
STEPS = 6

#: Operators whose result, or its shape, depends on values: `.item()`, `bool(tensor)`, `nonzero()` and their kin.
ON_VALUES = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
#: Methods that leave no operator behind when the tensor is on the CPU already.
TO_THE_HOST = {Tensor.cpu, Tensor.numpy, Tensor.tolist, Tensor.__array__}


class Syncs(TorchDispatchMode):
    """Counts what would make the host wait."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        name = operator._schema.name
        masked = name in ("aten::index", "aten::index_put_") and any(
            index is not None and index.dtype == torch.bool for index in args[1]
        )
        if masked or ON_VALUES & set(operator.tags):
            self.seen.append(name)
        return operator(*args, **(kwargs or {}))

    def __enter__(self):
        self.methods = Methods(self.seen)
        self.methods.__enter__()
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        self.methods.__exit__(*error)


class Methods(TorchFunctionMode):
    def __init__(self, seen):
        super().__init__()
        self.seen = seen

    def __torch_function__(self, function, types, args=(), kwargs=None):
        to_cpu = function is Tensor.to and any(str(value) == "cpu" for value in (*args[1:], *(kwargs or {}).values()))
        if to_cpu or function in TO_THE_HOST:
            self.seen.append(f"Tensor.{function.__name__}")
        return function(*args, **(kwargs or {}))


def setting(cls, event):
    """A sampler, a network for it, where its chains begin, and a generator."""
    sampler = instance(cls)
    if any(field.name == "steps" for field in dataclasses.fields(cls)):
        sampler = dataclasses.replace(sampler, steps=STEPS)
    model, event = model_for(sampler, event)
    rng = torch.Generator().manual_seed(0)
    return sampler, build(model, event), states(model, 5, event, rng), rng


@pytest.mark.parametrize("event", [(3,), (1, 2, 2)], ids=str)
@pytest.mark.parametrize("cls", SAMPLERS, ids=lambda cls: cls.component_name)
def test_a_chain(cls, event):
    sampler, module, x, rng = setting(cls, event)
    if sampler.traits().from_noise:  # its way, and what follows from its schedule, is worked out on the host, once
        run_chain(sampler, module, x, rng)
        with frozen(module) as energy:
            state = sampler.init(energy, x, rng)
            with Syncs() as syncs:
                assert len(list(iterate_chain(sampler, energy, state, rng, sampler.steps))) == sampler.steps
    else:
        with Syncs() as syncs:
            run_chain(sampler, module, x, rng, traces=True)
    assert len(syncs.seen) <= sampler.traits().host_syncs * sampler.steps, syncs.seen


@pytest.mark.parametrize("cls", [cls for cls in SAMPLERS if not cls.from_noise], ids=lambda cls: cls.component_name)
def test_long_chains(cls):
    """With warm-up, where there is something to tune."""
    sampler, module, x, rng = setting(cls, (3,))
    warmup = 40 if sampler.tunes() else 0
    with Syncs() as syncs:
        run_chains(sampler, module, x, rng, draws=4, thin=2, burn_in=3, warmup=warmup)
    assert len(syncs.seen) <= sampler.traits().host_syncs * (warmup + 3 + 4 * 2), syncs.seen


def test_only_nuts_may_wait():
    """And the exact MAP, which is one step: maximum flow runs on the host."""
    assert {cls.component_name for cls in SAMPLERS if cls.host_syncs} <= {"nuts", "exact_map"}


@pytest.mark.parametrize(
    "slip",
    [
        lambda x: x.sum().item(),
        lambda x: float(x.sum()),
        lambda x: bool((x > 0).all()),
        lambda x: 1 if (x > 0).any() else 0,
        lambda x: x[x[:, 0] > 0],
        lambda x: x[:, 0].nonzero(),
        lambda x: x.masked_select(x > 0),
        lambda x: x.cpu(),
        lambda x: x.to("cpu"),
        lambda x: x.detach().numpy(),
        lambda x: x.tolist(),
        lambda x: torch.equal(x, x),
    ],
)
def test_a_slip_is_counted(slip):
    class Slips(Langevin):
        def step(self, energy, state, rng):
            slip(state.x)
            return super().step(energy, state, rng)

    _, module, x, rng = setting(Langevin, (3,))
    with Syncs() as syncs:
        run_chain(Slips(steps=STEPS), module, x, rng)
    assert len(syncs.seen) == STEPS
