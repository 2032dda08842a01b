"""Restricted Boltzmann machines of other libraries and of ebmkit, by exact log-likelihood and by CPU time.

    .venv/bin/python benchmarks/rbm_likelihood.py [--seeds N] [--updates N]

Every machine has 20 hidden units, learns the binarized digits (8 x 8) with this number of updates of batches of 128,
and is given the best of three learning rates. The mean log-likelihood of held-out digits is exact, by a sum over the
states of the hidden units. Chains are persistent, except in learnergy, which has contrastive divergence (CD-1) only.
A second table has the CPU time of whole runs of ebmkit, start and checkpoints included, that are just long enough to
reach the likelihood of scikit-learn after all of its updates.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from statistics import median

import torch
from peers import enter_the_environment
from torch import Generator, Tensor

HIDDEN, BATCH = 20, 128

#: Weights `(D, H)`, biases of visible and of hidden units.
Machine = tuple[Tensor, Tensor, Tensor]


def digits(split: str) -> Tensor:
    from ebmkit.components.data.digits import Digits

    return Digits(binarize="binary").load(split, Generator()).x.flatten(1).float()


def ebmkit(train: Tensor, rate: float, seed: int, updates: int) -> Machine:
    """The run of a spec, with Adam: report and pictures are not drawn."""
    import ebmkit

    spec = {
        "ebmkit": 1,
        "name": "rbm",
        "seed": seed,
        "threads": 1,
        "data": {"use": "digits", "binarize": "binary"},
        "model": {"use": "rbm", "hidden": HIDDEN},
        "objective": {
            "use": "mle",
            "sampler": {"use": "gibbs", "steps": 1},
            "init": {"use": "persistent", "chains": BATCH},
        },
        "train": {"steps": updates, "batch_size": BATCH, "optimizer": {"use": "adam", "lr": rate}},
        "sampler": {"use": "gibbs", "steps": 1},
        "samples": 2,
        "samples_every": None,
    }
    with tempfile.TemporaryDirectory() as folder:
        record = ebmkit.run(spec, runs_dir=folder, report=False)
        module = ebmkit.open_run(record.folder).model
        return module.weights, module.visible_biases, module.hidden_biases


def scikit_learn(train: Tensor, rate: float, seed: int, updates: int) -> Machine:
    from sklearn.neural_network import BernoulliRBM

    epochs = round(updates / -(-len(train) // BATCH))
    made = BernoulliRBM(HIDDEN, learning_rate=rate, batch_size=BATCH, n_iter=epochs, random_state=seed)
    made.fit(train.numpy())
    found = made.components_.T, made.intercept_visible_, made.intercept_hidden_
    weights, visible, hidden = (torch.from_numpy(each.copy()) for each in found)
    return weights, visible, hidden


def learnergy(train: Tensor, rate: float, seed: int, updates: int) -> Machine:
    import logging

    from learnergy.models.bernoulli.rbm import RBM
    from torch.utils.data import TensorDataset

    logging.disable(logging.CRITICAL)
    torch.manual_seed(seed)
    made = RBM(n_visible=train.shape[1], n_hidden=HIDDEN, steps=1, learning_rate=rate)
    made.fit(TensorDataset(train, torch.zeros(len(train))), BATCH, round(updates / -(-len(train) // BATCH)))
    return made.W, made.a, made.b


def ebm(train: Tensor, rate: float, seed: int, updates: int) -> Machine:
    """The library that PyPI calls ebmkit, with Adam."""
    from ebm import ContrastiveDivergence, GibbsSampler, ReplayBuffer
    from ebm.nets import RBM

    torch.manual_seed(seed)
    made = RBM(train.shape[1], HIDDEN)
    start = torch.randint(2, (BATCH, train.shape[1])).float()
    buffer = ReplayBuffer(BATCH, tuple(train.shape[1:]), reinit_prob=0.0, init_fn=lambda shape: start[: shape[0]])
    loss = ContrastiveDivergence(GibbsSampler(1), buffer)
    adam = torch.optim.Adam(made.parameters(), lr=rate)
    for _ in range(updates):
        out = loss(made, train[torch.randint(len(train), (BATCH,))])
        adam.zero_grad()
        out.loss.backward()
        adam.step()
    return made.W.T, made.b, made.c


Train = Callable[[Tensor, float, int, int], Machine]

#: With plain gradient steps learning rates are larger than with Adam.
CONTENDERS: dict[str, tuple[Train, tuple[float, ...]]] = {
    "ebmkit, PCD-1": (ebmkit, (0.003, 0.01, 0.03)),
    "scikit-learn, PCD-1": (scikit_learn, (0.01, 0.03, 0.1)),
    "learnergy, CD-1": (learnergy, (0.03, 0.1, 0.3)),
    "ebm, PCD-1": (ebm, (0.003, 0.01, 0.03)),
}


def log_likelihood(machine: Machine, x: Tensor) -> float:
    """The exact mean, in float64."""
    weights, visible, hidden = (each.detach().double() for each in machine)
    x = x.double()
    h = torch.cartesian_prod(*[torch.tensor([0.0, 1.0], dtype=torch.float64)] * len(hidden))
    parts = [
        some @ hidden + torch.nn.functional.softplus(some @ weights.T + visible).sum(1) for some in h.split(1 << 16)
    ]
    log_z = torch.cat(parts).logsumexp(0)
    free = x @ visible + torch.nn.functional.softplus(x @ weights + hidden).sum(1)
    return float(free.mean() - log_z)


def race(train: Tensor, test: Tensor, seeds: int, updates: int) -> None:
    """How soon ebmkit is where scikit-learn ends, for each seed, with the best of three learning rates each."""
    print("\n| seed | scikit-learn, likelihood | CPU s | ebmkit, updates | likelihood | CPU s | ratio |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    _, rates = CONTENDERS["ebmkit, PCD-1"]
    ebmkit(train, rates[0], 0, 20)  # imports
    for seed in range(seeds):
        _, their_rates = CONTENDERS["scikit-learn, PCD-1"]
        level, taken = max(timed(scikit_learn, train, test, rate, seed, updates) for rate in their_rates)
        for count in range(50, updates + 1, 50):
            found, own = max(timed(ebmkit, train, test, rate, seed, count) for rate in rates)
            if found >= level:
                break
        print(
            f"| {seed} | {level:.2f} | {taken:.2f} | {count} | {found:.2f} | {own:.2f} | {taken / own:.2f} |",
            flush=True,
        )


def timed(contender: Train, train: Tensor, test: Tensor, rate: float, seed: int, updates: int) -> tuple[float, float]:
    """The log-likelihood, and the CPU seconds of training."""
    began = time.process_time()
    machine = contender(train, rate, seed, updates)
    taken = time.process_time() - began
    return log_likelihood(machine, test), taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--updates", type=int, default=3000)
    options = parser.parse_args()
    enter_the_environment()
    torch.set_num_threads(1)
    train, test = digits("train"), digits("test")
    print("| library | learning rate | log-likelihood, median of seeds | worst | CPU ms an update |")
    print("|---|---:|---:|---:|---:|")
    for name, (contender, rates) in CONTENDERS.items():
        rows = []
        for rate in rates:
            found, taken = [], []
            for seed in range(options.seeds):
                likelihood, seconds = timed(contender, train, test, rate, seed, options.updates)
                taken.append(seconds / options.updates)
                found.append(likelihood)
            rows.append((median(found), min(found), rate, median(taken)))
        best = max(rows)
        print(f"| {name} | {best[2]:g} | {best[0]:.2f} | {best[1]:.2f} | {1000 * best[3]:.2f} |", flush=True)
    race(train, test, options.seeds, options.updates)


if __name__ == "__main__":
    main()
