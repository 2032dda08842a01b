"""The device law names the line of the component that made the tensor."""

import inspect
from pathlib import Path

import pytest
import torch

from ebmkit.api import Model, Noise, component
from ebmkit.contracts.modules.density import Density
from ebmkit.testing import Broken, Trial, check_component
from ebmkit.testing.laws import noise, sampler
from ebmkit.testing.laws.model.network import runs_on_the_device
from tests.testing.planted_devices import CPUIndex, Drift, ZeroDimensionalTensor

HERE = Path(__file__)


def line_of(text, file=HERE):
    """The number of the only line with a text."""
    (found,) = [
        number for number, line in enumerate(file.read_text().splitlines(), 1) if text in line and "line_of" not in line
    ]
    return f"{file.name}:{found}"


def said(made, law):
    with pytest.raises(Broken) as caught:
        Trial(made, law).run()
    return str(caught.value)


def test_a_tensor_made_by_the_step_is_named_with_its_line():
    planted = HERE.with_name("planted_devices.py")
    line = line_of('torch.arange(len(x), device="cpu").flip(0)', planted)
    assert f"made at {line}, at {line}" in said(CPUIndex(), sampler.runs_on_the_device)


def test_a_tensor_made_when_the_file_was_imported_is_named_with_its_line():
    planted = HERE.with_name("planted_devices.py")
    words = said(ZeroDimensionalTensor(), sampler.runs_on_the_device)
    assert f"a CPU tensor of shape (), SIZE, made at {line_of('SIZE = torch.tensor', planted)}" in words


@component("forgets_its_buffer")
class ForgetsItsBuffer(Model):
    """A centre that `to` does not move."""

    def build(self, event):
        return Centred(event)


class Centred(torch.nn.Module):
    def __init__(self, event):
        super().__init__()
        self.width = torch.nn.Parameter(torch.ones(event))
        self.centre = torch.zeros(event)

    def forward(self, x):
        return (self.width * (x - self.centre)).square().flatten(1).sum(1)


def test_a_tensor_of_a_module_that_is_no_buffer_is_named_with_its_line():
    words = said(ForgetsItsBuffer(), runs_on_the_device)
    assert f"self.centre, made at {line_of('self.centre = torch')}" in words
    assert f"at {line_of('return (self.width')}" in words


@component("made_in_build")
class MadeInBuild(Noise):
    """Spread that a closure holds."""

    def build(self, event, data):
        spread = data.std(0)

        class Normal(Density):
            def log_prob(self, x):
                return -(x / spread).square().flatten(1).sum(1) / 2

            def sample(self, n, rng):
                return spread * torch.empty(n, *event, device=rng.device).normal_(generator=rng)

        return Normal()


def test_the_line_that_uses_it_is_named_where_the_other_is_not_known():
    words = said(MadeInBuild(), noise.runs_on_the_device)
    assert f"at {line_of('return spread * torch.empty')}" in words


@component("reads_from_the_energy")
class ReadsFromTheEnergy(Drift):
    """What it passes to the energy is on the CPU."""

    def step(self, energy, state, rng):
        energy(torch.zeros(state.x.shape, device="cpu"))
        return super().step(energy, state, rng)


def test_the_line_of_the_component_is_named_though_the_energy_computes():
    words = said(ReadsFromTheEnergy(), sampler.runs_on_the_device)
    assert line_of('energy(torch.zeros(state.x.shape, device="cpu"))') in words
    assert "chains" not in words.split("The law")[0]


def test_all_laws_but_that_of_the_device_hold():
    with pytest.raises(Broken) as caught:
        check_component(ForgetsItsBuffer)
    assert str(caught.value).count("breaks") == 1
    assert inspect.getsourcefile(Centred)
