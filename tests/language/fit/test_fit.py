"""Components that do not fit each other are refused with both places."""

from ebmkit.language.load import load_spec
from tests.language.specs import SMALL, SPINS, TRAINED, mistakes_of


def test_a_metric_for_other_states_is_refused_with_both_places(tmp_path):
    plugin = tmp_path / "lab.py"
    plugin.write_text(SPINS)
    text = "ebmkit: 1\nmodel: lab.spins\nsampler: lab.flip\nevaluate: [lab.real_only]\n"
    (mistake,) = mistakes_of(text, tmp_path, plugins=[str(plugin)])
    assert (mistake.code, mistake.place.line, mistake.other.line) == ("E201", 4, 2)


def test_a_buffer_as_large_as_a_batch_will_do_and_evaluation_has_no_batch(tmp_path):
    path = tmp_path / "spec.yaml"
    replay = "{use: replay, size: 256}"
    path.write_text(TRAINED.replace("objective: mle", f"objective: {{use: mle, init: {replay}}}"))
    assert load_spec(path)
    path.write_text(TRAINED + "sampler: langevin\ninit: {use: replay, size: 100}\n")
    assert load_spec(path)


def test_the_other_place_of_a_misfit_is_that_of_what_it_does_not_fit(tmp_path):
    noise = "objective: {use: nce, noise: {use: gaussian, mean: [0, 0, 0], covariance: [1, 1, 1]}}"
    (mistake,) = mistakes_of(TRAINED.replace("objective: mle", noise), tmp_path)
    assert (mistake.code, mistake.other.line) == ("E202", 3)  # the data, which fix the shape
    (mistake,) = mistakes_of("ebmkit: 1\nmodel: mlp\ndata: two_moons\nsampler: exact\n", tmp_path)
    assert (mistake.code, mistake.other.line) == ("E204", 2)


def test_a_misspelt_measurement_is_answered(tmp_path):
    (mistake,) = mistakes_of(SMALL + "evaluate: [mmd]\nexpect: [{metric: mdm, below: 1}]\n", tmp_path)
    assert mistake.label == "did you mean 'mmd'?"
