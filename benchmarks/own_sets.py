"""Data of other scales and shapes than toys, as a user may have them in a file, for own_data.py."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

POINTS = 10_000

Rng = np.random.Generator


def blobs(rng: Rng) -> np.ndarray:
    centres = np.array([[-2.0, 0.0], [1.0, 1.5], [1.0, -1.5]])
    return centres[rng.integers(3, size=POINTS)] + 0.4 * rng.standard_normal((POINTS, 2))


def pinwheel(rng: Rng) -> np.ndarray:
    arm = rng.integers(5, size=POINTS)
    x = rng.standard_normal((POINTS, 2)) * [0.3, 0.05] + [1, 0]
    angle = 2 * np.pi * arm / 5 + 0.25 * np.exp(x[:, 0])
    turned = np.stack(
        [x[:, 0] * np.cos(angle) - x[:, 1] * np.sin(angle), x[:, 0] * np.sin(angle) + x[:, 1] * np.cos(angle)]
    )
    return turned.T * [20, 1]


def line(rng: Rng) -> np.ndarray:
    return np.where(rng.random(POINTS) < 0.3, rng.normal(-3, 0.5, POINTS), rng.normal(2, 1, POINTS))[:, None]


def checkerboard(rng: Rng) -> np.ndarray:
    x = rng.random(POINTS) * 4 - 2
    y = rng.random(POINTS) - 2 * rng.integers(0, 2, POINTS)
    return np.stack([x, y + np.floor(x) % 2], 1) * 2


def rings(rng: Rng) -> np.ndarray:
    radius = rng.choice([1.0, 2.0, 3.0], POINTS) + 0.08 * rng.standard_normal(POINTS)
    angle = 2 * np.pi * rng.random(POINTS)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)


def spirals(rng: Rng) -> np.ndarray:
    t = np.sqrt(rng.random(POINTS)) * 3 * np.pi
    sign = rng.choice([-1, 1], POINTS)
    return np.stack([-np.cos(t) * t * sign, np.sin(t) * t * sign], 1) / 3 + 0.1 * rng.standard_normal((POINTS, 2))


def swiss_roll(rng: Rng) -> np.ndarray:
    t = 1.5 * np.pi * (1 + 2 * rng.random(POINTS))
    return np.stack([t * np.cos(t), t * np.sin(t)], 1) + 0.5 * rng.standard_normal((POINTS, 2))


def scales(rng: Rng) -> np.ndarray:
    narrow = rng.random((POINTS, 1)) < 0.5
    return np.where(narrow, 0.1, 2.0) * rng.standard_normal((POINTS, 2)) + np.where(narrow, 1.0, 0.0)


def heavy_tails(rng: Rng) -> np.ndarray:
    return rng.standard_t(3, (POINTS, 2)) * [1, 5] + [0, 50]


def five(rng: Rng) -> np.ndarray:
    mixing = np.random.default_rng(7).standard_normal((5, 5))
    centres = np.random.default_rng(8).standard_normal((3, 5)) * 3
    return (centres[rng.integers(3, size=POINTS)] + rng.standard_normal((POINTS, 5))) @ mixing * 10


def gaussian(rng: Rng) -> np.ndarray:
    return rng.standard_normal((POINTS, 20)) @ np.random.default_rng(9).standard_normal((20, 20))


def diabetes(rng: Rng) -> np.ndarray:
    """Nine measurements of 442 patients, in their units."""
    from sklearn.datasets import load_diabetes

    x = load_diabetes(scaled=False).data
    return np.delete(x, 1, axis=1)[rng.permutation(len(x))]  # without the sex, which has two values


SETS: dict[str, Callable[[Rng], np.ndarray]] = {
    "three blobs": blobs,
    "mean at 100": lambda rng: blobs(rng) + 100,
    "scale 1e-3": lambda rng: blobs(rng) * 1e-3,
    "scale 50": lambda rng: blobs(rng) * 50,
    "stretched pinwheel": pinwheel,
    "one dimension": line,
    "checkerboard": checkerboard,
    "rings": rings,
    "spirals": spirals,
    "swiss roll": swiss_roll,
    "two scales": scales,
    "heavy tails": heavy_tails,
    "5-D mixture": five,
    "20-D Gaussian": gaussian,
    "patients, 9-D": diabetes,
}
#: Three blobs in other units: their runs are the same, bit for bit (tests/engine/test_data_units.py).
IN_OTHER_UNITS = ("mean at 100", "scale 1e-3", "scale 50")
