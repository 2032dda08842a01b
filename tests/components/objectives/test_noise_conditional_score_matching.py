"""`noise_conditional_score_matching`, against denoising losses of one level each, and against closed forms."""

import math
import subprocess
import sys

import pytest
import torch
from torch import nn

from ebmkit.chains.context import StepContext
from ebmkit.components.models.mlp_potential import MLPPotential
from ebmkit.components.models.mlp_score import MLPScore
from ebmkit.components.models.nets.conditional import Conditional
from ebmkit.components.objectives.denoising_score_matching import DenoisingScoreMatching
from ebmkit.components.objectives.noise_conditional_score_matching import NoiseConditionalScoreMatching
from ebmkit.components.objectives.noised_batch import even_shares
from ebmkit.components.schedules.constant import Constant
from ebmkit.components.schedules.geometric import Geometric
from ebmkit.components.schedules.vp import VP
from ebmkit.language.load import load_spec
from tests.components.noised import SIGMAS, Perturbed, Witness, built, exact_module, gradient, name
from tests.components.oracles import EVENTS, assert_follows, assert_mean, generator, random_covariance

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)
schedules = pytest.mark.parametrize("schedule", SIGMAS, ids=name)
kinds = pytest.mark.parametrize("kind", [MLPScore, MLPPotential])
POWERS = [0.0, 1.0, 2.0, 3.0]
UNEQUAL = (0.5, 3.0, 0.0, 2.0, 1.0)


def loss_of(objective, module, batch, seed=0, labels=None):
    return objective.loss(module, batch, StepContext(generator(seed), None, 1, labels=labels))


def at_one_level(module, x, xi, sigma):
    """`1/2 |s(x + sigma xi, sigma) + xi / sigma|^2`, the mean over points."""
    score = module.score(x + sigma * xi, torch.tensor(sigma))
    return (score + xi / sigma).flatten(1).square().sum(1).mean() / 2


def weighed(schedule, power):
    """Objectives and the weights of levels, as they should be: a power, or numbers."""
    sigmas = schedule.levels().tolist()
    if power is None:
        weights = UNEQUAL[: len(sigmas)]
        return NoiseConditionalScoreMatching(schedule=schedule, weights=weights), list(weights)
    objective = NoiseConditionalScoreMatching(schedule=schedule, power=power)
    return objective, [sigma**power for sigma in sigmas]


@pytest.mark.parametrize("power", [*POWERS, None])
@kinds
@schedules
@shapes
def test_it_is_the_weighted_sum_of_single_levels(event, schedule, kind, power):
    """As many points as levels, so that each level comes once; all the same, so that any may have any level. The noise
    is read off what the network was asked."""
    module = built(kind(schedule=schedule, hidden=(6, 5)), event)
    objective, weights = weighed(schedule, power)
    sigmas = schedule.levels().tolist()
    point = 2 * torch.randn(1, *event, generator=generator(1))
    witness = Witness(module)
    found = loss_of(objective, witness, point.expand(len(sigmas), *event)).value
    ((x, levels, _),) = witness.seen
    assert sorted(levels.tolist(), reverse=True) == sigmas
    total = 0.0
    for noisy, level in zip(x, levels.tolist(), strict=True):
        xi = (noisy - point) / level
        total = total + weights[sigmas.index(level)] * at_one_level(module, point, xi, level) / len(sigmas)
    torch.testing.assert_close(found, total, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(gradient(found, module), gradient(total, module), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("power", [*POWERS, None])
@schedules
def test_of_a_batch_it_is_the_mean(schedule, power):
    """Points that differ, more of them than levels and no multiple; all levels evenly, within one."""
    module = built(MLPScore(schedule=schedule, hidden=(6, 5)), (2,))
    objective, weights = weighed(schedule, power)
    sigmas = schedule.levels().tolist()
    batch = torch.randn(23, 2, generator=generator(1))
    witness = Witness(module)
    found = loss_of(objective, witness, batch)
    ((x, levels, _),) = witness.seen
    index = [sigmas.index(level) for level in levels.tolist()]
    counts = [index.count(i) for i in range(len(sigmas))]
    assert max(counts) - min(counts) <= 1
    plain = [
        at_one_level(module, batch[k : k + 1], (x[k : k + 1] - batch[k : k + 1]) / sigmas[i], sigmas[i])
        for k, i in enumerate(index)
    ]
    total = sum(weights[i] * one for i, one in zip(index, plain, strict=True)) / 23
    torch.testing.assert_close(found.value, total, rtol=1e-10, atol=1e-10)
    unweighted = sum(sigmas[i] ** 2 * one.detach() for i, one in zip(index, plain, strict=True)) / 23
    assert set(found.metrics) == (set() if power == 2 else {"unweighted"})
    for value in found.metrics.values():
        torch.testing.assert_close(value, unweighted, rtol=1e-10, atol=1e-10)
        assert not value.requires_grad


def test_weights_belong_to_levels_from_the_largest():
    """A weight on one level alone leaves the others out."""
    schedule = Geometric(sigma_max=4.0, sigma_min=0.05, count=3)
    module = built(MLPScore(schedule=schedule, hidden=(6,)), (2,))
    point = torch.randn(1, 2, generator=generator(0)).expand(3, 2)
    for i, sigma in enumerate(schedule.levels().tolist()):
        weights = tuple(float(k == i) for k in range(3))
        witness = Witness(module)
        found = loss_of(NoiseConditionalScoreMatching(schedule=schedule, weights=weights), witness, point).value
        ((x, levels, _),) = witness.seen
        k = levels.tolist().index(sigma)
        alone = at_one_level(module, point[:1], (x[k : k + 1] - point[:1]) / sigma, sigma) / 3
        torch.testing.assert_close(found, alone, rtol=1e-10, atol=1e-12)


class AtOneLevel(nn.Module):
    """A potential at one level, as an energy."""

    def __init__(self, module, sigma):
        super().__init__()
        self.module, self.sigma = module, torch.tensor(sigma)

    def forward(self, x):
        return self.module(x, self.sigma)


@pytest.mark.parametrize("power", POWERS)
@shapes
def test_one_level_is_denoising_score_matching(event, power):
    """sigma^power times that objective, with the same noise: the even shares have taken one number before."""
    sigma = 0.3
    module = built(MLPPotential(schedule=Constant(sigma=sigma), hidden=(6, 5)), event)
    batch = torch.randn(9, *event, generator=generator(1))
    found = loss_of(NoiseConditionalScoreMatching(schedule=Constant(sigma=sigma), power=power), module, batch).value
    rng = generator(0)
    torch.empty(()).uniform_(generator=rng)
    other = DenoisingScoreMatching(sigma=sigma).loss(AtOneLevel(module, sigma), batch, StepContext(rng, None, 1)).value
    torch.testing.assert_close(found, sigma**power * other, rtol=1e-10, atol=1e-10)
    wanted = sigma**power * gradient(other, module)
    torch.testing.assert_close(gradient(found, module), wanted, rtol=1e-10, atol=1e-10)


# --- in the mean -----------------------------------------------------------------------------------------------------


class Affine(Conditional):
    """s(x, sigma) = -(x - b) A' / (1 + sigma)."""

    def __init__(self, schedule, event):
        super().__init__(schedule)
        d = math.prod(event)
        self.a = nn.Parameter(torch.randn(d, d, generator=generator(2)) / math.sqrt(d))
        self.b = nn.Parameter(torch.randn(d, generator=generator(3)))

    def score(self, x, level, labels=None):
        return (-(x.flatten(1) - self.b) @ self.a.T / (1 + level.reshape(-1, 1))).view_as(x)


@pytest.mark.parametrize("power", [0.0, 2.0])
@shapes
def test_the_expected_loss_of_an_affine_score_on_gaussian_data(event, power):
    """With M = A / (1 + sigma) and data N(m, C): 1/2 (|M (m - b)|^2 + tr M C M' + |I / sigma - sigma M|^2)."""
    schedule = Geometric(sigma_max=2.0, sigma_min=0.4, count=3)
    d = math.prod(event)
    module, mean, covariance = Affine(schedule, event), torch.full((d,), 0.7), random_covariance(d, 4)
    exact = 0.0
    for sigma in schedule.levels().tolist():
        m = module.a.detach() / (1 + sigma)
        away = m @ (mean - module.b.detach())
        single = (
            away.square().sum() + (m @ covariance @ m.T).trace() + (torch.eye(d) / sigma - sigma * m).square().sum()
        )
        exact = exact + sigma**power * single / 2 / 3
    objective, factor = NoiseConditionalScoreMatching(schedule=schedule, power=power), torch.linalg.cholesky(covariance)
    draws = []
    for seed in range(60):
        data = (mean + torch.randn(600, d, generator=generator(1000 + seed)) @ factor.T).view(-1, *event)
        draws.append(loss_of(objective, module, data, seed).value.detach())
    draws = torch.stack(draws)
    assert_mean(draws, exact)
    assert float(draws.std()) / math.sqrt(60) < 0.02 * float(exact)  # not by weakness


@pytest.mark.parametrize("weights", [None, (3.0, 0.2, 1.0)], ids=["sigma^2", "weights"])
@shapes
def test_at_the_exact_score_the_expected_slope_is_zero(event, weights):
    schedule = Geometric(sigma_max=2.0, sigma_min=0.3, count=3)
    exact, truth = exact_module(event, schedule)
    objective = NoiseConditionalScoreMatching(schedule=schedule, weights=weights)
    module, slopes, elsewhere = Perturbed(exact), [], []
    moved = Perturbed(exact)
    with torch.no_grad():
        moved.theta.fill_(0.1)
    for seed in range(60):
        data = truth.draw(400, generator(1000 + seed)).view(-1, *event)
        slopes.append(gradient(loss_of(objective, module, data, seed).value, module))
        elsewhere.append(gradient(loss_of(objective, moved, data, seed).value, moved))
    slopes, elsewhere = torch.stack(slopes), torch.stack(elsewhere)
    assert_mean(slopes, 0.0)
    away = elsewhere.mean(0).abs() / (elsewhere.std(0) / math.sqrt(60))
    assert float(away.max()) > 12  # not by weakness


# --- even shares -----------------------------------------------------------------------------------------------------


def test_even_shares_are_evenly_spread():
    for n in (1, 2, 7, 64):
        shares = even_shares(torch.zeros(n, 3), generator(n))
        assert shares.shape == (n,)
        assert float(shares.min()) >= 0
        assert float(shares.max()) < 1
        gaps = shares.sort().values.diff()
        torch.testing.assert_close(gaps, torch.full((n - 1,), 1 / n), rtol=1e-12, atol=1e-14)


def test_every_share_is_uniform():
    """The first, one in the middle and the last of a batch, over 4000 batches; and any share falls on each of three
    levels equally often."""
    batch = torch.zeros(10, 2)
    shares = torch.stack([even_shares(batch, generator(seed)) for seed in range(4000)])
    assert_follows([(shares[:, k], lambda x: x.clamp(0, 1)) for k in (0, 4, 9)])
    counts = torch.stack([(shares * 3).long().eq(i).sum(0) for i in range(3)])
    # A binomial count is off by 6 standard deviations with a probability below 1e-8, one of 30 by less than 1e-6.
    assert float((counts - 4000 / 3).abs().max()) < 6 * math.sqrt(4000 * 2 / 9)


def test_even_shares_take_one_number():
    one, other = generator(3), generator(3)
    even_shares(torch.zeros(10, 2), one)
    torch.empty(()).uniform_(generator=other)
    assert torch.equal(one.get_state(), other.get_state())


def test_in_single_precision_every_level_exists():
    """Shares that round up to 1 would be a level beyond the last."""
    schedule = Geometric(sigma_max=4.0, sigma_min=0.05, count=1000)
    module = built(MLPScore(schedule=schedule, hidden=(3,)), (1,)).float()
    for seed in range(20):
        witness = Witness(module)
        loss_of(NoiseConditionalScoreMatching(schedule=schedule), witness, torch.zeros(1000, 1).float(), seed)
        assert set(witness.seen[0][1].tolist()) <= set(module.levels.tolist())


# --- words -----------------------------------------------------------------------------------------------------------


def test_weights_that_do_not_fit_the_levels():
    schedule = Geometric(sigma_max=4.0, count=3)
    with pytest.raises(ValueError, match="2 weights for 3 noise levels"):
        NoiseConditionalScoreMatching(schedule=schedule, weights=(1.0, 2.0))
    with pytest.raises(ValueError, match="all zero"):
        NoiseConditionalScoreMatching(schedule=schedule, weights=(0.0, 0.0, 0.0))
    NoiseConditionalScoreMatching(schedule=VP(), weights=(1.0,))  # which `resolve` refuses, for a better reason


MODEL = {"use": "geometric", "sigma_max": 4.0}


@pytest.mark.parametrize(
    ("model", "others"),
    [
        (MODEL, {"use": "geometric", "sigma_max": 4.0}),
        (MODEL, {"use": "geometric", "sigma_max": 4, "count": 10}),
        ("geometric", {"use": "geometric", "sigma_max": "auto"}),
        ("$sigmas", "$sigmas"),
        ("$sigmas", {"use": "geometric", "sigma_max": 5.0}),
    ],
    ids=["inline", "with a default written out", "auto", "shared", "shared and inline"],
)
def test_schedules_that_are_equal_fit(model, others):
    shared = {"parts": {"sigmas": {"use": "geometric", "sigma_max": 5.0}}} if "$sigmas" in (model, others) else {}
    plan = load_spec(
        {
            "ebmkit": 1,
            **shared,
            "data": "two_moons",
            "model": {"use": "mlp_score", "schedule": model},
            "objective": {"use": "noise_conditional_score_matching", "schedule": others},
            "train": {"steps": 1},
            "sampler": {"use": "annealed_langevin", "schedule": others},
        }
    )
    assert plan.spec.model.schedule == plan.spec.objective.schedule == plan.spec.sampler.schedule


def test_a_valid_spec_with_schedules_is_validated_without_torch(tmp_path):
    (tmp_path / "levels.yaml").write_text(
        "ebmkit: 1\nparts: {sigmas: {use: geometric, sigma_max: auto}}\ndata: two_moons\n"
        "model: {use: mlp_score, schedule: $sigmas}\n"
        "objective: {use: noise_conditional_score_matching, schedule: $sigmas}\ntrain: {steps: 1}\n"
        "sampler: {use: annealed_langevin, schedule: $sigmas}\n"
    )
    (tmp_path / "times.yaml").write_text(
        "ebmkit: 1\ndata: digits\nmodel: {use: unet_potential, schedule: cosine, classes: 10}\n"
        "objective: {use: sde_score_matching, schedule: cosine}\ntrain: {steps: 1}\n"
        "sampler: {use: predictor_corrector, schedule: cosine}\n"
    )
    program = (
        "import sys\nfrom click.testing import CliRunner\nfrom ebmkit.cli import group\n"
        "for verb in ('validate', 'resolve'):\n"
        "    for name in ('levels.yaml', 'times.yaml'):\n"
        "        assert CliRunner().invoke(group, [verb, name]).exit_code == 0, name\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.strip() == "False"
