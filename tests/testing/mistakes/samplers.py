"""Samplers and Bregman generators with one mistake each."""

import itertools
import math
from typing import NamedTuple

import torch

from ebmkit.api import Bregman, Sampler, StepInfo, component
from tests.testing.planted_devices import Drift


class Moving(NamedTuple):
    x: torch.Tensor
    v: torch.Tensor


@component("right_sghmc")
class StochasticGradientHMC(Sampler):
    """Right, from a momentum of zero; a planted sampler overrides one place of it."""

    traces = frozenset({"energy", "gradient_norm"})
    variance = 1.0  # of the noise, in units of what is right

    steps: int = 100
    step_size: float = 0.01
    friction: float = 0.1

    def init(self, energy, x, rng):
        return Moving(x, torch.zeros_like(x))

    def step(self, energy, state, rng):
        value, gradient = energy.value_and_grad(state.x)
        xi = torch.empty_like(gradient).normal_(generator=rng)
        noise = math.sqrt(2 * self.friction * self.step_size * self.variance) * xi
        v = (1 - self.friction) * state.v - self.force(gradient) + noise
        return Moving(state.x + v, v), StepInfo(value, gradient)

    def force(self, gradient):
        return self.step_size * gradient


@component("four_times_the_noise")
class FourTimesTheNoise(StochasticGradientHMC):
    variance = 4.0


@component("a_fifth_more_noise")
class AFifthMoreNoise(StochasticGradientHMC):
    variance = 1.2


@component("half_the_force")
class HalfTheForce(StochasticGradientHMC):
    def force(self, gradient):
        return self.step_size * gradient / 2


@component("noise_without_the_two")
class NoiseWithoutTheTwo(Drift):
    """sqrt(step) in place of sqrt(2 step), and the step size is no parameter."""

    def noise(self, x, rng):
        return torch.empty_like(x).normal_(0, 0.01**0.5, generator=rng)


@component("right_mala")
class MALA(Sampler):
    """Right; a planted sampler overrides the acceptance."""

    steps: int = 100
    step_size: float = 0.05

    def traits(self):
        return super().traits()._replace(evaluations=2, traces=frozenset({"energy", "acceptance"}))

    def init(self, energy, x, rng):
        return Moving(x, x)

    def step(self, energy, state, rng):
        h, x = self.step_size, state.x
        before, slope = energy.value_and_grad(x)
        y = x - h * slope + math.sqrt(2 * h) * torch.empty_like(x).normal_(generator=rng)
        after, back = energy.value_and_grad(y)
        forth = (y - x + h * slope).square().flatten(1).sum(1) / (4 * h)
        ratio = self.log_ratio(before - after, forth - (x - y + h * back).square().flatten(1).sum(1) / (4 * h))
        acceptance = ratio.exp().clamp(max=1)
        accepted = (torch.empty_like(before).uniform_(generator=rng) < acceptance).view(-1, *[1] * (x.dim() - 1))
        return Moving(torch.where(accepted, y, x), x), StepInfo(before, acceptance=acceptance)

    def log_ratio(self, target, proposal):
        return target + proposal


@component("forgets_the_proposal")
class ForgetsTheProposal(MALA):
    def log_ratio(self, target, proposal):
        return target


@component("proposal_with_the_wrong_sign")
class ProposalWithTheWrongSign(MALA):
    def log_ratio(self, target, proposal):
        return target - proposal


@component("half_the_exponent")
class HalfTheExponent(MALA):
    def log_ratio(self, target, proposal):
        return (target + proposal) / 2


@component("past_the_energy")
class PastTheEnergy(MALA):
    """Asks the module, and so ignores the temperature."""

    def step(self, energy, state, rng):
        return super().step(Cold(energy.module), state, rng)


class Cold:
    def __init__(self, module):
        self.module = module

    def value_and_grad(self, x):
        x = x.detach().requires_grad_()
        with torch.enable_grad():
            value = self.module(x)
            return value.detach(), torch.autograd.grad(value.sum(), x)[0]


@component("global_noise")
class GlobalNoise(StochasticGradientHMC):
    def force(self, gradient):
        return self.step_size * (gradient + 0.01 * torch.randn_like(gradient))


@component("cpu_tensor")
class CPUTensor(StochasticGradientHMC):
    def force(self, gradient):
        return torch.tensor(self.step_size) * gradient


@component("shared_step")
class SharedStep(StochasticGradientHMC):
    """One norm for all chains."""

    def force(self, gradient):
        return self.step_size * gradient / gradient.norm().clamp(min=1)


@component("counts_elsewhere")
class CountsElsewhere(StochasticGradientHMC):
    turns = itertools.count()

    def force(self, gradient):
        return self.step_size * gradient * (1.5 if next(self.turns) % 2 else 0.5)


@component("in_place")
class InPlace(StochasticGradientHMC):
    def step(self, energy, state, rng):
        moved, info = super().step(energy, state, rng)
        state.x.copy_(moved.x)
        return Moving(state.x, moved.v), info


@component("concave")
class Concave(Bregman):
    def psi(self, u):
        return u.log()


@component("wrong_closed_form")
class WrongClosedForm(Bregman):
    def psi(self, u):
        return u * u.log() - u

    def s0(self, log_u):
        return 2 * log_u.exp()

    def s1(self, log_u):
        return log_u


@component("overflows")
class Overflows(Bregman):
    """Finite at e^30, and infinite at 1e30."""

    def psi(self, u):
        return u**12


@component("made_on_the_cpu")
class MadeOnTheCPU(Bregman):
    def psi(self, u):
        return u.square() * torch.tensor(0.5)


@component("shifted")
class Shifted(Bregman):
    def psi(self, u):
        return u.square()

    def s0(self, log_u):
        return (2 * log_u).exp() - 1


@component("convex_below_ten")
class ConvexBelowTen(Bregman):
    def psi(self, u):
        return u.square() - u.pow(3) / 30


TABLE = [
    FourTimesTheNoise(),
    AFifthMoreNoise(),
    HalfTheForce(),
    NoiseWithoutTheTwo(),
    ForgetsTheProposal(),
    ProposalWithTheWrongSign(),
    HalfTheExponent(),
    PastTheEnergy(),
    GlobalNoise(),
    CPUTensor(),
    SharedStep(),
    CountsElsewhere(),
    InPlace(),
    Concave(),
    WrongClosedForm(),
    Overflows(),
    MadeOnTheCPU(),
    Shifted(),
    ConvexBelowTen(),
]

RIGHT = [StochasticGradientHMC(), MALA()]
