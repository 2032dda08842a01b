"""The gallery: every spec in it states a claim, and finds it true."""

from pathlib import Path

import pytest

import ebmkit

GALLERY = sorted((Path(__file__).parents[2] / "specs/gallery").glob("*.yaml"))
#: Those that take a few seconds.
BRIEF = {"hmc-correlated-gaussian", "reverse-ou-error", "reverse-sde-far-modes"}

each = pytest.mark.parametrize("spec", GALLERY, ids=lambda path: path.stem)


@each
def test_a_spec_states_its_claim_and_checks_it(spec):
    assert spec.read_text().startswith("# Claim"), "a reader wants to know what is claimed, and by whom"
    assert ebmkit.load_spec(spec).spec.expect


@pytest.mark.parametrize(
    "spec",
    [pytest.param(path, id=path.stem, marks=[] if path.stem in BRIEF else pytest.mark.long) for path in GALLERY],
)
def test_its_claim_holds(spec, tmp_path):
    record = ebmkit.run(ebmkit.load_spec(spec), runs_dir=tmp_path)
    assert not record.mistakes, (record.results, record.mistakes)


@pytest.mark.long
@each
def test_its_claim_holds_with_another_seed(spec, tmp_path):
    record = ebmkit.run(ebmkit.load_spec(spec, sets=["seed=1"]), runs_dir=tmp_path)
    assert not record.mistakes, (record.results, record.mistakes)


def test_a_claim_that_is_wrong_is_found_out(tmp_path):
    """The claim of Langevin dynamics, made of a sampler that does keep the weights."""
    spec = next(path for path in GALLERY if path.stem == "langevin-far-modes")
    record = ebmkit.run(ebmkit.load_spec(spec, sets=["sampler=exact"]), runs_dir=tmp_path)
    assert len(record.unmet) == 2
