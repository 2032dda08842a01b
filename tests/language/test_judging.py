"""Which chains judge a model whose spec has no sampler, and that the resolved spec says so."""

from __future__ import annotations

import pytest

from ebmkit import load_spec
from ebmkit.components.inits.noise import NoiseStart
from ebmkit.components.inits.training import TrainingStart
from ebmkit.components.samplers.langevin import Langevin
from ebmkit.engine.telling.chain_words import chain_words
from ebmkit.errors import Mistakes
from ebmkit.errors.source import Source
from ebmkit.language.judging import LONGEST
from ebmkit.language.plan import resolved_yaml

SPEC = {"ebmkit": 1, "name": "judged", "data": "two_moons", "model": "mlp", "objective": "mle", "train": {"steps": 3}}

#: An objective of a plugin that draws with a sampler and says nothing about where its chains start.
PLUGIN = '''
from ebmkit.api import Loss, Objective, Sampler, component
from ebmkit.components.samplers.langevin import Langevin


@component("mine")
class Mine(Objective):
    """An objective with a sampler."""

    sampler: Sampler = Langevin(steps=7)

    def traits(self):
        return super().traits()._replace(sampler=self.sampler)

    def loss(self, model, batch, context):
        return Loss(model(batch).mean(), {})
'''

#: Added to it: the sampler announces this number of evaluations.
SAMPLER = '''

@component("costly")
class Costly(Langevin):
    """Langevin steps at a price."""

    def traits(self):
        return super().traits()._replace(evaluations=%s)
'''
COSTLY = {"use": "own.mine", "sampler": {"use": "own.costly", "steps": 7}}


def mle(**changes):
    return {"use": "mle", **changes}


def replay(**changes):
    return mle(init={"use": "replay", **changes})


UNIFORM = {"use": "noise", "distribution": "uniform", "scale": 2.0}


@pytest.mark.parametrize(
    ("objective", "steps", "init"),
    [
        ("mle", LONGEST, NoiseStart()),
        ("jem", LONGEST, NoiseStart()),
        (replay(rejuvenation=0.1), 200, NoiseStart()),
        (replay(rejuvenation=1.0), 20, NoiseStart()),
        (replay(rejuvenation=0.0), LONGEST, NoiseStart()),
        (replay(rejuvenation=0.1, restart=UNIFORM), 200, NoiseStart(distribution="uniform", scale=2.0)),
        (replay(rejuvenation=0.1, restart="data"), LONGEST, NoiseStart()),
        (mle(init="data"), LONGEST, NoiseStart()),
        (mle(init=UNIFORM), 20, NoiseStart(distribution="uniform", scale=2.0)),
        (mle(init="persistent"), LONGEST, NoiseStart()),
        (mle(sampler={"use": "langevin", "steps": 3000}), 3000, NoiseStart()),
        (mle(sampler={"use": "hmc", "steps": 5, "leapfrog_steps": 10}, init="persistent"), 100, NoiseStart()),
        (mle(sampler={"use": "nuts", "steps": 5}, init="persistent"), 5, NoiseStart()),
        ("adaptive_nce", LONGEST, NoiseStart()),
        ("adaptive_bregman", LONGEST, NoiseStart()),
    ],
    ids=str,
)
def test_chains_are_as_long_as_those_of_training_live_and_start_where_these_begin(objective, steps, init):
    spec = {**SPEC, "objective": objective}
    if objective == "jem":
        spec |= {"data": "digits", "model": {"use": "classifier", "classes": 10}}
    plan = load_spec(spec)
    assert plan.spec.sampler is plan.chain_sampler
    assert plan.spec.sampler.steps == plan.resolved["sampler"]["steps"] == steps
    assert plan.spec.init == init
    assert plan.resolved["init"]["distribution"] == init.distribution
    tuned = f", of which {plan.spec.tuning_steps} tune it" if plan.spec.tuning_steps else ""
    length = f"{steps:,} steps from noise{tuned}"
    assert chain_words(plan.spec) == f"{plan.spec.sampler.component_name}: 10,000 chains of {length}"


@pytest.mark.parametrize(("evaluations", "steps"), [(0, LONGEST), (0.5, LONGEST), (300.0, 7), (100, 10), (10**6, 7)])
def test_whatever_number_of_evaluations_a_sampler_of_a_plugin_announces(tmp_path, evaluations, steps):
    (tmp_path / "own.py").write_text(PLUGIN + SAMPLER % evaluations)
    plan = load_spec({**SPEC, "objective": COSTLY}, plugins=[str(tmp_path / "own.py")])
    assert plan.spec.sampler.steps == steps


@pytest.mark.parametrize("evaluations", ["-1", "float('nan')", "float('inf')", "'many'", "True"])
def test_an_odd_number_of_evaluations_is_refused(tmp_path, evaluations):
    (tmp_path / "own.py").write_text(PLUGIN + SAMPLER % evaluations)
    with pytest.raises(Mistakes, match=r"'evaluations' is .*, but it must be a finite number that is not negative"):
        load_spec({**SPEC, "objective": COSTLY}, plugins=[str(tmp_path / "own.py")])


def test_a_sampler_that_updates_one_unit_after_the_other_is_bounded_in_sweeps():
    """1000 evaluations in total would be 55 sweeps of 3 x 3 units, and less than one of an image."""
    spins = {"data": {"use": "from_model", "model": {"use": "ising", "shape": [3, 3]}}}
    objective = mle(sampler={"use": "gibbs", "steps": 2}, init="persistent")
    plan = load_spec({**SPEC, **spins, "model": {"use": "boltzmann", "values": "spin"}, "objective": objective})
    assert plan.spec.sampler.steps == 500


def test_the_resolved_spec_is_the_same_experiment():
    objective = replay(rejuvenation=0.1, restart="$start")
    plan = load_spec({**SPEC, "objective": objective, "parts": {"start": UNIFORM}})
    again = load_spec(Source("resolved.yaml", resolved_yaml(plan)))
    assert again.hash == plan.hash
    assert again.spec == plan.spec
    assert again.resolved == plan.resolved


def test_every_value_says_why():
    plan = load_spec(SPEC)
    assert plan.origins["sampler", "jump"] == "that of objective 'mle'"
    assert plan.origins["sampler", "steps"] == (
        "objective 'mle' continues its chains of 20 steps 1000 times on average, at most 1000"
    )
    short = load_spec({**SPEC, "objective": replay(rejuvenation=0.25)}).origins["sampler", "steps"]
    assert short == "objective 'mle' continues its chains of 20 steps 4 times on average"
    assert plan.origins["init", "use"] == "where objective 'mle' starts new chains"
    endless = load_spec({**SPEC, "objective": mle(init="persistent")}).origins["sampler", "steps"]
    assert endless == "objective 'mle' continues its chains of 20 steps without end, at most 1000"
    at_data = load_spec({**SPEC, "objective": mle(init="data")}).origins
    assert at_data["sampler", "steps"] == "objective 'mle' starts no chains from noise: 1000 steps"
    assert at_data["init", "use"] == "default"


def test_what_the_spec_says_stays():
    own = load_spec({**SPEC, "sampler": {"use": "langevin", "steps": 5}})
    assert (own.spec.sampler, own.spec.init) == (Langevin(steps=5), NoiseStart())
    wide = load_spec({**SPEC, "init": {"use": "noise", "scale": 3.0}})
    assert (wide.spec.sampler.steps, wide.spec.init) == (LONGEST, NoiseStart(scale=3.0))
    kept = load_spec({**SPEC, "init": "training"})
    assert (kept.spec.sampler.steps, kept.spec.init) == (20, TrainingStart())
    assert chain_words(kept.spec).endswith("of 20 steps from training")
    none = load_spec({**SPEC, "objective": "nce"})
    assert chain_words(none.spec).startswith("mixed_mala: ")  # see test_default_sampler.py


def test_an_error_of_these_chains_is_reported_at_the_objective():
    text = "ebmkit: 1\ndata: two_moons\nmodel: mlp\nobjective:\n  use: mle\n  sampler: langevin\n  init: replay\n"
    plan = load_spec(Source("a.yaml", text + "train: {steps: 3}\n"))
    assert plan.place(("sampler",)).line == 6
    assert plan.place(("sampler", "steps")).line == 6
    assert plan.place(("init",)).line == 7


def test_an_objective_of_a_plugin_is_judged_from_noise_too(tmp_path):
    (tmp_path / "own.py").write_text(PLUGIN)
    plan = load_spec({**SPEC, "objective": "own.mine"}, plugins=[str(tmp_path / "own.py")])
    assert (plan.spec.sampler.steps, plan.spec.init) == (LONGEST, NoiseStart())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"objective": "nce", "sampler": "langevin"}, "but the objective keeps none"),
        ({"objective": mle(init="noise")}, "but the objective keeps none"),
        ({"objective": replay(rejuvenation=1.0)}, "but the objective keeps none"),
        ({"objective": mle(init="training")}, "so it cannot start them"),
        (
            {"objective": replay(size=300), "sampler": "langevin", "chains": {"count": 400}},
            "which are 300, but 'chains' needs 400",
        ),
    ],
    ids=str,
)
def test_chains_of_training_that_do_not_exist_cannot_be_continued(changes, message):
    with pytest.raises(Mistakes) as caught:
        load_spec({**SPEC, "init": "training", **changes})
    assert all(mistake.code == "E209" for mistake in caught.value.mistakes)
    assert any(message in mistake.message for mistake in caught.value.mistakes)


def test_without_training_there_are_no_chains_to_continue():
    with pytest.raises(Mistakes, match="continues the chains of training, but the objective keeps none"):
        load_spec({"ebmkit": 1, "model": {"use": "gaussian", "mean": [0.0]}, "sampler": "langevin", "init": "training"})
