"""Noise levels and data under noise, by formulas that are written out here."""

import math

import torch
from torch import Tensor, nn
from torch.distributions import Categorical, MixtureSameFamily, MultivariateNormal

from ebmkit.components.models.nets.conditional import Conditional
from ebmkit.components.models.noised_mixture import NoisedMixtureModel
from ebmkit.components.schedules.constant import Constant
from ebmkit.components.schedules.cosine import Cosine
from ebmkit.components.schedules.geometric import Geometric
from ebmkit.components.schedules.linear import Linear
from ebmkit.components.schedules.ve import VE
from ebmkit.components.schedules.vp import VP
from ebmkit.testing.setting import small_setting
from tests.components.oracles import generator, random_covariance, rows

#: One of each, with no parameter that is 1 and could be forgotten.
SIGMAS = [Constant(sigma=0.3), Geometric(sigma_max=4.0, sigma_min=0.05, count=5), Linear(sigma_max=3.0, count=4)]
TIMES = [
    VE(sigma_max=4.0, sigma_min=0.05, horizon=2.0),
    VP(beta_min=0.3, beta_max=8.0, horizon=1.5, earliest=0.01),
    Cosine(sigma_max=30.0, sigma_min=0.02, horizon=2.0),
]
SCHEDULES = SIGMAS + TIMES


def name(schedule) -> str:
    return schedule.component_name


def levels_of(schedule) -> list[float]:
    """All levels of a list, or six times, both ends among them."""
    if schedule in SIGMAS:
        return schedule.levels().tolist()
    return torch.linspace(schedule.earliest, schedule.horizon, 6).tolist()


def signal_and_noise(schedule, level: float) -> tuple[float, float]:
    if schedule in SIGMAS:
        return 1.0, level
    share = level / schedule.horizon
    match schedule:
        case VE():
            return 1.0, schedule.sigma_min ** (1 - share) * schedule.sigma_max**share
        case VP():
            mean_beta = schedule.beta_min + (schedule.beta_max - schedule.beta_min) * share / 2
            variance_left = math.exp(-mean_beta * level)
            return math.sqrt(variance_left), math.sqrt(1 - variance_left)
        case Cosine():
            angle = math.atan(schedule.sigma_min) * (1 - share) + math.atan(schedule.sigma_max) * share
            return math.cos(angle), math.sin(angle)


def squared_diffusion(schedule, t: float) -> float:
    """g^2 of dx = f x dt + g dB."""
    match schedule:
        case VE():
            sigma = signal_and_noise(schedule, t)[1]
            return 2 * sigma**2 * math.log(schedule.sigma_max / schedule.sigma_min) / schedule.horizon
        case VP():
            return schedule.beta_min + (schedule.beta_max - schedule.beta_min) * t / schedule.horizon
        case Cosine():
            signal, noise = signal_and_noise(schedule, t)
            speed = (math.atan(schedule.sigma_max) - math.atan(schedule.sigma_min)) / schedule.horizon
            return 2 * speed * noise / signal


class Mixture:
    """Two or three Gaussians with full covariances, and what noise makes of them."""

    def __init__(self, d: int, components: int = 3) -> None:
        self.weights = torch.tensor([0.2, 0.5, 0.3][:components])
        self.weights = self.weights / self.weights.sum()
        self.means = 2 * torch.randn(components, d, generator=generator(5)) + 0.5
        self.covariances = torch.stack([random_covariance(d, k) for k in range(components)])

    def noised(self, signal: float, noise: float) -> MixtureSameFamily:
        blurred = signal**2 * self.covariances + noise**2 * torch.eye(self.means.shape[1])
        return MixtureSameFamily(Categorical(self.weights), MultivariateNormal(signal * self.means, blurred))

    def score(self, x: Tensor, signal: float, noise: float) -> Tensor:
        """Of states of any shape, by autograd through the density."""
        flat = x.detach().flatten(1).requires_grad_()
        (score,) = torch.autograd.grad(self.noised(signal, noise).log_prob(flat).sum(), flat)
        return score.view_as(x)

    def draw(self, n: int, rng: torch.Generator) -> Tensor:
        which = torch.multinomial(self.weights, n, replacement=True, generator=rng)
        factors = torch.linalg.cholesky(self.covariances)
        xi = torch.randn(n, self.means.shape[1], 1, generator=rng)
        return self.means[which] + (factors[which] @ xi).squeeze(2)


def off_center(event, n: int = 50, seed: int = 0) -> Tensor:
    """Data with a mean and a scale that are neither 0 nor 1, and coordinates that differ in both."""
    d = math.prod(event)
    unequal = torch.linspace(1, 4, d)
    return (torch.randn(n, d, generator=generator(seed)) * unequal + 3 * unequal).view(n, *event)


def built(model, event, *, data: Tensor | None = None, seed: int = 0, stirred: bool = True):
    """A module that has met its data. If stirred, no parameter is left at zero."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = model.build(event).double()
        if stirred:
            with torch.no_grad():
                for parameter in module.parameters():
                    parameter.add_(0.2 * torch.randn_like(parameter))
    module.prepare(small_setting(module, event, data=off_center(event) if data is None else data))
    return module


class Witness(Conditional):
    """A network, and what it was asked."""

    def __init__(self, module: Conditional) -> None:
        super().__init__(module.schedule, module.classes)
        self.module, self.levels, self.seen = module, module.levels, []

    def score(self, x, level, labels=None):
        self.seen.append((x.detach(), level, labels))
        return self.module.score(x, level, labels)


def gradient(value: Tensor, module) -> Tensor:
    found = torch.autograd.grad(value, list(module.parameters()), allow_unused=True)
    return torch.cat([g.flatten() for g in found if g is not None])


class Perturbed(Conditional):
    """The exact score, and features with coefficients: the slope at zero is that of the loss at the exact score."""

    def __init__(self, exact):
        super().__init__(exact.schedule)
        self.exact, self.levels = exact, exact.levels
        self.theta = nn.Parameter(torch.zeros(4))

    def score(self, x, level, labels=None):
        each = level.reshape(-1, *[1] * (x.dim() - 1)) + 0.5
        features = torch.stack([torch.ones_like(x), x, x.sin() / each, (x * each).cos()])
        return self.exact.score(x, level) + torch.einsum("k,k...->...", self.theta, features)


def exact_module(event, schedule):
    """The exact score, and the mixture of which it is."""
    truth = Mixture(math.prod(event), 2)
    model = NoisedMixtureModel(
        schedule=schedule,
        means=rows(truth.means),
        covariances=tuple(map(rows, truth.covariances)),
        weights=tuple(truth.weights.tolist()),
        shape=event,
    )
    return model.build(event), truth
