"""Every private call of torch, with it and without it: the same bits."""

from __future__ import annotations

import re
from inspect import unwrap
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.optim.optimizer import register_optimizer_step_pre_hook

import ebmkit
from ebmkit.chains import private_torch
from ebmkit.chains.energy import frozen
from ebmkit.maths.activations import ACTIVATIONS


@pytest.fixture(autouse=True)
def forget():
    """What was found out about torch in one test is not known in the next."""
    private_torch._run_backward.cache_clear()
    yield
    private_torch._run_backward.cache_clear()


def tensors(seed=0, dtype=torch.float32):
    rng = torch.Generator().manual_seed(seed)
    shapes = [(7, 5), (5,), (), (3, 2, 3, 3)]
    made = [torch.randn(shape, generator=rng, dtype=dtype) for shape in shapes]
    return [*made, torch.randn(4, 6, generator=rng, dtype=dtype).T]  # the last one is not contiguous


def both(monkeypatch, owner, name, work):
    """The result of `work` with something that torch has, and after it is gone."""
    calls = []
    there = getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *words, **named: calls.append(name) or there(*words, **named))
    with_it = work()
    assert calls, f"{name} is not called"
    monkeypatch.delattr(owner, name)
    return with_it, work()


def same(one, other):
    return len(one) == len(other) and all(
        torch.equal(a, b) and a.dtype == b.dtype for a, b in zip(one, other, strict=True)
    )


def changed(work):
    """The tensors after something was done to them in place."""

    def run():
        made = tensors()
        work(made)
        return made

    return run


@pytest.mark.parametrize(
    ("name", "work"),
    [
        ("_foreach_mul_", changed(lambda made: private_torch.multiply_all(made, torch.tensor(0.3)))),
        ("_foreach_lerp_", changed(lambda made: private_torch.lerp_all(made, tensors(1), 1 - 0.999))),
        ("_foreach_lerp_", changed(lambda made: private_torch.lerp_all(made, tensors(1), 0.9))),
        ("_foreach_copy_", changed(lambda made: private_torch.copy_all(made, tensors(1)))),
        ("_foreach_copy_", changed(lambda made: private_torch.copy_all(made, tensors(1, torch.float64)))),
        ("_foreach_norm", lambda: [private_torch.norms(tensors())]),
    ],
)
def test_many_tensors_at_once_or_one_by_one(name, work, monkeypatch):
    with_it, without = both(monkeypatch, torch, name, work)
    assert same(with_it, without)


@pytest.mark.parametrize("count", [1, 5])
def test_tensors_as_one_vector(count, monkeypatch):
    work = lambda: [private_torch.joined(tensors()[-count:])]  # noqa: E731
    with_it, without = both(monkeypatch, torch._utils, "_flatten_dense_tensors", work)
    assert same(with_it, without)


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 16), nn.SiLU(), nn.Linear(16, 1), nn.Flatten(0))


def gradient():
    x = torch.randn(8, 3, generator=torch.Generator().manual_seed(1))
    with frozen(network()) as energy:
        return list(energy.value_and_grad(x))


class Absent:
    """A torch without an engine that can be reached."""


class Renamed:
    """One whose engine takes other arguments."""

    class _execution_engine:  # noqa: N801
        @staticmethod
        def run_backward(tensors, *, inputs):
            raise AssertionError("not to be called like this")


class Wrong:
    """One whose engine does something else."""

    class _execution_engine:  # noqa: N801
        @staticmethod
        def run_backward(*words, **named):
            return (torch.full((1,), 7.0),)


@pytest.mark.parametrize("engine", [Absent, Renamed, Wrong])
def test_gradients_of_an_energy(engine, monkeypatch):
    assert private_torch._run_backward() is not None
    with_it = gradient()
    private_torch._run_backward.cache_clear()
    monkeypatch.setattr(torch.autograd, "Variable", engine)
    without = gradient()
    assert private_torch._run_backward() is None
    assert same(with_it, without)
    assert not with_it[1].requires_grad
    assert not without[1].requires_grad


@pytest.mark.parametrize("engine", [None, Absent])
def test_an_energy_that_does_not_depend_on_x_is_refused_either_way(engine, monkeypatch):
    if engine is not None:
        monkeypatch.setattr(torch.autograd, "Variable", engine)
    point, other = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        private_torch.gradient_in(point, 2 * other, torch.ones(2))


def test_the_engine_is_found_where_gradients_are_off_and_the_device_is_watched():
    from ebmkit.testing.device import pretended_device

    with torch.no_grad(), pretended_device() as gpu, gpu.watched() as seen:
        assert private_torch._run_backward() is not None
    seen.require_no_host_syncs()


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_the_way_back_through_an_activation(name):
    rng = torch.Generator().manual_seed(0)
    z, slope = torch.randn(50, 8, generator=rng), torch.randn(50, 8, generator=rng)
    z[0, 0], z[0, 1] = 0.0, 30.0  # a kink, and where softplus is linear
    function, back = ACTIVATIONS[name]
    without = private_torch.pullback(function, "no_such_backward", lambda *words: pytest.fail("there is no kernel"))
    assert "_by_autograd" in str(without)
    assert "_by_autograd" not in str(back)
    assert same([back(slope, z, function(z))], [without(slope, z, function(z))])


@pytest.mark.parametrize("layer", [nn.Conv2d(3, 5, 3, 1, 1), nn.Conv2d(3, 6, 4, 2, 1), nn.Conv2d(4, 8, 3, groups=2)])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_the_way_back_through_a_convolution(layer, layout, monkeypatch):
    rng = torch.Generator().manual_seed(0)
    x = torch.randn(4, layer.in_channels, 8, 8, generator=rng)
    weight = layer.weight.detach().to(memory_format=layout)
    y = F.conv2d(x, weight, None, layer.stride, layer.padding, layer.dilation, layer.groups)
    slope = torch.randn(y.shape, generator=rng).to(memory_format=layout)
    with_it = private_torch.convolution_pullback()
    monkeypatch.setattr(torch.ops, "aten", Absent())
    without = private_torch.convolution_pullback()
    monkeypatch.undo()
    assert with_it is not without
    assert same([with_it(slope, x, weight, layer)], [without(slope, x, weight, layer)])


def trained(optimizer_class, step_of):
    """Weights after three steps."""
    module = network()
    optimizer = optimizer_class(module.parameters(), lr=0.1)
    step = step_of(optimizer)
    x = torch.randn(8, 3, generator=torch.Generator().manual_seed(1))
    for _ in range(3):
        module(x).square().mean().backward()
        with torch.no_grad():
            step()
        optimizer.zero_grad()
    return [parameter.detach() for parameter in module.parameters()]


OPTIMIZERS = [torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD, torch.optim.RMSprop, torch.optim.Adadelta]


@pytest.mark.parametrize("optimizer_class", OPTIMIZERS)
def test_a_step_of_an_optimizer(optimizer_class):
    bare = private_torch.step_of(optimizer_class(network().parameters()))
    assert not hasattr(bare, "__wrapped__")
    with_it = trained(optimizer_class, private_torch.step_of)
    assert same(with_it, trained(optimizer_class, lambda optimizer: optimizer.step))


@pytest.mark.parametrize("place", ["optimizer", "every optimizer", "unknown"])
def test_hooks_of_an_optimizer_are_called(place, monkeypatch):
    optimizer, seen = torch.optim.SGD(network().parameters(), lr=0.1), []
    if place == "optimizer":
        optimizer.register_step_post_hook(lambda *words: seen.append(place))
        private_torch.step_of(optimizer)()
        assert seen == [place]
    elif place == "every optimizer":
        handle = register_optimizer_step_pre_hook(lambda *words: seen.append(place))
        try:
            private_torch.step_of(optimizer)()
        finally:
            handle.remove()
        assert seen == [place]
    else:  # a torch that keeps them elsewhere: nothing is left out
        del optimizer._optimizer_step_pre_hooks
        assert private_torch.step_of(optimizer) == optimizer.step


def test_an_optimizer_of_a_plugin_is_called_as_it_is():
    class Own(torch.optim.SGD):
        pass

    optimizer = Own(network().parameters(), lr=0.1)
    assert private_torch.step_of(optimizer) == optimizer.step


class Config:
    def __init__(self, **values):
        vars(self).update(values)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"recompile_limit": 8}, {"recompile_limit": 64}),
        ({"recompile_limit": 100}, {"recompile_limit": 100}),
        ({"cache_size_limit": 8}, {"cache_size_limit": 64}),
        ({}, {}),
    ],
)
def test_recompilations(before, after, monkeypatch):
    monkeypatch.setattr(torch, "_dynamo", Config(config=Config(**before)))
    private_torch.allow_recompilations(64)
    assert vars(torch._dynamo.config) == after


METHODS = ("add_param_group", "state_dict", "load_state_dict")


def adam_after_two_steps():
    """Built, moved, saved and restored."""
    made = [tensor.requires_grad_() for tensor in tensors()[:2]]
    optimizer = torch.optim.Adam(made, lr=0.1)
    for step in (1, 2):
        for tensor in made:
            tensor.grad = tensor.detach() * step
        optimizer.step()
    restored = torch.optim.Adam(made, lr=0.1)
    restored.load_state_dict(optimizer.state_dict())
    return [value for entry in restored.state_dict()["state"].values() for value in entry.values()]


def test_optimizers_with_and_without_the_compiler(monkeypatch):
    methods = [unwrap(getattr(torch.optim.Optimizer, name)) for name in METHODS]
    with_it = adam_after_two_steps()
    for method in methods:
        monkeypatch.delattr(method, "__dynamo_disable", raising=False)  # as in a process that has not imported it
    with private_torch.without_compiler():
        assert all(getattr(method, "__dynamo_disable") is method for method in methods)
        assert same(with_it, adam_after_two_steps())
    assert not any(hasattr(method, "__dynamo_disable") for method in methods)  # later programs may compile


def test_tensors_of_transformations_are_known(monkeypatch):
    private_torch._is_wrapped.cache_clear()
    seen = []
    torch.func.vmap(lambda x: seen.append(private_torch.is_transformed(x)) or x)(torch.zeros(3))
    assert [*seen, private_torch.is_transformed(torch.zeros(3))] == [True, False]
    monkeypatch.delattr(torch._C._functorch, "is_functorch_wrapped_tensor")
    private_torch._is_wrapped.cache_clear()
    assert not private_torch.is_transformed(torch.zeros(3))
    private_torch._is_wrapped.cache_clear()


def test_private_calls_stand_in_one_file():
    """The pretended device has its own, and says for which version of torch it was written."""
    private = re.compile(r"torch(\.\w+)*\._[a-z]|from torch(\.\w+)*\._|\.ops\.aten|_execution_engine|_optimizer_step")
    root = Path(ebmkit.__file__).parent
    found = {
        path.relative_to(root).as_posix() for path in root.rglob("*.py") if private.search(path.read_text("utf-8"))
    }
    assert found == {"chains/private_torch.py", "testing/device.py"}
