"""`sliced_wasserstein` and `mmd`, against closed forms and the double loop of their definition."""

import math

import pytest
import torch

from ebmkit.components.metrics import mmd
from ebmkit.components.metrics.mmd import MMD
from ebmkit.components.metrics.sliced_wasserstein import SlicedWasserstein
from tests.components.oracles import EVENTS, assert_mean, generator
from tests.views import FakeView

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)


def mean_cosine(d):
    """E |v_1| for v uniform on the sphere in d dimensions."""
    return math.exp(math.lgamma(d / 2) - math.lgamma((d + 1) / 2)) / math.sqrt(math.pi)


@shapes
def test_sliced_wasserstein_of_a_shift(event):
    """Every slice is at |v'c|; their mean is |c| E|v_1|."""
    test, shift = torch.randn(50, *event, generator=generator(0)), torch.randn(event, generator=generator(1))
    found = SlicedWasserstein(directions=20_000).measure(FakeView(test + shift, test, test))
    assert found["sliced_wasserstein"] == pytest.approx(float(shift.norm()) * mean_cosine(math.prod(event)), rel=0.03)
    assert found["sliced_wasserstein_floor"] == pytest.approx(0, abs=1e-12)


@shapes
def test_sliced_wasserstein_of_a_stretch(event):
    """W1 between N(0, I) and N(0, 4 I) is E|z| = sqrt(2/pi) on every slice."""
    a, b, c = (torch.randn(10_000, *event, generator=generator(k)) for k in range(3))
    found = SlicedWasserstein(directions=64).measure(FakeView(2 * a, b, c))
    assert found["sliced_wasserstein"] == pytest.approx(math.sqrt(2 / math.pi), rel=0.05)
    assert 0 < found["sliced_wasserstein_floor"] < 0.05


def test_unequal_splits_are_cut_to_the_same_number():
    a, b, c = (torch.randn(n, 2, generator=generator(n)) for n in (500, 60, 80))
    for metric in (SlicedWasserstein(directions=16), MMD()):
        found = metric.measure(FakeView(a, b, c))
        assert tuple(found) == metric.results()
        assert all(type(value) is float and math.isfinite(value) for value in found.values())


def slow_mmd(x, y, bandwidths):
    n = len(x)
    gaps = [float((a - b).norm()) for i, a in enumerate(y) for b in y[:i]]
    median = sorted(gaps)[(len(gaps) - 1) // 2]

    def k(a, b):
        return sum(math.exp(-(float((a - b).norm()) ** 2) / (2 * (w * median) ** 2)) for w in bandwidths) / len(
            bandwidths
        )

    pairs = [(i, j) for i in range(n) for j in range(n)]
    off = [(i, j) for i, j in pairs if i != j]
    inside = sum(k(x[i], x[j]) + k(y[i], y[j]) for i, j in off) / (n * (n - 1))
    return inside - 2 * sum(k(x[i], y[j]) for i, j in pairs) / n**2


@shapes
@pytest.mark.parametrize("block", [1, 30, 1 << 20])
def test_mmd_is_its_definition(event, block, monkeypatch):
    monkeypatch.setattr(mmd, "BLOCK", block)
    x, y, z = (torch.randn(12, *event, generator=generator(k)) + 0.3 * k for k in range(3))
    found = MMD(bandwidths=(0.5, 2.0)).measure(FakeView(x, y, z))
    assert found["mmd"] == pytest.approx(slow_mmd(x.flatten(1), y.flatten(1), (0.5, 2.0)), abs=1e-10)
    assert found["mmd_floor"] == pytest.approx(slow_mmd(z.flatten(1), y.flatten(1), (0.5, 2.0)), abs=1e-10)


@pytest.mark.parametrize("d", [1, 2, 10])
def test_mmd_of_shifted_gaussians(d):
    """E k has a closed form: (b^2/(b^2+2))^(d/2) exp(-|c|^2 / (2 (b^2+2)))."""
    n, shift = 3000, 1.0
    x, y = (torch.randn(n, d, generator=generator(k)) for k in range(2))
    x[:, 0] += shift
    view = FakeView(x, y, y)
    b2 = float(torch.pdist(y[torch.randperm(n, generator=generator(0))][:1000]).median()) ** 2
    height = (b2 / (b2 + 2)) ** (d / 2)
    exact = 2 * height * (1 - math.exp(-(shift**2) / (2 * (b2 + 2))))
    assert MMD(bandwidths=(1.0,)).measure(view)["mmd"] == pytest.approx(exact, rel=0.12)


def test_mmd_is_unbiased():
    values = []
    for seed in range(200):
        x, y = (torch.randn(10, 2, generator=generator(2 * seed + k)) for k in range(2))
        values.append(MMD().measure(FakeView(x, y, y, seed))["mmd"])
    assert_mean(torch.tensor(values)[:, None], 0.0)
