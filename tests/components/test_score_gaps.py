"""What a second reader of the score-based part found, one test each."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from click.testing import CliRunner

import ebmkit
from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import frozen
from ebmkit.chains.ode import solve_ode
from ebmkit.cli import group
from ebmkit.components.metrics.ode_log_likelihood import ODELogLikelihood
from ebmkit.components.models.mlp_score import MLPScore
from ebmkit.components.models.nets.conditional import Labelled
from ebmkit.components.models.noised_mixture import NoisedMixtureModel
from ebmkit.components.objectives.noised_batch import even_shares
from ebmkit.components.samplers.annealed_langevin import AnnealedLangevin
from ebmkit.components.schedules.geometric import Geometric
from ebmkit.components.schedules.ve import VE
from ebmkit.components.schedules.vp import VP
from ebmkit.errors import EbmkitError, Mistakes
from ebmkit.suggest.levels import suggest, width_behind


def rng(seed=0):
    return torch.Generator().manual_seed(seed)


def test_with_its_defaults_annealed_langevin_leaves_the_width_of_a_gaussian():
    """4,000 chains know a standard deviation to 0.8 % at 1e-6 in two coordinates; 6 % are allowed."""
    schedule = Geometric(sigma_max=8.0)
    module = NoisedMixtureModel(schedule=schedule, means=((0.0, 0.0),)).build((2,))
    x = run_chain(AnnealedLangevin(schedule=schedule), module, torch.zeros(4000, 2), rng()).x
    assert 0.94 < float(x.std()) < 1.06


@pytest.mark.parametrize(("steps", "size"), [(31, 0.09), (100, 0.1), (7, 0.3), (1, 0.02)])
def test_the_width_that_is_foretold_is_that_of_chains(steps, size):
    """Over 20,000 chains in two coordinates a variance has a standard error of 0.7 %; five of them are allowed."""
    schedule = Geometric(sigma_max=6.0, sigma_min=0.05, count=8)
    gamma = (6.0 / 0.05) ** (1 / 7)
    module = NoisedMixtureModel(schedule=schedule, means=((0.0, 0.0),)).build((2,))
    sampler = AnnealedLangevin(schedule=schedule, steps_per_level=steps, step_size=size * 0.05**2, denoise=False)
    x = run_chain(sampler, module, torch.zeros(20_000, 2), rng()).x
    foretold = width_behind(gamma, 6.0, 8, 1.0, steps, size) * (1 + 0.05**2)
    assert float(x.var()) == pytest.approx(foretold, rel=0.035)


def test_steps_that_are_suggested_leave_wide_data_nearly_as_wide_as_they_are():
    found = suggest(torch.randn(2000, 2, generator=rng(), dtype=torch.float64), image=False)
    assert 1 < found.width <= 1.1
    size = found.step_size / found.sigma_min**2
    again = width_behind(found.ratio, found.sigma_max, found.count, found.deviation, found.steps_per_level, size)
    assert again == pytest.approx(found.width, rel=0.01)  # but for the three digits that are printed


@pytest.mark.parametrize("schedule", [Geometric(sigma_max=4.0), VE(sigma_max=4.0), VP(horizon=0.5)])
@pytest.mark.parametrize("labelled", [False, True])
def test_chains_begin_around_the_data(schedule, labelled):
    """10,000 starts know a mean to 0.05 sigma at 1e-6."""
    module = MLPScore(schedule=schedule, hidden=(4,), classes=2 if labelled else None).build((2,))
    module.meet(50 + torch.randn(500, 2, generator=rng()), torch.arange(500) % 2)
    seen = Labelled(module, torch.zeros(10_000, dtype=torch.long)) if labelled else module
    with frozen(seen) as energy:
        x = energy.noise(torch.zeros(10_000, 2), rng(1))
    signal = 1.0 if schedule.conditioning == "sigma" else float(schedule.at(torch.tensor(schedule.horizon))[0])
    assert torch.allclose(x.mean(0), signal * module.center, atol=0.06 * schedule.prior_std())
    assert float(x.std(0).mean()) == pytest.approx(schedule.prior_std(), rel=0.05)


def test_all_levels_are_trained_in_half_precision_too():
    batch, generator = torch.zeros(128, 2, dtype=torch.bfloat16), rng()
    shares = torch.cat([even_shares(batch, generator) for _ in range(300)])
    assert len((shares * 1000).long().unique()) == 1000


def test_a_step_that_leaves_the_domain_is_tried_again_shorter():
    """From 2.9 an Euler stage of the first step lands beyond 3, where there is no slope."""

    def field(t, y):
        return torch.where(y.abs() > 3, torch.nan, -50 * y)

    y = solve_ode(field, torch.tensor([[2.9]], dtype=torch.float64), 0.0, 1.0, 1e-8, 1000)
    assert float(y) == pytest.approx(2.9 * math.exp(-50), abs=1e-7)


def spec(**changes):
    return {
        "ebmkit": 1,
        "data": {"use": "eight_gaussians", "size": 64, "test_size": 64},
        "model": {"use": "mlp_score", "schedule": "vp", "hidden": [8]},
        "objective": "sde_score_matching",
        "train": {"steps": 3, "batch_size": 32},
        "sampler": {"use": "reverse_sde", "steps": 3},
        "samples": 50,
        "samples_every": None,
        **changes,
    }


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"init": "data"}, "E209", "begins at noise of its own"),
        ({"compile": True}, "E209", "'compile' compiles energies"),
        ({"evaluate": [{"use": "score_error", "target": {"use": "noised_mixture"}}]}, "E108", "takes a time beside x"),
    ],
)
def test_what_would_have_no_effect_or_fail_late_is_refused(changes, code, words):
    with pytest.raises(Mistakes) as refused:
        ebmkit.load_spec(spec(**changes))
    assert code in str(refused.value)
    assert words in str(refused.value)


def test_a_resolved_spec_with_a_default_start_is_not_refused(tmp_path):
    folder = ebmkit.run(spec(), runs_dir=tmp_path).folder
    assert ebmkit.load_spec(folder / "resolved.yaml").spec.init is not None


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


LABELLED = {"use": "mlp_score", "schedule": "vp", "hidden": [8], "classes": 12}


def test_samples_of_labels_are_kept_with_them(tmp_path):
    from safetensors.torch import load_file

    folder = ebmkit.run(spec(model=LABELLED), runs_dir=tmp_path).folder
    kept = load_file(folder / "samples/samples.safetensors")
    assert kept["y"].shape == (50,)
    assert set(kept["y"].tolist()) <= set(range(8))
    out = tmp_path / "x.npz"
    done = CliRunner().invoke(group, ["sample", str(folder), "-n", "7", "--condition", "3", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert np.load(out)["y"].tolist() == [3] * 7
    done = CliRunner().invoke(group, ["sample", str(folder), "--condition", "9", "--out", str(tmp_path / "no.npz")])
    assert done.exit_code == 2
    assert "no training point has label 9" in done.output
    assert not (tmp_path / "no.npz").exists()


def test_labels_of_held_out_points_are_checked_before_the_training(tmp_path):
    labels = np.zeros(100, dtype=np.int64)
    held_out = int(np.argmax((np.arange(100) / ((1 + 5**0.5) / 2)) % 1 < 0.2))
    labels[held_out] = 5
    np.savez(tmp_path / "points.npz", x=np.random.default_rng(0).normal(size=(100, 2)), y=labels)
    data = {"use": "npz", "path": str(tmp_path / "points.npz"), "y": "y"}
    with pytest.raises(EbmkitError, match="label 5"):
        ebmkit.run(spec(data=data, model={**LABELLED, "classes": 2}), runs_dir=tmp_path)


def test_the_name_of_a_frechet_distance_does_not_lie(tmp_path):
    plan = spec(
        data="digits",
        model={"use": "mlp_score", "schedule": "vp", "hidden": [8]},
        evaluate=[{"use": "fid", "samples": 5000}],
    )
    with pytest.raises(EbmkitError, match="1436 training points"):
        ebmkit.run(plan, runs_dir=tmp_path)


@pytest.mark.parametrize("schedule", [VE(sigma_max=4.0, sigma_min=0.05), VP(horizon=0.5)])
def test_the_likelihood_begins_where_samples_begin(schedule):
    """A network that has learnt nothing is a noised Gaussian, and the flow stretches around its mean: the law that it
    makes of the prior is Gaussian, around the mean of the data, with a variance in proportion to that of the prior."""
    module = MLPScore(schedule=schedule, hidden=(4,)).build((2,)).double()
    module.meet(50 + torch.randn(500, 2, generator=rng(), dtype=torch.float64))
    with torch.no_grad():
        for parameter in module.network.last.parameters():
            parameter.zero_()
    times = torch.tensor([schedule.earliest, schedule.horizon], dtype=torch.float64)
    signal, noise = schedule.at(times)
    early, late = signal.square() * module.scale.square() + noise.square()
    variance = early * schedule.prior_std() ** 2 / late / signal[0] ** 2
    x = 50 + torch.randn(20, 2, generator=rng(1), dtype=torch.float64)
    exact = torch.distributions.Normal(module.center, variance.sqrt()).log_prob(x).sum(1).detach()
    with frozen(module):
        found = ODELogLikelihood(tolerance=1e-9).log_prob(module, x, None, None)
    assert torch.allclose(found, exact, atol=1e-6)
