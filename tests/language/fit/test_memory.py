"""A spec that needs more memory than the machine has is refused with the number."""

import pytest

from ebmkit.components.optimizers.adam import Adam
from ebmkit.components.optimizers.sgd import SGD
from ebmkit.language.fit import memory
from ebmkit.language.load import load_spec
from tests.language.specs import mistakes_of


@pytest.fixture(autouse=True)
def small_machine(monkeypatch):
    """A machine of one gigabyte without a GPU."""
    monkeypatch.setattr(memory, "total_memory", lambda: 10**9)
    monkeypatch.setattr(memory, "may_have_gpu", lambda: False)


TRAINED = "ebmkit: 1\ndata: two_moons\nmodel: {use: mlp, hidden: [10000, 10000]}\nobjective: mle\ntrain: {steps: 1%s}\n"


def test_weights_gradients_optimizer_state_and_running_mean_are_counted(tmp_path):
    numbers = 10_000 * 10_000 + 2 * 10_000 + 10_000 + 10_000 + 10_000 + 1
    for train, copies in (("", 4), (", ema: 0.9", 5), (", optimizer: {use: sgd, momentum: 0.9}", 3)):
        (mistake,) = mistakes_of(TRAINED % train, tmp_path)
        assert (mistake.code, mistake.place.line) == ("E212", 3)
        said = f"model 'mlp' needs about {copies * 4 * numbers / 1e9:.1f} GB for its weights, gradients"
        assert mistake.message.replace(" and gradients", ", gradients").startswith(said)
        assert mistake.message.endswith("but this machine has 1.0 GB")
    assert (Adam().state_count(), SGD().state_count(), SGD(momentum=0.9).state_count()) == (2, 0, 1)


def test_on_a_gpu_only_the_weights_have_to_fit_into_the_host(tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text(TRAINED % "" + "device: cuda\n")
    assert load_spec(path)
    path.write_text(TRAINED.replace("10000, 10000", "20000, 20000") % "" + "device: cuda\n")
    (mistake,) = mistakes_of(path.read_text(), tmp_path)
    assert mistake.message.startswith("model 'mlp' needs about 1.6 GB for its weights, but")


CHAINS = "ebmkit: 1\nmodel: {use: ising, shape: [100, 100]}\nsampler: gibbs\n"


@pytest.mark.parametrize(
    ("added", "line", "said"),
    [
        ("samples: 100000\n", 4, "100,000 samples of shape (100, 100) take about 4.0 GB"),
        ("samples: 10\ninit: {use: persistent, chains: 50000}\n", 5, "init 'persistent' holds 50,000 states"),
        (
            "samples: 10\nevaluate: [{use: probability, exact: false, samples: 90000}]\n",
            5,
            "metric 'probability' draws",
        ),
    ],
)
def test_states_that_are_kept_are_counted_where_they_are_written(tmp_path, added, line, said):
    (mistake,) = mistakes_of(CHAINS + added, tmp_path)
    assert (mistake.code, mistake.place.line) == ("E212", line)
    assert mistake.message.startswith(said)


def test_generated_points_are_counted_but_not_those_of_a_file(tmp_path):
    (mistake,) = mistakes_of(
        "ebmkit: 1\ndata: {use: two_moons, size: 200000000}\nmodel: mlp\nsampler: langevin\n", tmp_path
    )
    assert mistake.message.startswith(
        "data 'two_moons' makes 200,010,000 points of shape (2,), which take about 1.6 GB"
    )


def test_a_sum_is_reported_at_its_largest_part_with_the_next_one(tmp_path):
    text = TRAINED.replace("10000, 10000", "7000, 7000").replace(
        "mle", "{use: mle, init: {use: replay, size: 50000000}}"
    )
    (mistake,) = mistakes_of(text % "", tmp_path)
    assert (mistake.place.line, mistake.other.line) == (3, 4)
    assert mistake.message.startswith("model 'mlp' needs about 785 MB for its weights, gradients and optimizer state, ")
    assert "the whole spec about 1.2 GB, but this machine has 1.0 GB" in mistake.message


def test_what_fits_is_accepted(tmp_path, monkeypatch):
    path = tmp_path / "spec.yaml"
    path.write_text(TRAINED.replace("10000, 10000", "1000, 1000") % "")
    assert load_spec(path)
    monkeypatch.setattr(memory, "total_memory", lambda: None)  # unknown
    path.write_text(TRAINED % "")
    assert load_spec(path)


@pytest.mark.parametrize("samples", [15_000, 10])
def test_samples_that_the_run_and_its_metrics_share_are_counted_once(tmp_path, samples):
    metrics = ("{use: probability, exact: false, samples: 20000}", "{use: moments, samples: 20000}")
    path = tmp_path / "spec.yaml"
    path.write_text(f"{CHAINS}samples: {samples}\nevaluate: [{', '.join(metrics)}]\n")
    assert load_spec(path)  # 0.8 GB


def test_samples_of_long_chains_are_on_disk(tmp_path):
    path = tmp_path / "spec.yaml"
    wanted = "samples: 100000\nevaluate: [{use: probability, exact: false, samples: 200000}]\n"
    path.write_text(f"{CHAINS}chains: {{count: 4}}\n{wanted}")
    assert load_spec(path)


def test_an_optimizer_may_not_know_its_state(tmp_path, monkeypatch):
    monkeypatch.setattr(Adam, "state_count", lambda self: None)
    (mistake,) = mistakes_of(TRAINED.replace("10000, 10000", "12000, 12000") % "", tmp_path)
    assert "for its weights and gradients" in mistake.message


@pytest.mark.parametrize(
    ("objective", "count"),
    [
        ("nce, noise_ratio: 1e6", "256,000,000"),
        ("ranking_nce, negatives: 1000000", "256,000,000"),
        ("conditional_nce, noise_ratio: 1000000", "256,000,000"),
        ("adversarial, noise_ratio: 1000000", "256,000,000"),
        ("adversarial_ce, noise_ratio: 1e6", "256,000,000"),
        ("flow_ce, noise_ratio: 1e6", "256,000,000"),
        ("bregman, noise_ratio: 1e308", f"{2**63:,}"),
    ],
)
def test_the_noise_of_a_batch_is_counted(tmp_path, objective, count):
    text = f"ebmkit: 1\ndata: two_moons\nmodel: mlp\nobjective: {{use: {objective}}}\ntrain: {{steps: 1}}\n"
    (mistake,) = mistakes_of(text, tmp_path)
    assert (mistake.code, mistake.place.line) == ("E212", 4)
    name = objective.partition(",")[0]
    assert mistake.message.startswith(f"objective '{name}' draws {count} noise samples of shape (2,) in each step")


def test_a_batch_has_no_more_points_than_the_data(tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text(
        "ebmkit: 1\ndata: {use: two_moons, size: 100}\nmodel: mlp\nobjective: nce\n"
        "train: {steps: 1, batch_size: 1000000000}\n"
    )
    assert load_spec(path)
