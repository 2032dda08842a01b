"""Forty runs, half of them sabotaged: which ones does the verdict flag, and what does it cost?

python benchmarks/verdict.py [SEED]

A run is good if its sliced Wasserstein distance to held-out data is at most twice that of training data; this ratio is
printed next to the verdict. Sabotaged runs have too large steps, too few steps of training or of chains, the wrong
noise, or chains that collapse. Flagged are runs whose samples "do not match"; those that "differ slightly" are counted
apart.
"""

from __future__ import annotations

import sys
import tempfile
import time
from typing import Any

from ebmkit import load_spec, run
from ebmkit.components.metrics.verdict import Verdict
from ebmkit.errors.base import EbmkitError

GOOD_SET, BAD_SET = "good", "sabotaged"

ADAM = {"use": "adam", "lr": 1e-2}
TRAIN = {"steps": 1000, "optimizer": ADAM, "final_lr": 0.02, "ema": 0.99}
WALK = {"use": "metropolis", "steps": 200, "scale": 2.0, "center": 0.0}
VP = {"use": "vp"}


def correlated(d: int) -> dict[str, Any]:
    """A Gaussian whose neighbouring coordinates have a correlation of 0.6."""
    covariance = [[0.6 ** abs(i - j) for j in range(d)] for i in range(d)]
    return {"use": "from_model", "model": {"use": "gaussian", "mean": [0.0] * d, "covariance": covariance}}


BLOBS = {
    "use": "from_model",
    "model": {
        "use": "gaussian_mixture",
        "means": [[-1.5, 0.0], [1.5, 0.0], [0.0, 1.5]],
        "weights": [0.5, 0.3, 0.2],
        "covariances": [[[0.1, 0.0], [0.0, 0.1]]] * 3,
    },
}
LINE = {"use": "from_model", "model": "mixture_1d"}
SPINS = {"use": "boltzmann", "weights": [[0, -1, -1], [-1, 0, 2], [-1, 2, 0]], "biases": [0, 1, 0], "values": "spin"}


def energy(data: Any, objective: Any = "nce", sampler: Any = None, **more: Any) -> dict[str, Any]:
    """An energy-based model."""
    sampler = sampler or WALK
    known = {"model": {"use": "mlp", "hidden": [64, 64]}, "train": TRAIN, **more}
    return {"data": data, "objective": objective, "sampler": sampler, **known}


def score(data: Any, steps: int = 1500, **sampler: Any) -> dict[str, Any]:
    """A score network."""
    return {
        "parts": {"noise": VP},
        "data": data,
        "model": {"use": "mlp_score", "schedule": "$noise"},
        "objective": {"use": "sde_score_matching", "schedule": "$noise"},
        "train": {**TRAIN, "steps": steps, "batch_size": 512, "optimizer": {"use": "adam", "lr": 3e-3}},
        "sampler": {"use": "reverse_sde", "schedule": "$noise", "steps": 100, **sampler},
    }


def langevin(step_size: float, steps: int = 300, **more: Any) -> dict[str, Any]:
    return {"use": "langevin", "step_size": step_size, "steps": steps, **more}


PCD = {"use": "mle", "energy_l2": 0.001, "init": {"use": "replay", "rejuvenation": 0.01}}
FAMILY = {"use": "exponential_family"}

#: Methods and data that are known to work.
GOOD: dict[str, dict[str, Any]] = {
    "two moons, nce": energy("two_moons"),
    "two moons, conditional_nce": energy("two_moons", "conditional_nce"),
    "two moons, ranking_nce": energy("two_moons", "ranking_nce"),
    "two moons, score network": score("two_moons"),
    "eight gaussians, nce": energy("eight_gaussians", train={**TRAIN, "steps": 2000}, sampler={**WALK, "scale": 3.0}),
    "eight gaussians, score network": score("eight_gaussians", 2500),
    "checkerboard, nce": energy("checkerboard", train={**TRAIN, "steps": 2000}, sampler={**WALK, "scale": 3.0}),
    "swiss roll, score network": score("swiss_roll"),
    "three blobs, nce": energy(BLOBS),
    "three blobs, score network": score(BLOBS),
    "one dimension, nce": energy(LINE, sampler={**WALK, "scale": 5.0}),
    "one dimension, score network": score(LINE),
    "5-D, nce": energy(correlated(5), sampler=langevin(0.02)),
    "5-D, sliced score matching": energy(correlated(5), "sliced_score_matching", langevin(0.02)),
    "5-D, exponential family": energy(correlated(5), model=FAMILY, sampler=langevin(0.02)),
    "5-D, hmc chains": {**energy(correlated(5), sampler={"use": "hmc"}), "chains": {"count": 4, "burn_in": 100}},
    "20-D, nce": energy(correlated(20), sampler=langevin(0.02)),
    "20-D, maximum likelihood": energy(correlated(20), PCD, langevin(0.01, 500), train={**TRAIN, "optimizer": "adam"}),
    "20-D, conditional_nce": energy(correlated(20), "conditional_nce", langevin(0.02)),
    "spins, sampled exactly": {"data": {"use": "from_model", "model": SPINS}, "model": SPINS, "sampler": "exact"},
}
FEW = {**TRAIN, "steps": 20}
BOX = {"use": "nce", "noise": {"use": "uniform", "low": -300.0, "high": 300.0}}
POINT = {"use": "nce", "noise": {"use": "gaussian", "mean": [9.0, 9.0], "covariance": [[0.01, 0.0], [0.0, 0.01]]}}
NARROW = {"use": "nce", "noise": {"use": "gaussian", "mean": [12.0], "covariance": [[0.01]]}}
STILL = {"use": "noise", "scale": 0.001}

#: The same with one mistake each.
BAD: dict[str, dict[str, Any]] = {
    "large steps: two moons": energy("two_moons", sampler=langevin(0.3)),
    "large steps: three blobs": energy(BLOBS, sampler=langevin(0.3)),
    "large steps: one dimension": energy(LINE, sampler=langevin(1.5)),
    "large steps: 5-D": energy(correlated(5), sampler=langevin(0.3)),
    "large steps: 20-D": energy(correlated(20), sampler=langevin(0.3)),
    "few steps of chains: two moons": energy("two_moons", sampler=langevin(0.005, 5)),
    "few steps of chains: one dimension": energy(LINE, sampler=langevin(0.01, 10)),
    "few steps of chains: 20-D": energy(correlated(20), sampler=langevin(0.01, 5)),
    "few steps of chains: score network": score("eight_gaussians", steps=500) | {"samples": 2000},
    "few steps of training: two moons": energy("two_moons", train=FEW),
    "few steps of training: three blobs": energy(BLOBS, train=FEW),
    "few steps of training: score network": score("two_moons", 20),
    "wrong noise: two moons, a huge box": energy("two_moons", BOX),
    "wrong noise: three blobs, a point elsewhere": energy(BLOBS, POINT),
    "wrong noise: one dimension, a narrow one elsewhere": energy(LINE, NARROW),
    "collapsed chains: two moons": energy("two_moons", sampler=langevin(0.01, noise_std=0.001), init=STILL),
    "collapsed chains: eight gaussians": energy("eight_gaussians", sampler=langevin(0.002, 100), init=STILL),
    "collapsed chains: three blobs": energy(BLOBS, sampler=langevin(0.01, noise_std=0.001), init=STILL),
    "collapsed chains: 5-D": energy(correlated(5), sampler=langevin(0.01, noise_std=0.0001)),
    "collapsed chains: spins": {
        "data": {"use": "from_model", "model": SPINS},
        "model": SPINS,
        "sampler": {"use": "gibbs", "steps": 20, "temperature": 0.1},
    },
}
BAD["few steps of chains: score network"]["sampler"]["steps"] = 3


def spec_of(name: str, parts: dict[str, Any], seed: int) -> dict[str, Any]:
    """The whole spec."""
    flat = "spins" in name
    distance = [] if flat else [{"use": "sliced_wasserstein", "samples": 1000}]
    return {
        "ebmkit": 1,
        "name": "verdict",
        "seed": seed,
        "samples": 2000,
        "samples_every": None,
        "evaluate": distance,
    } | parts


def main(seed: int) -> None:
    """Run all of them and print a line for each."""
    spent: list[float] = []
    judge = Verdict.judge

    def timed(metric: Verdict, view: Any) -> Any:
        began = time.process_time()
        try:
            return judge(metric, view)
        finally:
            spent.append(time.process_time() - began)

    Verdict.judge = timed  # type: ignore[method-assign]
    for which, cases in ((GOOD_SET, GOOD), (BAD_SET, BAD)):
        levels = []
        for name, parts in cases.items():
            began = time.process_time()
            with tempfile.TemporaryDirectory() as folder:
                level, words, distance = outcome(spec_of(name, parts, seed), folder)
            seconds = time.process_time() - began
            levels.append(level)
            share = spent[-1] / seconds if spent else 0.0
            print(f"{which:9} {level:9} {distance:>6} {seconds:5.1f} s {share:5.1%}  {name}: {words}", flush=True)
        flagged, slight = (sum(level == word for level in levels) for word in ("mismatch", "slight"))
        print(f"{which}: {flagged} of {len(levels)} do not match, {slight} differ slightly", flush=True)


def outcome(spec: dict[str, Any], folder: str) -> tuple[str, str, str]:
    """Level, words, and the distance in multiples of that of training data."""
    try:
        record = run(load_spec(spec), runs_dir=folder, report=False)
    except EbmkitError as error:
        return "mismatch", f"stopped: {error.message}", ""
    if not record.verdict:
        return "mismatch", "; ".join(failure.error.message for failure in record.failed), ""
    found = record.results
    times = found["sliced_wasserstein"] / found["sliced_wasserstein_floor"] if "sliced_wasserstein" in found else 0.0
    return record.verdict["level"], record.verdict["words"], f"{times:.2f}x" if times else ""


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
