"""Diffusions whose every number is known: written down here a second time, and nowhere with what is to be tested."""

import math
from contextlib import contextmanager
from itertools import pairwise
from typing import NamedTuple

import torch

from ebmkit.chains.energy import Energy
from ebmkit.components.models.noised_mixture import NoisedMixtureModel
from ebmkit.components.schedules.cosine import Cosine
from ebmkit.components.schedules.ve import VE
from ebmkit.components.schedules.vp import VP
from ebmkit.contracts.kinds import Schedule
from tests.components.oracles import random_covariance, rows


class Process(NamedTuple):
    """A schedule, and signal, noise, drift f and squared diffusion g^2 at a time, by hand."""

    schedule: Schedule
    signal: object
    noise: object
    drift: object
    diffusion: object


def _ve():
    rate = math.log(160) / 2
    return Process(
        VE(sigma_max=8.0, sigma_min=0.05, horizon=2.0),
        lambda t: 1.0,
        lambda t: 0.05 * 160 ** (t / 2),
        lambda t: 0.0,
        lambda t: 2 * rate * 0.05**2 * 160**t,
    )


def _vp():
    lost = lambda t: 0.3 * t + 1.675 * t * t  # noqa: E731
    return Process(
        VP(beta_min=0.3, beta_max=7.0, horizon=2.0, earliest=0.05),
        lambda t: math.exp(-lost(t) / 2),
        lambda t: math.sqrt(1 - math.exp(-lost(t))),
        lambda t: -(0.3 + 3.35 * t) / 2,
        lambda t: 0.3 + 3.35 * t,
    )


def _ou():
    return Process(
        VP(beta_min=2.0, beta_max=2.0, horizon=3.0, earliest=0.02),
        lambda t: math.exp(-t),
        lambda t: math.sqrt(1 - math.exp(-2 * t)),
        lambda t: -1.0,
        lambda t: 2.0,
    )


def _cosine():
    first, speed = math.atan(0.05), (math.atan(20) - math.atan(0.05)) / 1.5
    return Process(
        Cosine(sigma_max=20.0, sigma_min=0.05, horizon=1.5),
        lambda t: math.cos(first + speed * t),
        lambda t: math.sin(first + speed * t),
        lambda t: -speed * math.tan(first + speed * t),
        lambda t: 2 * speed * math.tan(first + speed * t),
    )


PROCESSES = {"ve": _ve(), "vp": _vp(), "ou": _ou(), "cosine": _cosine()}


class Clean(NamedTuple):
    """Gaussian data: the module with the exact score of their noised law, and mean `(d,)` and covariance `(d, d)`."""

    module: object
    mean: torch.Tensor
    covariance: torch.Tensor

    def noised(self, signal, noise):
        """Mean and covariance under noise."""
        return signal * self.mean, signal**2 * self.covariance + noise**2 * torch.eye(len(self.mean))

    def pull(self, signal, noise):
        """Matrix P and vector p of the score `p - P x`."""
        mean, covariance = self.noised(signal, noise)
        precision = covariance.inverse()
        return precision, precision @ mean


def gaussian(schedule, event):
    """Correlated data off the origin."""
    d = math.prod(event)
    mean, covariance = torch.linspace(-1, 1.5, d) if d > 1 else torch.tensor([1.5]), random_covariance(d, 3) / 2
    model = NoisedMixtureModel(
        schedule=schedule, means=(tuple(mean.tolist()),), covariances=(rows(covariance),), shape=event
    )
    return Clean(model.build(event), mean, covariance)


@contextmanager
def scripted(d):
    """In place of random numbers, one unit vector a row: the k-th draw has them in rows 1 + (k + 1) d and following.

    Yields a list to which every draw adds its standard deviation.
    """
    before, stds = torch.Tensor.normal_, []

    def normal_(self, mean=0.0, std=1.0, *, generator=None):
        first = 1 + (len(stds) + 1) * d
        stds.append(std)
        flat = self.fill_(mean).view(len(self), d)
        assert first + d <= len(flat), "more draws than were allowed for"
        flat[first : first + d] += std * torch.eye(d)
        return self

    torch.Tensor.normal_ = normal_
    try:
        yield stds
    finally:
        torch.Tensor.normal_ = before


def moments(sampler, module, event, *, start=None, draws=2, project=None):
    """Mean `(d,)` and covariance `(d, d)` of a chain behind `init` and behind every step, and its level there.

    On Gaussian data a step is affine in the state and in its random numbers, so that differences of rows are its
    matrices, exactly, and no chance is involved. `start` replaces what `init` begins with.
    """
    d = math.prod(event)
    energy, unit = Energy(module), torch.zeros(1 + d + draws * d, d)
    unit[1 : d + 1] = torch.eye(d)

    def after(move, mean, covariance):
        with scripted(d):
            state = move((mean + unit).view(-1, *event))
            if project:
                state = project(state, None)
        x = state.x.flatten(1)
        assert torch.isfinite(x).all()
        matrices = ((x[1:] - x[0]).view(1 + draws, d, d)).mT  # what x and every draw become
        covariance = matrices[0] @ covariance @ matrices[0].T + sum(m @ m.T for m in matrices[1:])
        return state, x[0], covariance

    state, mean, covariance = after(lambda x: sampler.init(energy, x, None), torch.zeros(d), torch.zeros(d, d))
    if start is not None:
        mean, covariance = start
    found = [(mean, covariance, state.level)]
    for _ in range(sampler.steps):
        now = state
        state, mean, covariance = after(
            lambda x, now=now: sampler.step(energy, now._replace(x=x), None)[0], mean, covariance
        )
        found.append((mean, covariance, state.level))
    return found


def far_mixture(schedule):
    """1/5 N((-5, -5), I) + 4/5 N((5, 5), I)."""
    return NoisedMixtureModel(
        schedule=schedule, means=((-5.0, -5.0), (5.0, 5.0)), covariances=(1.0,), weights=(0.2, 0.8)
    ).build((2,))


#: Chains with which a share of 0.2 is within 0.02, by chance alone, but once in 1e6 cases: 0.02 is 5 deviations.
CHAINS = 10_000


def share_of_the_small_mode(x):
    assert float(x.abs().max()) < 5 + 6  # all have arrived at one
    return float((x.sum(1) < 0).double().mean())


def richardson(values, order=1):
    """The limit of what was found with n, 2 n, 4 n, ... steps, whose error is a power series in 1/n."""
    while len(values) > 1:
        factor = 2**order
        values = [(factor * b - a) / (factor - 1) for a, b in pairwise(values)]
        order += 1
    return values[0]


def slope(errors):
    """Orders of convergence seen between n, 2 n, 4 n, ... steps."""
    return [math.log2(a / b) for a, b in pairwise(errors)]
