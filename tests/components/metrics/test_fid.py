"""`fid` and the Frechet distance of Gaussians, against closed forms. The features themselves: `test_features.py`."""

import math

import pytest
import torch

import ebmkit
from ebmkit.components.metrics import fid
from ebmkit.components.metrics.fid import FID
from ebmkit.contracts.extractor import Features
from ebmkit.errors import Mistakes
from ebmkit.maths.frechet import Fitted, fitted, frechet
from tests.components.oracles import EVENTS, generator, random_covariance
from tests.language.specs import score_spec
from tests.views import FakeView

dimensions = pytest.mark.parametrize("d", [1, 2, 10])
shapes = pytest.mark.parametrize("event", EVENTS, ids=str)
exactly = {"rel": 1e-10, "abs": 1e-10}


def gaussian(mean, covariance):
    """By a root that is not the one of `fitted`."""
    return Fitted(mean, torch.linalg.cholesky(covariance).T)


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=generator(seed))


# Two known Gaussians --------------------------------------------------------------------------------------------------


@dimensions
def test_of_diagonal_gaussians(d):
    """sum (m - n)^2 + (s - t)^2, for standard deviations s and t."""
    m, n = normal(2, d)
    s, t = torch.rand(2, d, generator=generator(1)) + 0.1
    expected = float((m - n).square().sum() + (s - t).square().sum())
    assert frechet(Fitted(m, s.diag()), Fitted(n, t.diag())) == pytest.approx(expected, **exactly)


@dimensions
def test_of_full_covariances_in_one_basis(d):
    """Covariances that commute: the roots of their eigenvalues take the place of standard deviations."""
    basis = torch.linalg.qr(normal(d, d)).Q
    s, t = torch.rand(2, d, generator=generator(1)) + 0.1
    a, b = (gaussian(torch.zeros(d), basis @ each.square().diag() @ basis.T) for each in (s, t))
    assert frechet(a, b) == pytest.approx(float((s - t).square().sum()), **exactly)


@dimensions
def test_of_any_covariances(d):
    """The trace of the root is the sum of the roots of the eigenvalues of S T, which is not symmetric."""
    s, t = random_covariance(d, 1), random_covariance(d, 2)
    m, n = normal(2, d)
    roots = torch.linalg.eigvals(s @ t).sqrt().sum()
    expected = (m - n).square().sum() + s.trace() + t.trace() - 2 * roots.real
    assert frechet(gaussian(m, s), gaussian(n, t)) == pytest.approx(float(expected), **exactly)


def test_in_the_plane():
    """tr sqrt(M) = sqrt(tr M + 2 sqrt(det M)) for two rows and columns."""
    s, t = random_covariance(2, 3), random_covariance(2, 4)
    root = math.sqrt(float((s @ t).trace()) + 2 * math.sqrt(float(torch.det(s) * torch.det(t))))
    expected = float(s.trace() + t.trace()) - 2 * root
    assert frechet(gaussian(torch.zeros(2), s), gaussian(torch.zeros(2), t)) == pytest.approx(expected, **exactly)


@dimensions
def test_of_singular_covariances(d):
    """uu' and vv': the root of their product has trace |u'v|. With a full one: sqrt(u'Tu)."""
    u, v = normal(2, d)
    zero, t = torch.zeros(d), random_covariance(d, 5)
    thin = [Fitted(zero, each[None]) for each in (u, v)]
    expected = float(u.square().sum() + v.square().sum() - 2 * (u @ v).abs())
    assert frechet(*thin) == pytest.approx(expected, **exactly)
    expected = float(u.square().sum() + t.trace() - 2 * (u @ t @ u).sqrt())
    assert frechet(thin[0], gaussian(zero, t)) == pytest.approx(expected, **exactly)


@dimensions
def test_of_points_that_do_not_move(d):
    """No covariance at all: only the means are apart."""
    one, other = (fitted(each.expand(5, d)) for each in normal(2, 1, d))
    assert frechet(one, other) == pytest.approx(float((normal(2, d)[0] - normal(2, d)[1]).square().sum()), **exactly)


# Of points ------------------------------------------------------------------------------------------------------------


@dimensions
@pytest.mark.parametrize("n", [2, 5, 40])
def test_what_is_fitted(d, n):
    points = normal(n, d) @ normal(d, d, seed=1) + 3
    mean, root = fitted(points.float())
    points = points.float().double()
    assert mean.dtype == root.dtype == torch.float64
    torch.testing.assert_close(mean, points.mean(0), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(root.T @ root, torch.cov(points.T, correction=1).view(d, d), rtol=1e-12, atol=1e-12)


def by_eigenvalues(x, y):
    """The definition, with symmetric roots."""
    s, t = (torch.cov(each.T).view(each.shape[1], each.shape[1]) for each in (x, y))
    values, vectors = torch.linalg.eigh(s)
    root = vectors @ values.abs().sqrt().diag() @ vectors.T
    shared = torch.linalg.eigvalsh(root @ t @ root).abs().sqrt().sum()
    return float((x.mean(0) - y.mean(0)).square().sum() + s.trace() + t.trace() - 2 * shared)


@dimensions
@pytest.mark.parametrize("n", [4, 60])
def test_is_its_definition(d, n):
    x, y = normal(n, d) @ normal(d, d, seed=1), normal(50, d, seed=2) + 1
    # Where the covariance is singular, eigenvalues that are zero to rounding have roots of 1e-8.
    assert frechet(fitted(x), fitted(y)) == pytest.approx(by_eigenvalues(x, y), rel=1e-10 if n > d else 1e-6)


@dimensions
@pytest.mark.parametrize("n", [4, 60])
def test_a_symmetric_distance_that_is_zero_from_itself_and_knows_no_coordinates(d, n):
    x, y = normal(n, d) @ normal(d, d, seed=1), 2 * normal(50, d, seed=2)
    distance = frechet(fitted(x), fitted(y))
    assert distance > 0.01
    assert frechet(fitted(y), fitted(x)) == pytest.approx(distance, **exactly)
    assert frechet(fitted(x), fitted(x[torch.randperm(n, generator=generator(3))])) == pytest.approx(0, abs=1e-10)
    turned = torch.linalg.qr(normal(d, d, seed=4)).Q
    assert frechet(fitted(x @ turned + 5), fitted(y @ turned + 5)) == pytest.approx(distance, rel=1e-9)
    assert frechet(fitted(3 * x), fitted(3 * y)) == pytest.approx(9 * distance, rel=1e-9)


def test_what_is_no_number_has_no_distance():
    with pytest.raises(FloatingPointError, match="features of 2 of 5 points are not finite"):
        fitted(torch.tensor([[0.0, 1.0], [math.nan, 1.0], [2.0, math.inf], [1.0, 1.0], [0.0, 0.0]]))
    with pytest.raises(ValueError, match="needs at least two points, but there is 1"):
        fitted(torch.zeros(1, 3))


# The metric, with pixels as features ----------------------------------------------------------------------------------


@pytest.fixture
def shown(monkeypatch):
    """Lets pixels be their own features, and remembers what was looked at."""
    seen = []

    class Pixels:
        facts = ("accuracy",)

        def load(self, trained):
            return Features(lambda x: seen.append(x) or x.flatten(1), {"accuracy": 0.5})

    monkeypatch.setattr(fid, "find_extractor", lambda name: Pixels())
    return seen


@shapes
def test_four_sets_of_equally_many_points_against_all_that_is_held_out(event, shown):
    samples, test, train = normal(90, *event) - 1, normal(40, *event, seed=1), 1 + 2 * normal(60, *event, seed=2)
    found = FID(samples=50).measure(FakeView(samples, test, train))
    assert tuple(found) == FID(samples=50).results()
    assert [len(points) for points in shown] == [40, 50, 50, 50, 50]
    assert torch.equal(shown[0], test)
    assert torch.equal(shown[1], samples[:50])
    rows = {tuple(row) for row in train.flatten(1).tolist()}
    assert {tuple(row) for row in shown[2].flatten(1).tolist()} < rows  # each of them once
    assert len({tuple(row) for row in shown[2].flatten(1).tolist()}) == 50
    for name, points in zip(("fid", "fid_floor", "fid_gaussian", "fid_noise"), shown[1:], strict=True):
        expected = by_eigenvalues(points.flatten(1), test.flatten(1))
        assert found[f"{name}@digits-cnn/50"] == pytest.approx(expected, rel=1e-6)
    known = {name.partition("@")[0]: value for name, value in found.items()}
    assert (known["fid_points"], known["fid_held_out"], known["features_accuracy"]) == (50, 40, 0.5)
    assert all(type(value) is float for value in found.values())


@pytest.mark.parametrize(("asked", "drawn", "there"), [(60, 500, 60), (50, 30, 30), (20, 500, 20)])
def test_where_there_are_fewer_all_have_fewer_and_it_says_so(asked, drawn, there, shown):
    """Of long chains there may be fewer samples than are asked for."""
    found = FID(samples=asked).measure(FakeView(normal(drawn, 2), normal(40, 2, seed=1), normal(60, 2, seed=2)))
    assert [len(points) for points in shown] == [40, there, there, there, there]
    assert found[f"fid_points@digits-cnn/{asked}"] == there


@shapes
def test_what_it_is_compared_with(event, shown):
    """Six standard errors of means and of covariances, a false alarm in 5e8 for each of at most 272 numbers."""
    n, d = 40_000, math.prod(event)
    train = (normal(n, d) @ normal(d, d, seed=1)).view(n, *event) + 3
    FID(samples=n).measure(FakeView(train, train, train))
    flat, (drawn, noise) = train.flatten(1), (points.flatten(1) for points in shown[3:])
    variance = flat.var(0)
    assert bool(((drawn.mean(0) - flat.mean(0)).abs() < 6 * (variance / n).sqrt()).all())
    off = (torch.cov(drawn.T) - torch.cov(flat.T)).abs().view(d, d)
    assert bool((off < 6 * (2 * variance[:, None] * variance / n).sqrt()).all())

    mean, std = float(flat.mean()), float(flat.std())
    assert bool(((noise.mean(0) - mean).abs() < 6 * std / math.sqrt(n)).all())
    off = (torch.cov(noise.T).view(d, d) - std**2 * torch.eye(d)).abs()
    assert bool((off < 6 * std**2 * math.sqrt(2 / n)).all())


def test_further_away_is_further(shown):
    test, train = normal(300, 10), normal(300, 10, seed=1)
    values = [
        FID(samples=300).measure(FakeView(train + scale * normal(300, 10, seed=2), test, train))["fid@digits-cnn/300"]
        for scale in (0.0, 0.3, 0.6, 1.0, 2.0)
    ]
    assert values == sorted(values)
    assert values[-1] > 10 * values[0]


def test_data_are_needed(shown):
    with pytest.raises(ValueError, match="need a spec with data"):
        FID().measure(FakeView(normal(5, 2), None, None))


# In a spec ------------------------------------------------------------------------------------------------------------

SPEC = """
ebmkit: 1
data: {data}
model: mlp
sampler: langevin
evaluate: [{{use: fid, samples: 1000}}, {{use: fid, samples: 200}}]
expect:
  - {{metric: {metric}, below: 1}}
"""


def planned(tmp_path, data="digits", metric="fid@digits-cnn/1000"):
    (tmp_path / "spec.yaml").write_text(SPEC.format(data=data, metric=metric))
    return ebmkit.load_spec(tmp_path / "spec.yaml")


@pytest.mark.parametrize("metric", ["fid@digits-cnn/1000", '"fid@digits-cnn/1000"', "fid_floor@digits-cnn/200"])
def test_a_claim_can_name_it_and_two_counts_stand_side_by_side(tmp_path, metric):
    assert planned(tmp_path, metric=metric).spec.expect[0].metric == metric.strip('"')


def test_a_name_without_its_count_is_none(tmp_path):
    with pytest.raises(Mistakes) as caught:
        planned(tmp_path, metric="fid")
    assert "no metric reports 'fid'" in str(caught.value)


@pytest.mark.parametrize(("data", "shape"), [("two_moons", "(2,)"), ("{use: digits, resize: [28, 28]}", "(1, 28, 28)")])
def test_other_shapes_are_refused(tmp_path, data, shape):
    with pytest.raises(Mistakes) as caught:
        planned(tmp_path, data)
    words = f"features 'digits-cnn', which are for images of shape (1, 8, 8), but a state has shape {shape}"
    assert words in str(caught.value)


def test_the_name_of_a_frechet_distance_does_not_lie(tmp_path):
    spec = score_spec(
        data="digits",
        model={"use": "mlp_score", "schedule": "vp", "hidden": [8]},
        evaluate=[{"use": "fid", "samples": 5000}],
    )
    with pytest.raises(Mistakes) as refused:
        ebmkit.run(spec, runs_dir=tmp_path)
    assert "needs at least 5000 training points, but data 'digits' has 1436" in str(refused.value)
