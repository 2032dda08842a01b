"""The pretended device: what it catches, what it lets pass, and what it counts."""

import copy
import subprocess
import sys

import pytest
import torch

from ebmkit.testing import Broken, Inapplicable, Trial, device
from ebmkit.testing.device import NotOnTheDevice, pretended_device
from ebmkit.testing.laws.sampler import runs_on_the_device
from tests.testing.planted_devices import PLANTED, Right


@pytest.mark.parametrize("cls", PLANTED, ids=lambda cls: cls.component_name)
def test_each_way_to_leave_the_device_is_caught_and_told(cls):
    with pytest.raises(Broken) as caught:
        Trial(cls(), runs_on_the_device).run()
    assert PLANTED[cls] in str(caught.value)
    assert "planted_devices.py:" in str(caught.value)


def test_what_stays_on_the_device_passes():
    Trial(Right(), runs_on_the_device).run()


def assigned(x, index, value):
    x = x.clone()
    x[index] = value
    return x


#: What the host waits for, and how often.
WAITS = {
    "float": (1, lambda x: float(x.sum())),
    "bool": (1, lambda x: bool((x > 0).all())),
    "comparison in an if": (1, lambda x: 1 if x.sum() > 0 else 0),
    "tolist": (1, lambda x: x.tolist()),
    "to the host and back": (2, lambda x: x.to("cpu").to(x.device)),
    "numbers from the host": (1, lambda x: torch.tensor([1.0, 2.0], device=x.device)),
    "new_tensor": (1, lambda x: x.new_tensor([1.0, 2.0])),
    "mask": (1, lambda x: x[x > 0]),
    "many numbers through a mask": (2, lambda x: assigned(x, x > 0, x[x > 0])),
    "nonzero": (1, lambda x: x.nonzero()),
    "where with one argument": (1, lambda x: torch.where(x > 0)),
    "masked_select": (1, lambda x: x.masked_select(x > 0)),
    "unique": (1, lambda x: x.unique()),
    "equal": (1, lambda x: torch.equal(x, x)),
    "one draw without replacement": (1, lambda x: torch.multinomial(x.exp(), 1, generator=x.rng)),
    "cholesky": (1, lambda x: torch.linalg.cholesky(torch.eye(2, device=x.device))),
    "inv": (1, lambda x: torch.linalg.inv(torch.eye(2, device=x.device))),
    "svd": (1, lambda x: torch.linalg.svd(x)),
}

#: What it does not wait for, though it looks similar.
RUNS = {
    "one number through a mask": lambda x: assigned(x, x > 0, 0.0),
    "one number in a column": lambda x: assigned(x, (slice(None), 0), 1.0),
    "where with three": lambda x: torch.where(x > 0, x, 0.0),
    "masked_fill": lambda x: x.masked_fill(x > 0, 0.0),
    "index on the device": lambda x: x[torch.arange(3, device=x.device)],
    "many draws with replacement": lambda x: torch.multinomial(x.exp(), 3, replacement=True, generator=x.rng),
    "randperm": lambda x: torch.randperm(5, generator=x.rng, device=x.device),
    "inv_ex": lambda x: torch.linalg.inv_ex(torch.eye(2, device=x.device)),
    "slogdet": lambda x: torch.linalg.slogdet(torch.eye(2, device=x.device)),
    "rows": lambda x: [row.sum() for row in x],
    "deepcopy": lambda x: copy.deepcopy(x),
    "vmap": lambda x: torch.func.vmap(lambda row: row.sum())(x),
}

#: What it refuses, and what it says.
REFUSED = {
    "factory": ("torch.eye without device=", lambda x: torch.eye(3)),
    "number on the host": ("add of the device and a CPU tensor", lambda x: x + torch.zeros((), device="cpu")),
    "list as an index": ("index of the device and a CPU tensor", lambda x: x[[0, 1]]),
    "numpy": ("numpy()", lambda x: x.numpy()),
    "global randomness": ("randn without generator=", lambda x: torch.randn(3, device=x.device)),
    "dropout": ("without generator=", lambda x: torch.nn.functional.dropout(x, 0.5)),
    "generator of the host": ("from a CPU generator", lambda x: x.normal_(generator=torch.Generator())),
    "generator of the device": (
        "on the CPU from a device generator",
        lambda x: torch.rand(3, device="cpu", generator=x.rng),
    ),
}


@pytest.fixture
def gpu():
    with pretended_device() as gpu:
        yield gpu


@pytest.fixture
def x(gpu):
    x = torch.randn(6, 2, device=gpu.device, generator=gpu.generator(0))
    x.rng = gpu.generator(1)
    return x


@pytest.mark.parametrize("what", WAITS)
def test_waits_are_counted(gpu, x, what):
    times, do = WAITS[what]
    with gpu.watched() as seen:
        do(x)
    assert len(seen.host_syncs) == times
    assert all("test_device.py:" in wait for wait in seen.host_syncs)


@pytest.mark.parametrize("what", RUNS)
def test_what_a_gpu_does_by_itself_is_no_wait(gpu, x, what):
    with gpu.watched() as seen:
        RUNS[what](x)
    assert not seen.host_syncs
    assert seen.launches


@pytest.mark.parametrize("what", REFUSED)
def test_what_a_gpu_would_refuse_is_refused(gpu, x, what):
    says, do = REFUSED[what]
    with gpu.watched(), pytest.raises(NotOnTheDevice) as caught:
        do(x)
    assert says in str(caught.value)
    assert "test_device.py:" in str(caught.value)


def test_nothing_is_counted_outside_of_the_watch(gpu, x):
    with gpu.watched() as seen:
        x.square().sum()
    float(x.sum())
    torch.zeros(3)
    assert (seen.launches, seen.host_syncs) == (2, [])


def test_numbers_are_those_of_the_cpu(gpu, x):
    x = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(x.exp().sum(), x)
    y = torch.randn(6, 2, generator=torch.Generator().manual_seed(0))
    assert torch.equal(x.detach().cpu(), y)
    assert torch.equal(slope.cpu(), y.exp())


def test_views_share_their_numbers(gpu, x):
    view = x[:, 0]
    view.fill_(3.0)
    assert torch.equal(x.cpu()[:, 0], torch.full((6,), 3.0))


def test_a_tensor_does_not_outlive_its_device():
    with pretended_device() as gpu:
        x = torch.zeros(2, device=gpu.device)
    with pytest.raises(NotOnTheDevice, match="that was closed"):
        x + 1


def test_another_torch_is_no_failure(monkeypatch):
    monkeypatch.setattr(device, "TORCH", "1.0")
    with pytest.raises(Inapplicable, match=r"supports torch 1\.0"), pretended_device():
        pass


@pytest.mark.parametrize("module", ["_device", "_python_dispatch", "_pytree"])
def test_a_torch_without_what_it_is_made_of_makes_the_laws_inapplicable(module):
    program = (
        f"import sys, torch; sys.modules['torch.utils.{module}'] = None\n"
        "from ebmkit.testing.device import pretended_device\n"
        "from ebmkit.testing.law import Inapplicable\n"
        "try:\n    pretended_device().__enter__()\nexcept Inapplicable as reason:\n    print(reason)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("the pretended device supports torch")
