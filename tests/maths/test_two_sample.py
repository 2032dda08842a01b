"""The two-sample comparison: what it finds, what it does not find, and that units do not matter."""

import math

import pytest
import torch

from ebmkit.components.metrics.verdict import judgement_of
from ebmkit.maths.two_sample import RELABELLINGS, WIDTHS, differences, in_units_of_data, smallest_visible


def generator(seed):
    return torch.Generator().manual_seed(seed)


def normal(n, d, seed):
    return torch.randn(n, d, generator=generator(seed), dtype=torch.float64)


def student(n, d, seed):
    """Two degrees of freedom: no variance."""
    return normal(n, d, seed) / normal(n, 2, seed + 1).square().mean(1, keepdim=True).sqrt()


def judged(x, y, *, image=False, independent=None, seed=0, spreads=True):
    n = independent or len(x)
    return judgement_of(
        differences(in_units_of_data(x, y, n, image=image), generator(seed), spreads=spreads), n, len(y)
    )


def test_the_same_distribution_matches():
    """More than 5 of 20 alarms of a test of level 0.01 have a probability of 3e-8, in any of three cases 1e-7."""
    sets = [lambda n, seed: normal(n, 1, seed), lambda n, seed: normal(n, 6, seed), lambda n, seed: student(n, 3, seed)]
    for case in sets:
        levels = [judged(case(400, 10 * seed), case(60 + 10 * seed, 10 * seed + 5)).level for seed in range(20)]
        assert levels.count("match") >= 15
        assert "mismatch" not in levels


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda x: x + torch.tensor([0.0, 0.5, 0.0]), "mean"),
        (lambda x: x * torch.tensor([1.0, 1.0, 1.5]), "spread"),
        (lambda x: x * 0, "spread"),  # chains that collapsed
        (lambda x: torch.stack([x[:, 0], 0.8 * x[:, 0] + 0.6 * x[:, 1], x[:, 2]], 1), "correlation"),
    ],
)
def test_moments_that_differ_are_named(change, kind):
    x, y = normal(2000, 3, 0), normal(1000, 3, 1)
    found = judged(change(x), y)
    assert (found.level, found.worst.kind, found.p_value < 1e-6) == ("mismatch", kind, True)


@pytest.mark.parametrize(("shift", "level"), [(0.0, "match"), (50.0, "mismatch")])
def test_a_single_sample_is_compared_by_its_place(shift, level):
    """It has no spread; a number that is not finite would be no judgement."""
    found = differences(in_units_of_data(normal(1, 2, 0) + shift, normal(500, 2, 1), 1, image=False), generator(0))
    assert {each.kind for each in found}.isdisjoint({"spread", "correlation"})
    assert all(math.isfinite(number) for each in found for number in (each.samples, each.size, each.p_value))
    assert judgement_of(found, 1, 500).level == level


def ring(n, seed, radius=1.0, noise=0.03):
    angle = 2 * math.pi * torch.rand(n, generator=generator(seed), dtype=torch.float64)
    return radius * torch.stack([angle.cos(), angle.sin()], 1) + noise * normal(n, 2, seed + 1)


def test_a_ring_is_not_a_gaussian_of_the_same_moments():
    x = normal(2000, 2, 0) * math.sqrt(0.5)
    found = judged(x, ring(1000, 3))
    assert found.level == "mismatch"
    assert found.worst.kind == "apart"
    assert found.worst.size > 0.5


def modes(n, count, seed):
    """Modes on a circle; four of them have the mean and the covariance of eight."""
    angle = 2 * math.pi / count * torch.randint(count, (n,), generator=generator(seed)).double()
    return 10 * torch.stack([angle.cos(), angle.sin()], 1) + 0.3 * normal(n, 2, seed + 1)


def test_modes_without_samples_are_missed():
    found = judged(modes(1000, 4, 0), modes(1000, 8, 2))
    assert (found.level, found.worst.kind) == ("mismatch", "missed")
    assert found.worst.size == pytest.approx(0.5, abs=0.1)


def test_units_of_columns_do_not_matter():
    x, y = normal(1000, 3, 0) * 1.2, normal(500, 3, 1)
    unit, shift = torch.tensor([1e-6, 1.0, 1e6], dtype=torch.float64), torch.tensor([1e3, -5.0, 1e9])
    one, other = judged(x, y), judged(x * unit + shift, y * unit + shift)
    assert one.level == other.level
    assert one.worst.kind == other.worst.kind
    assert one.worst.size == pytest.approx(other.worst.size, rel=1e-4)
    assert one.p_value == pytest.approx(other.p_value, rel=1e-2)


def test_many_samples_make_a_small_difference_significant_but_not_large():
    x, y = normal(200_000, 2, 0) + 0.05, normal(200_000, 2, 1)
    found = judged(x, y)
    assert found.p_value < 1e-6
    assert found.level == "match"


def test_few_held_out_points_show_little():
    """Only what is far off is seen."""
    y = normal(8, 2, 1)
    assert judged(normal(2000, 2, 0) + 0.3, y).level == "match"
    assert judged(normal(2000, 2, 0) + 30.0, y).level == "mismatch"
    assert smallest_visible(2000, 8, 0.01) == pytest.approx(2.5758 * math.sqrt(1 / 2000 + 1 / 8), rel=1e-4)


def test_states_of_a_chain_that_hardly_mixed_prove_nothing():
    x, y = normal(1, 2, 0).expand(2000, 2) + 0.3 * normal(2000, 2, 3), normal(1000, 2, 1)
    assert judged(x, y, independent=1).level == "match"
    assert judged(x, y).level == "mismatch"


def test_a_column_that_is_constant_in_the_data():
    x, y = normal(500, 2, 0), normal(500, 2, 1)
    y[:, 1] = 4.0
    assert judged(x, y).level == "mismatch"
    x[:, 1] = 4.0
    assert judged(x, y).level == "match"
    x[:, 0], y[:, 0] = 2.0, 2.0
    assert judged(x, y).level == "match"


def test_pixels_share_a_unit():
    """Noise of a hundredth in pixels that are constant in the data is invisible; that of the bright ones is not."""
    x, y = normal(500, 20, 0), normal(500, 20, 1)
    x[:, :10], y[:, :10] = 0.05 * x[:, :10], 0.0
    assert judged(x, y, image=True).level == "match"
    assert judged(x, y).level == "mismatch"
    assert judged(2 * x, y, image=True).level == "mismatch"


def test_units_with_two_values():
    x, y = (torch.rand(2000, 8, generator=generator(seed), dtype=torch.float64).round() for seed in (0, 1))
    assert judged(x, y, spreads=False).level == "match"
    x[:, 3] = x[:, 2]
    found = judged(x, y, spreads=False)
    assert (found.level, found.worst.kind, found.worst.columns) == ("mismatch", "correlation", (2, 3))


def by_all_relabellings(x, y, seed):
    """The p-value of the classifiers by relabelling without end: both are written out, with a sum over pairs."""
    points = torch.cat([x, y])
    n, apart = len(x), torch.cdist(points, points).square().fill_diagonal_(math.inf)
    near = torch.zeros_like(apart)
    for row, nearest in zip(near, apart.argsort(1)[:, :10], strict=True):
        row[nearest] = 1
    scale = apart[n:, n:].median()
    kernel = sum((-apart / (2 * width**2 * scale)).exp() for width in WIDTHS)
    labels, rng = torch.ones(2 * n, dtype=torch.float64), generator(seed)
    labels[n:] = -1
    columns = torch.stack([labels, *(labels[torch.randperm(2 * n, generator=rng)] for _ in range(4 * RELABELLINGS))])
    agreement = torch.stack([torch.einsum("ki,ij,kj->k", columns, weights, columns) for weights in (near, kernel)])
    excess = ((agreement - agreement[:, 1:].mean(1, keepdim=True)) / agreement[:, 1:].std(1, keepdim=True)).amax(0)
    return float((excess[1:] >= excess[0]).double().mean())


@pytest.mark.parametrize("shift", [0.0, 0.3, 0.6, 1.5])
def test_a_classifier_stops_early_only_where_chance_explains_it(shift):
    """Both p-values are shares of random relabellings: they differ by at most 5.5 standard errors of a share of 99, or
    of 999 if it is small, to which the spreads of the classifiers, estimated with 99, add a tenth."""
    for seed in range(4):
        x, y = normal(40, 2, 10 * seed) + shift, normal(40, 2, 10 * seed + 5)
        columns = in_units_of_data(x, y, len(x), image=False)
        found = next(each for each in differences(columns, generator(seed)) if each.kind == "recognised")
        exact = by_all_relabellings(columns.samples, columns.data, seed + 100)
        count = 99 if found.p_value > 0.05 else 999
        assert abs(found.p_value - exact) < 5.5 * math.sqrt(exact * (1 - exact) / count) + 0.1 * exact + 2 / count
        assert round(found.p_value * 1000) >= 1
        assert (exact > 0.2) <= (found.p_value * 100 % 1 < 1e-9 or found.p_value * 100 % 1 > 1 - 1e-9)


def test_one_point_of_either_set_is_not_recognised():
    x, y = normal(300, 2, 0), normal(300, 2, 1)
    columns = in_units_of_data(x, y, 1, image=False)
    found = next(each for each in differences(columns, generator(0)) if each.kind == "recognised")
    assert found.p_value == 1.0
