"""Specs that are right, a plugin, and what is wrong with a spec that is not right."""

import pytest

from ebmkit.errors import Mistakes
from ebmkit.language.load import load_spec

SMALL = "ebmkit: 1\nmodel: {use: gaussian, mean: [0, 0]}\ndata: two_moons\nsampler: exact\n"
TRAINED = "ebmkit: 1\nmodel: mlp\ndata: two_moons\nobjective: mle\ntrain: {steps: 5}\n"
#: The model of `score_spec`, with labels.
LABELLED_SCORE = {"use": "mlp_score", "schedule": "vp", "hidden": [8], "classes": 12}

SPINS = """
import dataclasses
from ebmkit.api import Metric, Model, Sampler, component

@component("spins")
class Spins(Model):
    \"\"\"Spins.\"\"\"
    space = "spin"
    offers = frozenset({"energy"})
    def event(self): return (2,)
    def build(self, event): ...

@component("flip")
class Flip(Sampler):
    \"\"\"Flips.\"\"\"
    spaces = frozenset({"spin"})
    needs = frozenset({"energy"})
    steps: int = 1
    def init(self, energy, x, rng): ...
    def step(self, energy, state, rng): ...

@component("real_only")
class RealOnly(Metric):
    \"\"\"Measures real states.\"\"\"
    spaces = frozenset({"real"})
    def results(self): return ("real_only",)
    def measure(self, view): ...
"""


def mistakes_of(text, tmp_path, **options):
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    with pytest.raises(Mistakes) as caught:
        load_spec(path, **options)
    return caught.value.mistakes


def score_spec(**changes):
    """A score network that is trained for three steps."""
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
