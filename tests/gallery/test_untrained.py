"""A claim about training fails without it: after one step, every trained spec finds its claim unmet."""

from pathlib import Path

import pytest

import ebmkit

GALLERY = sorted((Path(__file__).parents[2] / "specs/gallery").glob("*.yaml"))
#: Its only step solves the normal equations: there is nothing more to train.
SOLVED = {"exponential-family-closed"}
#: A few that are quick, of several kinds.
BRIEF = {
    "adaptive-k1-mle",
    "contrastive-divergence-evolution",
    "density-stein",
    "exponential-family-trained",
    "gradient-magnitude-spectral",
    "line-sliced-noise",
    "rejuvenation-25",
    "score-far-modes",
    "score-rare-regions",
    "tweedie-denoising",
}


def trained():
    """The specs that train, with the marks of their tests."""
    for path in GALLERY:
        if ebmkit.load_spec(path).spec.stages and path.stem not in SOLVED:
            yield pytest.param(path, id=path.stem, marks=[] if path.stem in BRIEF else pytest.mark.long)


def one_step(spec):
    """What sets a single step, of every stage if there is a list of them."""
    stages = ebmkit.load_spec(spec).spec.stages
    is_list = "\ntrain:\n  - " in spec.read_text()
    return [f"train.{stage}.steps=1" for stage in range(len(stages))] if is_list else ["train.steps=1"]


@pytest.mark.parametrize("spec", [*trained()])
def test_its_claim_is_unmet_after_one_step(spec, tmp_path):
    few = [] if ebmkit.load_spec(spec).spec.samples <= 1000 else ["samples=1000"]  # as much as a claim needs
    plan = ebmkit.load_spec(spec, sets=[*one_step(spec), "samples_every=null", *few])
    record = ebmkit.run(plan, runs_dir=tmp_path, report=False)
    assert not record.failed
    assert record.unmet, f"the claim holds without learning: {record.results}"


def test_what_is_quick_is_in_the_gallery():
    assert {path.stem for path in GALLERY} >= BRIEF | SOLVED
