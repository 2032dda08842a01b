"""Nine ways to leave the device, each planted in a sampler that is right otherwise."""

from typing import ClassVar

import torch

from ebmkit.api import Sampler, StepInfo, component
from ebmkit.components.samplers.langevin import LangevinState

#: Made when the file is imported, where nobody thinks of devices. A GPU mixes it in without a word.
SIZE = torch.tensor(0.01)


class Drift(Sampler):
    """Langevin dynamics; a planted sampler overrides one place of it."""

    traces = frozenset({"energy", "gradient_norm"})

    steps: ClassVar[int] = 3

    def init(self, energy, x, rng):
        return LangevinState(x)

    def step(self, energy, state, rng):
        value, gradient = energy.value_and_grad(state.x)
        x = self.kept(state.x - self.size(state.x) * gradient + self.noise(state.x, rng))
        return LangevinState(x), StepInfo(value, gradient)

    def size(self, x):
        return 0.01

    def noise(self, x, rng):
        return torch.empty_like(x).normal_(0, 0.02**0.5, generator=rng)

    def kept(self, x):
        return x


@component("right")
class Right(Drift):
    pass


@component("factory_without_device")
class FactoryWithoutDevice(Drift):
    def kept(self, x):
        return x + torch.zeros(x.shape)


@component("zero_dimensional_tensor")
class ZeroDimensionalTensor(Drift):
    def size(self, x):
        return SIZE


@component("item")
class Item(Drift):
    def size(self, x):
        return 0.01 if x.abs().max().item() < 1e9 else 0.0


@component("to_cpu")
class ToCPU(Drift):
    def kept(self, x):
        return x.cpu().clamp(-3, 3).to(x.device)


@component("to_numpy")
class ToNumpy(Drift):
    def kept(self, x):
        return x if x.detach().numpy().shape else x + 1


@component("cpu_generator")
class CPUGenerator(Drift):
    def noise(self, x, rng):
        return torch.empty_like(x).normal_(0, 0.02**0.5, generator=torch.Generator().manual_seed(0))


@component("cpu_index")
class CPUIndex(Drift):
    def kept(self, x):
        return x[torch.arange(len(x), device="cpu").flip(0)]


@component("hard_coded_cpu")
class HardCodedCPU(Drift):
    def noise(self, x, rng):
        return torch.ones(x.shape, device="cpu").to(x)


@component("boolean_mask")
class BooleanMask(Drift):
    def kept(self, x):
        x = x.clone()
        x[x > 3] = x[x > 3] - 1
        return x


#: Each with a word of what the law has to say about it.
PLANTED = {
    FactoryWithoutDevice: "torch.zeros without device=",
    ZeroDimensionalTensor: "a CPU tensor of shape ()",
    Item: "_local_scalar_dense",
    ToCPU: "a copy between host and device",
    ToNumpy: "numpy() of a tensor on the device",
    CPUGenerator: "random numbers on the device from a CPU generator",
    CPUIndex: "a CPU tensor of shape (7,)",
    HardCodedCPU: "a copy between host and device",
    BooleanMask: "index, which needs values on the host",
}
