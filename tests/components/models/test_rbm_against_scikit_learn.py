"""Persistent contrastive divergence against that of scikit-learn, by the exact log-likelihood of binarized digits."""

from __future__ import annotations

import pytest
import torch

import ebmkit
from ebmkit.components.models.rbm import RBM

sklearn = pytest.importorskip("sklearn.neural_network")

HIDDEN, UPDATES, BATCH = 20, 3000, 128
SPEC = {
    "ebmkit": 1,
    "name": "rbm",
    "data": {"use": "digits", "binarize": "binary"},
    "model": {"use": "rbm", "hidden": HIDDEN},
    "objective": {
        "use": "mle",
        "sampler": {"use": "gibbs", "steps": 1},
        "init": {"use": "persistent", "chains": BATCH},
    },
    "sampler": {"use": "gibbs", "steps": 10},
    "samples": 100,
    "samples_every": None,
    "evaluate": ["log_likelihood"],
}


def ours(rate, folder):
    train = {"steps": UPDATES, "batch_size": BATCH, "optimizer": {"use": "adam", "lr": rate}}
    return ebmkit.run({**SPEC, "train": train}, runs_dir=folder, report=False).results["log_likelihood"]


def theirs(rate, train, test):
    """BernoulliRBM has the same chains, a batch of them that are never restarted, and a constant learning rate."""
    batches = -(-len(train) // BATCH)
    machine = sklearn.BernoulliRBM(
        HIDDEN, learning_rate=rate, batch_size=BATCH, n_iter=UPDATES // batches, random_state=0
    ).fit(train.numpy())
    module = RBM(hidden=HIDDEN, shape=(64,)).build((64,)).double()
    with torch.no_grad():
        module.weights.copy_(torch.from_numpy(machine.components_.T))
        module.visible_biases.copy_(torch.from_numpy(machine.intercept_visible_))
        module.hidden_biases.copy_(torch.from_numpy(machine.intercept_hidden_))
        return float(-module(test).mean() - module.log_z())


@pytest.mark.long
def test_the_best_of_three_learning_rates_is_at_least_as_good(tmp_path):
    data = ebmkit.load_spec({**SPEC, "train": {"steps": 1, "batch_size": BATCH}}).spec.data
    train, test = (data.load(split, torch.Generator()).x.flatten(1).double() for split in ("train", "test"))
    best = max(theirs(rate, train, test) for rate in (0.01, 0.03, 0.1))
    assert max(ours(rate, tmp_path / f"{rate:g}") for rate in (0.003, 0.01, 0.03)) >= best
