"""The verdict over chains: said in words, and warned of where it is bad."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pytest
import torch

from ebmkit import load_spec
from ebmkit.contracts.draws import Draws
from ebmkit.diagnostics.rhat import rhat
from ebmkit.engine.mixing import coordinate, findings, mixing, verdict
from ebmkit.language.sections import Train
from tests.drawn import run

SPEC = {
    "ebmkit": 1,
    "name": "mixing",
    "device": "cpu",
    "model": {"use": "gaussian", "mean": [0.0, 0.0]},
    "sampler": {"use": "metropolis", "scale": 1.5},
    "chains": {"count": 4, "burn_in": 0},
}


def independent(chains=4, draws=500, event=(2,), seed=0):
    rng = torch.Generator().manual_seed(seed)
    return torch.randn(chains, draws, *event, generator=rng, dtype=torch.float64)


def view_of(x, *, acceptance=0.5, divergence=None, sampler=None, thin=1, tuning=None):
    """Draws as a view would hand them out."""
    plan = load_spec({**SPEC, "sampler": sampler or SPEC["sampler"], "chains": {"count": len(x), "thin": thin}})
    seen = {
        "energy": x.flatten(2).square().sum(2) / 2,
        "acceptance": torch.full(x.shape[:2], acceptance, dtype=torch.float64),
        "divergence": torch.zeros(x.shape[:2]) if divergence is None else divergence,
    }
    draws = Draws(x, seen, x.shape[1], tuning or {})
    traces = {name: values.mean(0) for name, values in seen.items()}
    return SimpleNamespace(plan=plan, draws=draws, traces=traces, mixing=mixing(draws))


def test_chains_that_agree_are_told_so_and_nothing_is_warned_of():
    view = view_of(independent(), tuning={"step_size": torch.tensor(0.3125)})
    words = verdict(view)
    assert words.startswith("R-hat at most 1.00")
    assert "of 2,000 draws; no divergence; acceptance 0.50; step size 0.312 found by warm-up" in words
    assert findings(view) == []


def test_the_worst_is_found_among_coordinates_and_energy():
    x = independent()
    x[0, :, 1] += 1.0
    found = mixing(view_of(x).draws)
    worst, where = found.largest("rhat")
    assert where == "x[1]"
    assert worst == float(rhat(x)[1])
    x[:, :, 0] = 2.0  # what never moved has no figures, and does not hide those of others
    still = mixing(view_of(x).draws)._replace(energy=None)
    assert still.largest("rhat") == (float(rhat(x)[1]), "x[1]")
    assert still.largest("ess_bulk", -1)[1] == "x[1]"
    x = independent()
    x[0] *= 3.0  # both coordinates keep their mean
    assert mixing(view_of(x).draws).largest("rhat")[1] == "energy"


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda x: x[0, :, 1].add_(1.0), "R-hat is 1."),
        (lambda x: x[:, :, 0].fill_(2.0), "1 of 2 coordinates never moved: x[0]"),
        (lambda x: x.copy_(x[:, :1] + torch.arange(4.0).view(4, 1, 1)), "R-hat is inf"),
        (lambda x: x.copy_(x.cumsum(1)), "the bulk ESS is "),
    ],
    ids=["a chain elsewhere", "a coordinate that never moved", "chains that never moved", "a walk without end"],
)
def test_what_is_wrong_with_the_draws_is_warned_of(spoil, told):
    x = independent()
    spoil(x)
    assert any(told in line for line in findings(view_of(x))), findings(view_of(x))


def test_few_effective_draws_are_warned_of_by_their_number_and_place():
    (line,) = [line for line in findings(view_of(independent(draws=60))) if "ESS" in line]
    least, where = mixing(view_of(independent(draws=60)).draws).largest("ess_bulk", -1)
    assert line.startswith(f"the bulk ESS is {least:,.0f} at {where}, below the recommended 400")
    # A single chain cannot have four hundred, nor do a hundred chains need ten thousand.
    assert findings(view_of(independent(chains=1, draws=400))) == []
    assert not [line for line in findings(view_of(independent(chains=50, draws=40))) if "ESS" in line]


def test_tails_are_judged_too():
    x = independent(draws=2000)
    x *= torch.where(torch.arange(2000) // 250 == 3, 3.0, 0.3).view(1, -1, 1)  # signs are fresh, sizes are not
    view = view_of(x)
    view.mixing = view.mixing._replace(energy=None)
    assert float(view.mixing.coordinates.ess_bulk.min()) > 400
    assert [line[:12] for line in findings(view) if "ESS" in line] == ["the tail ESS"]


def test_divergences_are_counted_in_steps():
    divergence = torch.zeros(4, 500)
    divergence[1, 7], divergence[2, 9] = 1 / 3, 2 / 3  # one and two of the three steps to a draw
    view = view_of(independent(), divergence=divergence, thin=3)
    assert "3 of 6,000 steps diverged" in verdict(view)
    assert findings(view)[0].startswith("3 of 6,000 steps diverged")


@pytest.mark.parametrize(
    ("sampler", "acceptance", "slow", "told"),
    [
        ("metropolis", 0.02, False, "only 2.0% of the proposals are accepted"),
        ("metropolis", 0.3, False, ""),
        ("metropolis", 0.99, True, "99.0% of the proposals are accepted"),
        ("metropolis", 0.99, False, ""),  # independent proposals may be that good
        ("hmc", 0.4, False, "only 40.0%"),
        ("hmc", 0.85, False, ""),
        ("hmc", 0.99, False, "99.0% of the proposals"),
        ("mala", 0.4, False, ""),
        ("mala", 0.3, False, "only 30.0%"),
        ("mixed_mala", 0.1, False, ""),  # its step sizes vary
        ("mixed_mala", 0.99, True, ""),
    ],
)
def test_acceptance_has_a_band(sampler, acceptance, slow, told):
    x = independent(draws=4000)
    if slow:
        for draw in range(1, x.shape[1]):
            x[:, draw] = 0.95 * x[:, draw - 1] + (1 - 0.95**2) ** 0.5 * x[:, draw]
    found = [line for line in findings(view_of(x, acceptance=acceptance, sampler=sampler)) if "accepted" in line]
    assert [line.startswith(told) for line in found] == ([True] if told else [])


def test_what_cannot_be_judged_is_said():
    assert verdict(view_of(independent(draws=3))).startswith("12 draws are too few to diagnose convergence")
    assert findings(view_of(independent(draws=3)))[0].startswith(
        "3 states per chain are too few to diagnose convergence"
    )
    assert findings(view_of(independent(draws=1)))[0].startswith("1 state per chain is too few to diagnose")
    assert verdict(view_of(independent(chains=1))).startswith("R-hat needs a second chain; smallest bulk ESS")


def test_chains_that_keep_their_ends_are_judged_by_their_rates_and_training_is_not():
    plan = load_spec({**SPEC, "chains": None, "samples": 10})
    traces = {"acceptance": torch.full((1000,), 0.01), "divergence": torch.tensor([0.0, 0.5])}
    view = SimpleNamespace(plan=plan, draws=None, traces=traces, mixing=None)
    assert "each sample is the last state of a separate chain of 1,000 steps from noise; set 'chains:'" in verdict(view)
    assert "25.00% of the steps diverged; acceptance 0.01" in verdict(view)
    assert len(findings(view)) == 2
    view.plan = dataclasses.replace(plan, spec=dataclasses.replace(plan.spec, train=Train(steps=1)))
    (diverged,) = findings(view)  # acceptance is that of training, but a divergence is always said
    assert diverged.startswith(
        "25.00% of the steps diverged and were rejected: the energy was not finite, or its error"
    )
    assert "use a smaller 'scale' of sampler 'metropolis'" in diverged
    assert "target_acceptance" not in diverged  # which it does not have
    view.traces = {"acceptance": torch.full((1000,), 0.01), "divergence": torch.zeros(2)}
    assert (verdict(view), findings(view)) == ("", [])


def test_draws_without_chains_steps_or_energies_have_no_verdict():
    view = SimpleNamespace(
        plan=load_spec({**SPEC, "sampler": "exact", "chains": None}), draws=None, traces={}, mixing=None
    )
    assert (verdict(view), findings(view)) == ("", [])


@pytest.mark.parametrize(
    ("event", "index", "name"), [((1,), 0, "x"), ((5,), 3, "x[3]"), ((1, 2, 3), 4, "x[0, 1, 1]"), ((1, 1), 0, "x")]
)
def test_names_of_coordinates(event, index, name):
    assert coordinate(event, index) == name


def test_a_run_says_its_verdict_and_keeps_its_warnings(tmp_path):
    said = []

    class Listener:
        def __getattr__(self, name):
            return (lambda line: said.append(line)) if name == "say" else lambda *_: None

    plan = load_spec({**SPEC, "samples": 40})
    record = run(plan, runs_dir=tmp_path, progress=Listener())
    (line,) = [line for line in said if line.startswith("chains     ")]
    assert "of 40 draws; no divergence; acceptance 0." in line
    assert any("ESS" in warning for warning in record.warnings)
    assert [f"warning: {warning}" for warning in record.warnings] == [
        word for word in said if word.startswith("warning")
    ]
    log = (record.folder / "log.txt").read_text()
    assert line in log
    page = (record.folder / "report.html").read_text()
    assert line.removeprefix("chains     ") in page
    assert record.warnings[0] in page


def test_a_trained_model_with_long_chains_is_judged_too(tmp_path, undrawn):
    spec = {
        **SPEC,
        "data": {"use": "two_moons", "size": 100, "test_size": 100},
        "model": {"use": "mlp", "hidden": [4]},
        "objective": "nce",
        "train": {"steps": 2, "batch_size": 16},
        "samples": 80,
    }
    record = run(load_spec(spec), runs_dir=tmp_path)
    assert record.status == "finished"
    assert "chains     R-hat at most" in (record.folder / "log.txt").read_text()
