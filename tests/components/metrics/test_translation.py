"""Far from the origin and in other units, every metric that does not depend on them gives the same number.

Adding an offset to float32 points rounds them. Metrics are therefore compared on the rounded points, once at their
place and once moved back to the origin, which is exact.
"""

import math
from functools import cache

import pytest
import torch

from ebmkit.components.metrics.mmd import MMD
from ebmkit.components.metrics.mode_weights import ModeWeights
from ebmkit.components.metrics.moments import Moments
from ebmkit.components.metrics.nearest_neighbours import NearestNeighbours
from ebmkit.components.metrics.sliced_wasserstein import SlicedWasserstein
from ebmkit.engine.evaluation import Evaluation
from ebmkit.engine.sampling import view_of
from ebmkit.language.load import load_spec
from ebmkit.maths.centred import centred, squared_distances
from ebmkit.maths.frechet import fitted, frechet
from ebmkit.registry.builtin import COMPONENTS
from tests.components.oracles import generator
from tests.views import FakeView

OFFSETS = [0.0, 1e2, 1e4, 3e4, -1e6]
SCALES = [1e-6, 1e-3, 1.0, 1e3, 1e6]
far = pytest.mark.parametrize("offset", OFFSETS, ids="{:g}".format)
scaled = pytest.mark.parametrize("scale", SCALES, ids="{:g}".format)
dimensions = pytest.mark.parametrize("d", [1, 2, 50])


def points(k: int, d: int) -> torch.Tensor:
    """Float32 points: two clusters, so that there is a scale below that of the whole."""
    xi = torch.randn(300, d, generator=generator(k), dtype=torch.float32)
    return xi * (1 + 0.2 * k) + 0.3 * k + 6.0 * (torch.arange(300) % 2).unsqueeze(1)


def measured(d: int, offset: float, scale: float, back: bool) -> dict[str, float]:
    """All metrics of samples and data alone, of points at an offset, or of the same points moved back."""
    sets = [(points(k, d) + offset) * scale for k in range(3)]
    center = torch.tensor(offset, dtype=torch.float32) * scale if back else torch.tensor(0.0)
    sets = [x - center for x in sets]
    modes = torch.stack([torch.full((d,), (offset + mode) * scale) for mode in (0.0, 6.0)]) - center
    found: dict[str, float] = {}
    for metric in (
        MMD(),
        SlicedWasserstein(directions=16),
        NearestNeighbours(),
        Moments(),
        ModeWeights(modes=tuple(map(tuple, modes.tolist())), radius=3.0 * scale * math.sqrt(d)),
    ):
        found |= metric.measure(FakeView(*sets))
    found["mean(x0)"] -= 0.0 if back else float(torch.tensor(offset, dtype=torch.float32) * scale)
    one, other, _ = (fitted(x) for x in sets)
    return {**found, "frechet": frechet(one, other)}


@dimensions
@far
def test_an_offset_changes_no_metric_of_samples(d, offset):
    there, here = measured(d, offset, 1.0, back=False), measured(d, offset, 1.0, back=True)
    assert there == pytest.approx(here, rel=1e-5, abs=1e-9)


@scaled
@far
def test_units_change_distances_only(offset, scale):
    """A power of two near the scale, because any other factor rounds every point again."""
    scale = 2.0 ** round(math.log2(scale))
    there, here = measured(2, offset, scale, back=False), measured(2, offset, 1.0, back=True)
    for name in ("sliced_wasserstein", "sliced_wasserstein_floor", "neighbour_distance", "neighbour_distance_floor"):
        here[name] *= scale
    here |= {name: here[name] * scale for name in ("mean(x0)", "std(x0)")} | {"frechet": here["frechet"] * scale**2}
    assert there == pytest.approx(here, rel=1e-5, abs=1e-9 * min(1.0, scale**2))


@far
def test_mmd_against_its_definition_in_float64(offset):
    x, y = (points(k, 2)[:40] + offset for k in range(2))
    far_x, far_y = x.double() - offset, y.double() - offset
    median = torch.pdist(far_y).median()

    def mean_kernel(a, b, off_diagonal):
        squares = (a.unsqueeze(1) - b).square().sum(2) / median**2
        k = sum((-squares / (2 * w**2)).exp() for w in (0.25, 0.5, 1.0)) / 3
        return float((k.sum() - k.diag().sum()) / (len(a) * (len(a) - 1)) if off_diagonal else k.mean())

    wanted = mean_kernel(far_x, far_x, True) + mean_kernel(far_y, far_y, True) - 2 * mean_kernel(far_x, far_y, False)
    assert MMD().measure(FakeView(x, y, y))["mmd"] == pytest.approx(wanted, abs=1e-8)


@pytest.mark.parametrize("apart", [1e3, 1e5, 1e7])
def test_close_points_in_clusters_that_are_far_apart(apart):
    """No single centre is near both clusters."""
    xi = torch.randn(100, 3, generator=generator(0), dtype=torch.float32)
    x = xi + apart * (torch.arange(100) % 2).unsqueeze(1)
    (moved,) = centred(x)
    exact = (x.double().unsqueeze(1) - x.double()).square().sum(2)
    assert torch.allclose(squared_distances(moved, moved), exact, rtol=1e-6, atol=1e-15 * apart**2)


def test_equal_data_have_no_bandwidth_but_one_other_point_gives_one():
    equal = torch.zeros(50, 2)
    with pytest.raises(ValueError, match="all data points are equal"):
        MMD().measure(FakeView(torch.randn(50, 2), equal, equal))
    equal[0] = 1.0
    assert MMD().measure(FakeView(torch.randn(50, 2), equal, equal))["mmd"] > 0.1


#: Metrics of a model: at an offset, with the model moved too, they are what they are at the origin.
TARGET = {"use": "gaussian", "covariance": [[2.0, 0.9], [0.9, 1.0]]}
OF_A_MODEL = [
    "energy_gap",
    "log_likelihood",
    {"use": "kl_divergence", "reverse": True},
    {"use": "fisher_divergence", "target": TARGET},
    {"use": "score_error", "target": TARGET},
    {"use": "heat_flow", "target": TARGET},
    "ood_auroc",
    "gradient_magnitude",
]


@cache
def of_a_model(offset: float) -> dict[str, float]:
    target = {**TARGET, "mean": [offset, offset]}
    metrics = [{**m, "target": target} if isinstance(m, dict) and "target" in m else m for m in OF_A_MODEL]
    model = {"use": "gaussian", "mean": [offset + 0.5, offset], "covariance": [[1.0, 0.0], [0.0, 1.5]]}
    plan = load_spec(
        {
            "ebmkit": 1,
            "data": {"use": "from_model", "model": target, "size": 1000, "test_size": 1000},
            "model": model,
            "init": "data",
            "sampler": {"use": "mala", "steps": 20, "step_size": 0.5},
            "samples": 500,
            "evaluate": metrics,
        }
    )
    return Evaluation(view_of(plan, None)).measure(plan.spec.evaluate).results


@pytest.mark.parametrize("offset", [3e4, -1e6], ids="{:g}".format)
def test_a_model_that_moves_with_its_data(offset):
    """Points are rounded to 1/16 at the last offset, which changes the averages, not the digits of the rest."""
    rounding = abs(offset) * 2.0**-24
    here = of_a_model(0.0)
    assert of_a_model(offset) == pytest.approx(here, rel=0.01 + 0.5 * rounding, abs=0.005 + 0.2 * rounding)


#: Metrics for which moving the data means something else, or that have no points.
OTHERS = {
    "acceptance": "a share of proposals",
    "accuracy": "a share of labels",
    "ais": "in coordinates in which the data are standardised",
    "calibration": "a share of labels",
    "denoising": "adds noise to points in the precision of the run, which rounds it",
    "ess": "by ranks, in tests/diagnostics",
    "fid": "features of images in a fixed range; its distance is tested above",
    "inpainting": "images; its neighbours are those of nearest_neighbours",
    "log_z": "of the model alone",
    "loss_curve": "of numbers",
    "mean_energy": "of the model alone",
    "ode_log_likelihood": "in float64; its networks are relative to the data",
    "probability": "of discrete states",
    "pseudo_likelihood": "of discrete states",
    "recall": "of discrete states",
    "reconstruction": "in units of the network",
    "restoration": "of discrete states",
    "rhat": "by ranks, in tests/diagnostics",
    "sampling_error": "of a mixture in one dimension, in float64",
    "total_variation": "of discrete states",
    "variational_bound": "of discrete states",
    "verdict": "in units of the data, in tests/maths/test_two_sample.py",
}


def test_no_metric_is_forgotten():
    here = {"mmd", "sliced_wasserstein", "nearest_neighbours", "moments", "mode_weights"}
    models = {metric if isinstance(metric, str) else str(metric["use"]) for metric in OF_A_MODEL}
    assert {*here, *models, *OTHERS} == set(COMPONENTS["metric"][1].split())
