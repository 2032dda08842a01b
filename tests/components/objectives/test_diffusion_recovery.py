"""`diffusion_recovery`, against the recovery likelihood of Gaussians, which is known."""

import math
from typing import ClassVar

import pytest
import torch

from ebmkit.chains.compiled import CompiledEnergy, compile_energy
from ebmkit.chains.context import StepContext
from ebmkit.chains.energy import Energy, frozen
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.mlp import MLP
from ebmkit.components.models.nets.tilted import TiltedEnergy
from ebmkit.components.objectives.diffusion_recovery import DiffusionRecovery
from ebmkit.components.samplers.hmc import HMC
from ebmkit.components.samplers.langevin import Langevin, LangevinState
from ebmkit.components.samplers.mala import MALA
from ebmkit.components.samplers.metropolis import Metropolis
from ebmkit.components.samplers.nuts import NUTS
from ebmkit.components.samplers.parallel_tempering import ParallelTempering
from ebmkit.contracts.kinds import Sampler, StepInfo
from ebmkit.language.load import load_spec
from tests.components.oracles import EVENTS, assert_mean, generator, random_covariance, rows

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)
SIGMA = 0.7


class ExactQuadratic(Sampler):
    """One draw from an energy that is quadratic in every row, known from its gradients alone."""

    steps: ClassVar[int] = 1

    def init(self, energy, x, rng):
        return LangevinState(x)

    def step(self, energy, state, rng):
        x = state.x
        _, slope = energy.value_and_grad(x)
        slope = slope.flatten(1)
        columns = []
        for axis in torch.eye(slope.shape[1]):
            _, beside = energy.value_and_grad(x + axis.view(x.shape[1:]))
            columns.append(beside.flatten(1) - slope)
        precision = torch.stack(columns, 2).mean(0)  # the same for all rows
        factor = torch.linalg.cholesky((precision + precision.T) / 2)
        xi = torch.empty_like(slope).normal_(generator=rng)
        mean = x.flatten(1) - torch.linalg.solve(precision, slope.T).T
        drawn = mean + torch.linalg.solve_triangular(factor.T, xi.T, upper=True).T
        return LangevinState(drawn.view_as(x)), StepInfo()


def gaussian(event, seed=0):
    d = math.prod(event)
    return Gaussian(mean=(0.4,) * d, covariance=rows(random_covariance(d, seed)), shape=event).build(event)


def gradient(value, module):
    return torch.cat([g.flatten() for g in torch.autograd.grad(value, list(module.parameters()))])


def noise(batch, seed):
    return batch + SIGMA * torch.empty_like(batch).normal_(generator=generator(seed))


def recovery_nll(module, x, noisy):
    """-log p(x | x~) = -log p(x) + log p_sigma(x~) + a constant, with the noised law's own covariance."""
    d = len(module.mean)
    whitened = torch.linalg.inv(module.whitening)
    blurred = whitened @ whitened.T + SIGMA**2 * torch.eye(d)
    noised = torch.distributions.MultivariateNormal(module.mean, blurred)
    return (module(x) + module.log_z() + noised.log_prob(noisy.flatten(1))).mean()


@shapes
def test_gradient_is_that_of_the_recovery_likelihood(event):
    """The same x~ in both, so that only the draws of y scatter: their mean is zero within six errors."""
    module = gaussian(event)
    batch = torch.randn(100, *event, generator=generator(1)) + 0.8
    objective = DiffusionRecovery(sigma=SIGMA, sampler=ExactQuadratic())
    found, exact = [], []
    for seed in range(60):
        found.append(gradient(objective.loss(module, batch, StepContext(generator(seed), None, 1)).value, module))
        exact.append(gradient(recovery_nll(module, batch, noise(batch, seed)), module))
    found, exact = torch.stack(found), torch.stack(exact)
    assert_mean(found - exact, 0.0)
    error = (found - exact).std(0).norm() / math.sqrt(60)
    assert float(exact.mean(0).norm()) > 5 * float(error)  # not by weakness


@shapes
def test_the_truth_is_a_fixed_point(event):
    module = gaussian(event)
    objective = DiffusionRecovery(sigma=SIGMA, sampler=ExactQuadratic())
    draws = [
        gradient(
            objective.loss(
                module, module.sample_exact(200, generator(seed)), StepContext(generator(99 + seed), None, 1)
            ).value,
            module,
        )
        for seed in range(60)
    ]
    assert_mean(torch.stack(draws), 0.0)


@shapes
def test_chains_are_langevin_on_the_conditional_energy(event):
    """The loss with its chain written out, and the quadratic added by hand."""
    torch.manual_seed(0)
    module = MLP(hidden=(5,)).build(event)
    data = torch.randn(30, *event, generator=generator(0))
    objective = DiffusionRecovery(sigma=SIGMA, sampler=Langevin(steps=3, step_size=0.05), energy_l2=0.3)
    loss = objective.loss(module, data, StepContext(generator(1), None, 1))
    rng = generator(1)
    noisy = data + SIGMA * torch.empty_like(data).normal_(generator=rng)
    y = noisy
    for _ in range(3):
        y = y.detach().requires_grad_()
        (slope,) = torch.autograd.grad(module(y).sum() + (y - noisy).pow(2).sum() / (2 * SIGMA**2), y)
        y = y - 0.05 * slope + torch.empty_like(y).normal_(0, math.sqrt(0.1), generator=rng)
    a, b = module(data), module(y.detach())
    torch.testing.assert_close(loss.value, a.mean() - b.mean() + 0.3 * (a.pow(2).mean() + b.pow(2).mean()))
    torch.testing.assert_close(loss.metrics["energy_data"], a.mean().detach())
    torch.testing.assert_close(loss.metrics["energy_model"], b.mean().detach())
    torch.testing.assert_close(loss.metrics["gap"], (a.mean() - b.mean()).detach())


@shapes
def test_tilted_energy_and_its_gradient(event):
    module, x, noisy = gaussian(event), *(torch.randn(9, *event, generator=generator(k)) for k in range(2))
    tilted = TiltedEnergy(module, noisy, SIGMA)
    x.requires_grad_()
    expected = module(x) + (x - noisy).pow(2).flatten(1).sum(1) / (2 * SIGMA**2)
    (slope,) = torch.autograd.grad(expected.sum(), x)
    torch.testing.assert_close(tilted(x), expected, rtol=1e-12, atol=1e-12)
    value, by_hand = Energy(tilted).value_and_grad(x.detach())
    torch.testing.assert_close(value, expected.detach(), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(by_hand, slope, rtol=1e-12, atol=1e-12)


@shapes
def test_replicas_of_all_chains_have_the_noisy_copies_of_their_chains(event):
    module, noisy = gaussian(event), torch.randn(4, *event, generator=generator(0))
    x = torch.randn(3, 4, *event, generator=generator(1))
    tilted = TiltedEnergy(module, noisy, SIGMA)
    torch.testing.assert_close(tilted(x.flatten(0, 1)), torch.cat([tilted(replica) for replica in x]))
    value, slope = Energy(tilted).value_and_grad(x.flatten(0, 1))
    parts = [Energy(tilted).value_and_grad(replica) for replica in x]
    torch.testing.assert_close(value, torch.cat([part[0] for part in parts]))
    torch.testing.assert_close(slope, torch.cat([part[1] for part in parts]))


@pytest.mark.parametrize("inner", [Metropolis(steps=2), MALA(steps=2), HMC(steps=2), NUTS(steps=2)])
def test_its_chains_may_be_tempered(inner):
    module, data = gaussian((2,)), torch.randn(5, 2, generator=generator(0))
    sampler = ParallelTempering(steps=2, sampler=inner)
    loss = DiffusionRecovery(sampler=sampler).loss(module, data, StepContext(generator(1), None, 1))
    assert loss.value.isfinite()


def test_the_model_inside_is_frozen_for_the_chain_and_as_it_was_behind():
    module = MLP(hidden=(5,)).build((2,))
    with frozen(TiltedEnergy(module, torch.zeros(3, 2), SIGMA)):
        assert not module.training
        assert not any(p.requires_grad for p in module.parameters())
    assert module.training
    assert all(p.requires_grad for p in module.parameters())


def test_its_chains_are_not_the_models_samples():
    """They begin at noisy data. A metric of samples gets the default sampler, instead of one that has no start."""
    spec = {
        "ebmkit": 1,
        "data": "two_moons",
        "model": "mlp",
        "objective": "diffusion_recovery",
        "train": {"steps": 1},
        "evaluate": ["sliced_wasserstein"],
    }
    assert load_spec(spec).chain_sampler.component_name == "mixed_mala"
    assert load_spec({**spec, "sampler": "langevin"}).chain_sampler.component_name == "langevin"


def test_chains_run_compiled_where_the_model_is():
    module = MLP(hidden=(4,)).build((2,))
    compile_energy(module)
    assert isinstance(TiltedEnergy(module, torch.zeros(3, 2), SIGMA).energy, CompiledEnergy)
