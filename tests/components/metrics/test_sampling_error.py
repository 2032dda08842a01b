"""`sampling_error` against Gaussians, whose chains stay Gaussian, and against the sampler's own chains."""

import dataclasses
import math

import pytest
import torch

import ebmkit
from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import Energy
from ebmkit.components.metrics.sampling_error import (
    Law,
    SamplingError,
    density,
    final_law,
    kl_divergence,
    slope,
    total_variation,
)
from ebmkit.components.models.noised_mixture import NoisedMixtureModel
from ebmkit.components.samplers.reverse_sde import ReverseSDE
from ebmkit.components.schedules.cosine import Cosine
from ebmkit.components.schedules.ve import VE
from ebmkit.components.schedules.vp import VP
from ebmkit.contracts.unmeasurable import Unmeasurable
from ebmkit.engine.sampling import view_of
from ebmkit.errors import Mistakes
from ebmkit.language.load import load_spec
from tests.components.oracles import assert_follows, generator, normal_cdf
from tests.views import FakeView, viewed_spec

OU = VP(beta_min=2.0, beta_max=2.0, horizon=2.0, earliest=0.1)
SCHEDULES = {"ou": OU, "ve": VE(sigma_max=6.0, sigma_min=0.1), "cosine": Cosine(sigma_max=5.0, sigma_min=0.1)}
integrators = pytest.mark.parametrize("integrator", ["exponential", "euler_maruyama"])


def mixture(schedule, means=((-2.0,), (3.0,)), covariances=(0.3,), weights=(1.0, 2.0)):
    return NoisedMixtureModel(schedule=schedule, means=means, covariances=covariances, weights=weights).build((1,))


def measured(module, sampler):
    view = FakeView(spec=viewed_spec(chain_sampler=sampler), module=module)
    return SamplingError().measure(view)


def gaussian_tv(one, other):
    """Of two Gaussians with mean and deviation, by the points where their densities cross."""
    (m, s), (n, r) = one, other
    a, b = 1 / s**2 - 1 / r**2, -2 * (m / s**2 - n / r**2)
    c = m**2 / s**2 - n**2 / r**2 + 2 * math.log(s / r)
    root = math.sqrt(b * b - 4 * a * c)
    cuts = sorted([(-b - root) / (2 * a), (-b + root) / (2 * a)])

    def between(mean, std):
        low, high = (0.5 * math.erfc((mean - cut) / (std * math.sqrt(2))) for cut in cuts)
        return high - low

    return abs(between(m, s) - between(n, r))


def gaussian_kl(of, to):
    (m, s), (n, r) = of, to
    return math.log(r / s) + (s * s + (m - n) ** 2) / (2 * r * r) - 0.5


def moments(module, sampler, mean, variance):
    """Of a chain on Gaussian data, whose steps are affine: read off the sampler's own steps, without their noise and
    with a noise of one."""
    energy = Energy(module)
    state = sampler.init(energy, torch.zeros(2, 1), generator(0))
    for _ in range(sampler.steps):
        moved, _ = sampler.step(energy, state._replace(x=torch.tensor([[0.0], [1.0]])), _Still(0.0))
        shifted, _ = sampler.step(energy, state._replace(x=torch.zeros(2, 1)), _Still(1.0))
        shift, factor = float(moved.x[0]), float(moved.x[1] - moved.x[0])
        spread = float(shifted.x[0]) - shift
        mean, variance = shift + factor * mean, factor**2 * variance + spread**2
        state = moved
    return mean, math.sqrt(variance)


class _Still:
    """In place of a generator: every normal number is this one."""

    def __init__(self, value):
        self.value = value


@pytest.fixture(autouse=True)
def _scripted(monkeypatch):
    before = torch.Tensor.normal_

    def normal_(self, mean=0.0, std=1.0, *, generator=None):
        if isinstance(generator, _Still):
            return self.fill_(mean + std * generator.value)
        return before(self, mean, std, generator=generator)

    monkeypatch.setattr(torch.Tensor, "normal_", normal_)


@integrators
@pytest.mark.parametrize("spacing", ["time", "log_snr"])
@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_of_gaussian_data_it_is_the_closed_form(schedule, spacing, integrator):
    """Chains stay Gaussian, with moments that follow from the sampler's steps; both distances to 1e-5 of themselves."""
    module = mixture(schedule, ((1.5,),), (0.4,), (1.0,))
    sampler = ReverseSDE(schedule=schedule, steps=6, integrator=integrator, spacing=spacing, denoise=False)
    found = measured(module, sampler)

    def noised(t, of=schedule):
        a, n = (float(value) for value in of.at(torch.tensor(t)))
        return 1.5 * a, math.sqrt(0.4 * a * a + n * n)

    exact, std = noised(schedule.earliest), schedule.prior_std()
    law = moments(module, sampler, 0.0, std**2)
    assert found["sampling_tv"] == pytest.approx(gaussian_tv(law, exact), rel=1e-3)
    assert found["sampling_kl"] == pytest.approx(gaussian_kl(exact, law), rel=1e-6)
    start = noised(schedule.horizon)
    assert found["sampling_tv_start"] == pytest.approx(gaussian_tv(start, (0.0, std)), rel=1e-3)
    errors = []
    for steps in (6, 12, 24):
        finer = dataclasses.replace(sampler, steps=steps)
        errors.append(gaussian_tv(moments(module, finer, start[0], start[1] ** 2), exact))
    assert found["sampling_tv_step"] == pytest.approx(errors[0], rel=1e-3)
    assert found["sampling_slope_step"] == pytest.approx(math.log(errors[0] / errors[2]) / math.log(4), abs=2e-3)


@integrators
def test_of_a_mixture_it_is_the_law_of_the_samplers_chains(integrator):
    """100,000 chains against the density on the grid, at a false-alarm rate of 1e-6."""
    module = mixture(OU)
    sampler = ReverseSDE(schedule=OU, steps=8, integrator=integrator, spacing="time", denoise=False)
    law = final_law(module, sampler, 8, "prior")
    mass = law.p * law.spacing
    cumulated = mass.cumsum(0) - mass / 2

    def cdf(x):
        place = ((x - law.x[0]) / law.spacing).clamp(0, len(law.x) - 1.001)
        left = place.long()
        return cumulated[left] + (place - left) * (cumulated[left + 1] - cumulated[left])

    chains = run_chain(sampler, module, torch.zeros(100_000, 1), generator(1)).x.flatten()
    assert_follows([(chains, cdf)])
    assert total_variation(law, Law(law.x, density(module, law.x, OU.earliest))) > 0.1  # far from the data indeed


@integrators
def test_the_slopes_are_those_of_the_bound(integrator):
    module = mixture(VP(beta_min=2.0, beta_max=2.0, horizon=4.0, earliest=0.1))
    found = measured(module, ReverseSDE(schedule=module.schedule, steps=30, integrator=integrator, spacing="time"))
    assert found["sampling_slope_horizon"] == pytest.approx(-1, abs=0.01)
    assert found["sampling_slope_step"] == pytest.approx(1, abs=0.1)
    assert found["sampling_tv"] <= found["sampling_tv_start"] + found["sampling_tv_step"]
    assert found["sampling_kl"] >= 2 * found["sampling_tv"] ** 2  # Pinsker
    assert tuple(found) == SamplingError().results()


def test_centred_data_become_noise_twice_as_fast_and_units_of_time_do_not_matter():
    module = mixture(OU, ((-1.0,), (1.0,)), (0.3,), (1.0, 1.0))
    sampler = ReverseSDE(schedule=OU, steps=4, spacing="time")
    assert measured(module, sampler)["sampling_slope_horizon"] == pytest.approx(-2, abs=0.05)
    wide = Cosine(sigma_max=5.0, sigma_min=0.2)
    found = measured(mixture(wide), ReverseSDE(schedule=wide, steps=4))
    assert found["sampling_slope_horizon"] == pytest.approx(0, abs=1e-6)


def test_a_finer_grid_changes_nothing(monkeypatch):
    """Coarse steps between narrow modes, where a step tears neighbours apart."""
    module = mixture(OU, ((-2.0,), (2.0,)), (0.05,), (1.0, 1.0))
    sampler = ReverseSDE(schedule=OU, steps=3, spacing="time")

    def law():
        found = final_law(module, sampler, 3, "exact")
        return total_variation(found, Law(found.x, density(module, found.x, OU.earliest)))

    coarse = law()
    monkeypatch.setattr("ebmkit.components.metrics.sampling_error.DENSE", 3.0)
    monkeypatch.setattr("ebmkit.components.metrics.sampling_error.REACH", 12.0)
    assert law() == pytest.approx(coarse, rel=1e-3)


def test_lost_mass_is_an_error(monkeypatch):
    monkeypatch.setattr("ebmkit.components.metrics.sampling_error.REACH", 3.0)
    with pytest.raises(Unmeasurable, match="was lost in 4 steps"):
        measured(mixture(OU), ReverseSDE(schedule=OU, steps=4, spacing="time"))


def test_distances_and_slopes_by_hand():
    x = torch.linspace(-12, 14, 20_001)
    one, other = (
        Law(x, (-((x - m) / s).square() / 2).exp() / (s * math.sqrt(2 * math.pi))) for m, s in ((0.0, 1.0), (1.0, 1.5))
    )
    assert total_variation(one, other) == pytest.approx(gaussian_tv((0.0, 1.0), (1.0, 1.5)), abs=1e-6)
    assert kl_divergence(one, other) == pytest.approx(gaussian_kl((0.0, 1.0), (1.0, 1.5)), abs=1e-10)
    shifted = Law(x, one.p.roll(1000))
    exact = 2 * float(normal_cdf(torch.tensor(1000 * one.spacing / 2))) - 1
    assert total_variation(one, shifted) == pytest.approx(exact, abs=1e-6)
    assert slope([1.0, 2.0, 4.0], [math.exp(3 - 0.5 * t) for t in (1, 2, 4)]) == pytest.approx(-0.5)
    with pytest.raises(ValueError, match="error is zero"):
        slope([1.0, 2.0], [0.1, 0.0])


def test_what_it_cannot_work_out_is_refused():
    noise = {"use": "vp"}
    spec = {
        "ebmkit": 1,
        "model": {"use": "noised_mixture", "schedule": noise, "means": [[-1], [1]]},
        "sampler": {"use": "reverse_sde", "schedule": noise},
        "evaluate": ["sampling_error"],
    }
    load_spec(spec)
    other = {"use": "probability_flow_ode", "schedule": noise}
    with pytest.raises(
        Mistakes, match="computes the chains of sampler 'reverse_sde', but the spec uses sampler 'probability_flow_ode'"
    ):
        load_spec({**spec, "sampler": other})
    with pytest.raises(Mistakes, match="one coordinate, but a state has 2"):
        load_spec({**spec, "model": {"use": "noised_mixture", "schedule": noise}})
    with pytest.raises(Mistakes, match="exact score of model 'noised_mixture'"):
        load_spec({**spec, "data": "two_moons", "model": {"use": "mlp_score", "schedule": noise}})


def test_more_than_two_modes_keep_their_mass():
    plan = ebmkit.load_spec(
        {
            "ebmkit": 1,
            "model": {
                "use": "noised_mixture",
                "means": [[-1], [0], [1]],
                "schedule": {"use": "vp", "beta_min": 2.0, "beta_max": 2.0, "horizon": 3.0, "earliest": 0.1},
            },
            "sampler": {
                "use": "reverse_sde",
                "schedule": {"use": "vp", "beta_min": 2.0, "beta_max": 2.0, "horizon": 3.0, "earliest": 0.1},
                "steps": 5,
                "spacing": "time",
            },
            "samples": 10,
            "evaluate": ["sampling_error"],
        }
    )
    from ebmkit.engine.sampling import view_of

    view = view_of(plan, None)
    assert 0 < plan.spec.evaluate[0].measure(view)["sampling_tv"] < 1


def test_a_part_that_samples_never_reach_has_no_divergence():
    spec = {
        "ebmkit": 1,
        "model": {"use": "noised_mixture", "means": [[0.0]]},
        "sampler": "reverse_sde",
        "evaluate": ["sampling_error"],
    }
    plan = load_spec(spec)
    with pytest.raises(Unmeasurable, match="use more steps, or a longer horizon"):
        plan.spec.evaluate[0].measure(view_of(plan, None))
