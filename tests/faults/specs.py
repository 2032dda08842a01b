"""Runs of half a second in which everything moves that a checkpoint has to hold."""

from __future__ import annotations

from typing import Any

#: A replay buffer, a running mean, two stages with optimizers of their own, rates that rise and fall, clipping, metrics
#: and samples on the way. Every third step is saved, so about half of the time is spent saving.
SHORT: dict[str, Any] = {
    "ebmkit": 1,
    "name": "short",
    "seed": 5,
    "device": "cpu",
    "data": {"use": "two_moons", "size": 200, "test_size": 100},
    "model": {"use": "mlp", "hidden": [8]},
    "objective": {
        "use": "mle",
        "sampler": {"use": "langevin", "steps": 3, "step_size": 0.01},
        "init": {"use": "replay", "size": 64, "rejuvenation": 0.1},
    },
    "train": [
        {
            "steps": 13,
            "batch_size": 16,
            "optimizer": {"use": "adam", "lr": 0.01},
            "warmup": 3,
            "final_lr": 0.1,
            "clip_gradient": 0.3,
            "ema": 0.9,
        },
        {
            "steps": 11,
            "batch_size": 32,
            "optimizer": {"use": "sgd", "lr": 0.01, "momentum": 0.9},
            "warmup": 2,
            "final_lr": 0.5,
            "decay": "linear",
            "ema": 0.95,
        },
    ],
    "samples": 64,
    "samples_every": 4,
    "evaluate": [{"use": "sliced_wasserstein", "samples": 64, "every": 5}],
    "checkpoint": {"every": 3},
}

#: So many steps that the numbers of two are recorded together: a checkpoint meets a window that is half full.
LONG: dict[str, Any] = {
    "ebmkit": 1,
    "name": "long",
    "seed": 6,
    "device": "cpu",
    "data": {"use": "two_moons", "size": 200, "test_size": 100},
    "model": {"use": "mlp", "hidden": [8]},
    "objective": {"use": "nce", "noise": "gaussian"},
    "train": [
        {"steps": 201, "batch_size": 16, "optimizer": {"use": "adamw", "lr": 0.01}, "ema": 0.9, "final_lr": 0.1},
        {"steps": 202, "batch_size": 16, "optimizer": {"use": "rmsprop", "lr": 0.001, "momentum": 0.5}},
    ],
    "sampler": {"use": "langevin", "steps": 5, "step_size": 0.01},
    "samples": 64,
    "evaluate": [{"use": "mmd", "samples": 64, "every": 100}],
    "checkpoint": {"every": 29, "keep": 1},
}

#: Stages that own a part, an objective and its extras: buffers of parts, and the whole network at the end.
PARTS: dict[str, Any] = {
    "ebmkit": 1,
    "name": "parts",
    "seed": 7,
    "device": "cpu",
    "data": {"use": "digits", "binarize": "binary", "resize": [2, 2]},
    "model": {"use": "dbn", "hidden": [3, 4]},
    "objective": {"use": "mle", "sampler": {"use": "gibbs", "steps": 2}, "init": {"use": "replay", "size": 64}},
    "train": [
        {"part": 1, "steps": 10, "batch_size": 16, "ema": 0.9},
        {"part": "layer_2", "steps": 11, "batch_size": 32, "ema": 0.9},
        {
            "part": 2,
            "steps": 7,
            "batch_size": 16,
            "objective": {
                "use": "mle",
                "sampler": {"use": "gibbs", "steps": 1},
                "init": {"use": "persistent", "chains": 16},
            },
        },
        {"steps": 9, "batch_size": 16, "objective": "exact_mle", "optimizer": {"use": "sgd", "momentum": 0.9}},
    ],
    "samples": 64,
    "samples_every": 4,
    "evaluate": [{"use": "variational_bound", "every": 5}, "log_likelihood"],
    "checkpoint": {"every": 3},
}

#: A deep machine: parts, then the whole by chains whose hidden units are kept, first from noise and then continued.
DEEP: dict[str, Any] = {
    "ebmkit": 1,
    "name": "deep",
    "seed": 8,
    "device": "cpu",
    "data": {"use": "digits", "binarize": "binary", "resize": [2, 2]},
    "model": {"use": "dbm", "hidden": [3, 4]},
    "objective": {
        "use": "variational_mle",
        "sampler": {"use": "gibbs", "steps": 2},
        "init": {"use": "replay", "size": 64, "rejuvenation": 0.1},
    },
    "train": [
        {"part": 1, "steps": 10, "batch_size": 16, "ema": 0.9},
        {"part": "layer_2", "steps": 11, "batch_size": 32, "ema": 0.9},
        {"steps": 12, "batch_size": 16, "ema": 0.9},
        {
            "steps": 8,
            "batch_size": 16,
            "objective": {
                "use": "variational_mle",
                "sampler": {"use": "gibbs", "steps": 1},
                "init": {"use": "persistent", "chains": 16},
            },
            "optimizer": {"use": "sgd", "momentum": 0.9},
        },
    ],
    "samples": 64,
    "samples_every": 4,
    "evaluate": [{"use": "variational_bound", "every": 5}, "log_likelihood"],
    "checkpoint": {"every": 3},
}
