"""Metrics on draws whose errors are known."""

from types import SimpleNamespace

import pytest
import torch
from ebmkit_bayes import Diverged, Estimates, LogisticRegression, ReferenceError
from ebmkit_bayes.reference_error import standard_error

from ebmkit.testing import trials


class Drawn:
    """The part of a view that the metrics read: long chains of independent draws with the exact moments."""

    def __init__(self, shift=0.0, chains=4, draws=4000):
        model = LogisticRegression()
        self.spec, self.event = SimpleNamespace(model=model), model.event()
        self.module = model.build(self.event).double()
        self.device, self.dtype = torch.device("cpu"), torch.float64
        exact = self.module.reference()
        xi = torch.randn(chains, draws, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        wished = exact.mean + exact.std * (xi + shift)
        slope = wished[..., 1:] * self.module.std
        x = torch.cat([wished[..., :1] + wished[..., 1:] * self.module.mean, slope], -1)
        self.draws = SimpleNamespace(
            x=x, blocks=lambda: iter(x.split(1000, 1)), seen={"divergence": torch.zeros(chains, draws)}
        )

    def samples(self, n):
        return self.draws.x.flatten(0, 1)[:n]


def test_exact_draws_have_the_error_of_their_number():
    found = ReferenceError().measure(Drawn())
    assert found["mean_error"] < 5 / 16_000**0.5
    assert found["spread_error"] < 0.03
    assert found["mean_z"] < 5


def test_a_bias_of_a_tenth_of_a_standard_deviation_is_seen():
    found = ReferenceError().measure(Drawn(shift=0.1))
    assert found["mean_error"] == pytest.approx(0.1, abs=0.03)
    assert found["mean_z"] > 8


def test_the_standard_error_counts_autocorrelated_draws_as_fewer():
    white = torch.randn(4, 20_000, 1, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    slow = white.clone()
    for k in range(1, slow.shape[1]):
        slow[:, k] = 0.9 * slow[:, k - 1] + 0.19**0.5 * white[:, k]
    assert float(standard_error(white)) == pytest.approx(80_000**-0.5, rel=0.4)
    # The variance of the mean is (1 + 0.9) / (1 - 0.9) = 19 times that of independent draws.
    assert float(standard_error(slow)) == pytest.approx((19 / 80_000) ** 0.5, rel=0.4)


def test_estimates_are_those_of_the_quantities():
    drawn = Drawn()
    found = Estimates(of=("log_dose", "intercept")).measure(drawn)
    assert list(found) == ["mean(log_dose)", "std(log_dose)", "mean(intercept)", "std(intercept)"]
    exact = drawn.module.reference()
    assert found["mean(intercept)"] == pytest.approx(float(exact.mean[0]), abs=0.2)
    assert found["std(log_dose)"] == pytest.approx(float(exact.std[1]), rel=0.05)


def test_an_unknown_quantity_is_refused_with_those_that_exist():
    question = SimpleNamespace(model=LogisticRegression(), event=(2,))
    assert Estimates(of=("intercept",)).refusal(question) is None
    assert "knows no quantity 'slope'" in Estimates(of=("slope",)).refusal(question)
    assert "intercept, log_dose" in Estimates(of=("slope",)).refusal(question)


def test_divergences_are_counted():
    drawn = Drawn()
    drawn.draws.seen["divergence"][0, :400] = 0.5  # the mean over the steps to a draw
    assert Diverged().measure(drawn) == {"diverged": 400 / 16_000}


@pytest.mark.parametrize("trial", trials([ReferenceError]), ids=str)
def test_law(trial):
    """Those of its kind need a model of this package, which the kit does not pass to metrics."""
    trial.run()
