"""Every optimizer makes torch's own steps, with the parameters of the spec."""

import copy

import pytest
import torch

from ebmkit.components.models.mlp import MLP
from ebmkit.components.optimizers.rprop import Rprop
from ebmkit.components.optimizers.sgd import SGD
from ebmkit.registry.builtin import ebmkit_components
from tests.components.oracles import generator

CASES = [
    ("adam", {"lr": 0.01, "betas": (0.0, 0.99), "eps": 1e-6, "weight_decay": 0.1}),
    ("adamw", {"lr": 0.01, "betas": (0.8, 0.99), "eps": 1e-6, "weight_decay": 0.1}),
    ("adamax", {"lr": 0.01, "betas": (0.8, 0.99), "eps": 1e-6, "weight_decay": 0.1}),
    ("nadam", {"lr": 0.01, "betas": (0.8, 0.99), "eps": 1e-6, "weight_decay": 0.1, "momentum_decay": 0.1}),
    ("radam", {"lr": 0.01, "betas": (0.8, 0.99), "eps": 1e-6, "weight_decay": 0.1}),
    ("sgd", {"lr": 0.01, "momentum": 0.8, "nesterov": True, "weight_decay": 0.1}),
    ("rmsprop", {"lr": 0.01, "alpha": 0.8, "eps": 1e-6, "momentum": 0.7, "weight_decay": 0.1}),
    ("adagrad", {"lr": 0.01, "eps": 1e-6, "weight_decay": 0.1}),
    ("adadelta", {"lr": 0.5, "rho": 0.8, "eps": 1e-4, "weight_decay": 0.1}),
    ("asgd", {"lr": 0.01, "lambd": 0.01, "alpha": 0.5, "weight_decay": 0.1}),
    ("rprop", {"lr": 0.01, "etas": (0.4, 1.3), "step_sizes": (1e-5, 1.0)}),
]
NAMED = {offer.name: offer.load() for offer in ebmkit_components() if offer.kind == "optimizer"}
TORCH = {cls.__name__.lower(): cls for cls in vars(torch.optim).values() if isinstance(cls, type)}


def test_every_optimizer_has_a_case():
    assert sorted(name for name, _ in CASES) == sorted(NAMED)


@pytest.mark.parametrize(("name", "given"), [*CASES, *((name, {}) for name, _ in CASES)])
def test_steps_are_those_of_torch(name, given):
    ours = MLP(hidden=(4,)).build((2,))
    theirs = copy.deepcopy(ours)
    component = NAMED[name](**given)
    settings = {field: getattr(component, field) for field in component.__dataclass_fields__}
    a = component.build(iter(ours.parameters()))
    b = TORCH[name](theirs.parameters(), **settings)
    x = torch.randn(5, 16, 2, generator=generator(0))
    for batch in x:
        for module, optimizer in ((ours, a), (theirs, b)):
            optimizer.zero_grad()
            module(batch).square().mean().backward()
            optimizer.step()
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(p, q, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ["adam", "adamw", "sgd"])
def test_fused_where_torch_can(name):
    optimizer = NAMED[name]().build(MLP(hidden=(4,)).build((2,)).parameters())
    assert optimizer.param_groups[0]["fused"]


def test_contradictions_are_refused():
    with pytest.raises(ValueError, match="'momentum' is 0"):
        SGD(nesterov=True)
    with pytest.raises(ValueError, match="above the maximum"):
        Rprop(step_sizes=(1.0, 0.1))
