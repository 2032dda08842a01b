"""Models, objectives and noise with one mistake each."""

import math

import torch

from ebmkit.api import Loss, Model, Noise, Objective, component
from ebmkit.contracts.modules.density import Density


class Well(torch.nn.Module):
    """A harmonic well; a planted one overrides one place of it."""

    def __init__(self, event):
        super().__init__()
        self.log_a = torch.nn.Parameter(torch.zeros(event))
        self.register_buffer("centre", torch.full(event, 0.2))

    def forward(self, x):
        return (self.log_a.exp() * (x - self.centre).square()).flatten(1).sum(1) / 2


def planted_model(name, offers=("energy", "gradient"), **methods):
    """A model with a mistake in the methods of its module."""
    module = type("Planted", (Well,), methods)

    @component(name)
    class Planted(Model):
        def build(self, event):
            return module(event)

    Planted.offers = frozenset(offers)
    return Planted()


def wrong_by_hand(self, x):
    return self(x), 2 * self.log_a.exp() * (x - self.centre)


def unregistered(self, event):
    Well.__init__(self, event)
    del self.centre
    self.centre = torch.full(event, 0.2)


def exact_normaliser(self):
    return -self.log_a.sum() / 2 + self.log_a.numel() * math.log(2 * math.pi) / 2


@component("counts_wrong")
class CountsWrong(Model):
    def parameter_count(self, event):
        return math.prod(event) + 1

    def build(self, event):
        return Well(event)


@component("denoising")
class Denoising(Objective):
    """Right: denoising score matching; a planted objective overrides one place of it."""

    needs = frozenset({"energy", "gradient"})
    spaces = frozenset({"real"})

    sigma: float = 0.2

    def loss(self, model, batch, context):
        xi = self.noise(batch, context)
        x = (batch + self.sigma * xi).requires_grad_()
        (gradient,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        return self.compared(gradient, xi)

    def noise(self, batch, context):
        return torch.empty_like(batch).normal_(generator=context.rng)

    def compared(self, gradient, xi):
        return Loss((self.sigma * gradient - xi).square().flatten(1).sum(1).mean(), {})


@component("sums")
class Sums(Denoising):
    def compared(self, gradient, xi):
        return Loss((self.sigma * gradient - xi).square().sum(), {})


@component("half_detached")
class HalfDetached(Denoising):
    def compared(self, gradient, xi):
        return Loss(((self.sigma * gradient - xi) * (self.sigma * gradient - xi).detach()).flatten(1).sum(1).mean(), {})


@component("global_noise_in_the_loss")
class GlobalNoiseInTheLoss(Denoising):
    def noise(self, batch, context):
        return torch.randn_like(batch)


@component("writes_to_the_batch")
class WritesToTheBatch(Denoising):
    def noise(self, batch, context):
        batch += 0.01
        return super().noise(batch, context)


@component("noise_on_the_cpu")
class NoiseOnTheCPU(Denoising):
    def noise(self, batch, context):
        return torch.randn(batch.shape, generator=torch.Generator().manual_seed(0)).to(batch)


@component("wrong_sign")
class WrongSign(Denoising):
    """Learns the energy upside down."""

    def compared(self, gradient, xi):
        return Loss((self.sigma * gradient + xi).square().flatten(1).sum(1).mean(), {})


@component("wrong_power")
class WrongPower(Denoising):
    """sigma squared in place of sigma: a minimum at another model."""

    sigma: float = 0.5

    def compared(self, gradient, xi):
        return Loss((self.sigma**2 * gradient - xi).square().flatten(1).sum(1).mean(), {})


@component("logs_a_graph")
class LogsAGraph(Denoising):
    def compared(self, gradient, xi):
        value = super().compared(gradient, xi).value
        return Loss(value, {"slope": gradient.mean()})


@component("trains_in_the_loss")
class TrainsInTheLoss(Denoising):
    def loss(self, model, batch, context):
        for parameter in model.parameters():
            parameter.data.mul_(0.999)
        return super().loss(model, batch, context)


class Normal(Density):
    """A normal density with the moments of the data; a planted one overrides one place of it."""

    def __init__(self, data):
        super().__init__()
        self.register_buffer("mean", data.mean(0))
        self.register_buffer("std", data.std(0))

    def log_prob(self, x):
        z = (x - self.mean) / self.std
        return -(z.square() / 2 + self.std.log() + math.log(2 * math.pi) / 2).flatten(1).sum(1)

    def sample(self, n, rng):
        return self.mean + self.std * self.mean.new_empty(n, *self.mean.shape).normal_(generator=rng)


def planted_noise(name, **methods):
    """Noise with a mistake in the methods of its density."""
    density = type("Planted", (Normal,), methods)

    @component(name)
    class Planted(Noise):
        def build(self, event, data):
            return density(data)

    return Planted()


def without_the_normaliser(self, x):
    return -((x - self.mean) / self.std).square().flatten(1).sum(1) / 2


def wider(self, n, rng):
    return self.mean + 1.1 * self.std * self.mean.new_empty(n, *self.mean.shape).normal_(generator=rng)


def global_draws(self, n, rng):
    return self.mean + self.std * torch.randn(n, *self.mean.shape, dtype=self.mean.dtype)


def of_the_batch(self, x):
    z = (x - x.mean(0)) / self.std
    return -(z.square() / 2 + self.std.log() + math.log(2 * math.pi) / 2).flatten(1).sum(1)


def no_buffers(self, data):
    Density.__init__(self)
    self.mean, self.std = data.mean(0), data.std(0)


@component("centres_the_data")
class CentresTheData(Noise):
    def build(self, event, data):
        data -= data.mean(0)
        return Normal(data)


TABLE = [
    planted_model("wrong_gradient_by_hand", energy_and_grad=wrong_by_hand),
    planted_model("no_buffer", __init__=unregistered),
    planted_model("column", forward=lambda self, x: Well.forward(self, x)[:, None]),
    planted_model("of_the_batch", forward=lambda self, x: Well.forward(self, x - x.mean(0))),
    planted_model("random_energy", forward=lambda self, x: Well.forward(self, x) + 1e-3 * torch.rand(())),
    planted_model("single", forward=lambda self, x: Well.forward(self, x.float())),
    planted_model("wrong_log_z", ("energy", "gradient", "log_z"), log_z=lambda self: exact_normaliser(self) + 0.1),
    planted_model(
        "wrong_draws",
        ("energy", "gradient", "sample_exact"),
        sample_exact=lambda self, n, rng: (
            self.centre + 1.1 * self.centre.new_empty(n, *self.centre.shape).normal_(generator=rng)
        ),
    ),
    CountsWrong(),
    Sums(),
    HalfDetached(),
    GlobalNoiseInTheLoss(),
    WritesToTheBatch(),
    NoiseOnTheCPU(),
    WrongSign(),
    WrongPower(),
    LogsAGraph(),
    TrainsInTheLoss(),
    planted_noise("not_normalised", log_prob=without_the_normaliser),
    planted_noise("wider_than_it_says", sample=wider),
    planted_noise("global_draws", sample=global_draws),
    planted_noise("of_the_batch", log_prob=of_the_batch),
    planted_noise("no_buffers", __init__=no_buffers),
    CentresTheData(),
]

RIGHT = [
    planted_model("well"),
    planted_model("well_with_log_z", ("energy", "gradient", "log_z"), log_z=exact_normaliser),
    Denoising(),
    planted_noise("normal"),
]
