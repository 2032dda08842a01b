"""What moves the weights, and what must not touch them."""

from __future__ import annotations

import dataclasses
import math
from itertools import pairwise

import pytest
import torch
from torch import nn

from ebmkit.chains.chain import run_chain
from ebmkit.components.samplers.langevin import Langevin
from ebmkit.engine.ema import RunningMean
from ebmkit.engine.folder import checkpoint
from ebmkit.engine.learning_rate import LearningRate
from ebmkit.engine.sampling import view_of
from ebmkit.errors.running import StorageFailed
from ebmkit.language.sections import Train


def energy_net():
    return nn.Sequential(nn.Linear(2, 4), nn.Dropout(0.5), nn.Linear(4, 1), nn.Flatten(0))


def test_a_chain_leaves_mode_gradients_and_weights_as_they_were():
    net = energy_net()
    net[1].eval()
    net[0].bias.requires_grad_(False)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    x = run_chain(Langevin(steps=3), net, torch.randn(6, 2), torch.Generator()).x
    assert not x.requires_grad
    assert [module.training for module in net.modules()] == [True, True, False, True, True]
    assert [p.requires_grad for p in net.parameters()] == [True, False, True, True]
    assert all(p.grad is None for p in net.parameters())
    assert all(value.equal(before[name]) for name, value in net.state_dict().items())


def test_a_chain_that_fails_leaves_them_too():
    net = energy_net()
    with pytest.raises(RuntimeError):
        run_chain(Langevin(steps=3), net, torch.randn(6, 3), torch.Generator())
    assert net.training
    assert all(p.requires_grad for p in net.parameters())


def test_the_running_mean_follows_its_formula_and_copies_buffers():
    net = nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1))
    with torch.no_grad():
        net[0].weight.fill_(0.0)
    mean = RunningMean(net)
    expected = 0.0
    for step in range(1, 200):
        with torch.no_grad():
            net[0].weight.fill_(float(step))
            net[1].running_mean.fill_(float(step))
        mean.update(step, 0.9)
        decay = min(0.9, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * step
    assert mean.module[0].weight.item() == pytest.approx(expected, rel=1e-5)
    assert mean.module[1].running_mean.item() == 199
    assert not any(p.requires_grad for p in mean.module.parameters())


def test_the_rate_falls_from_its_own_value_to_the_final_fraction():
    parameters = [nn.Parameter(torch.zeros(1)), nn.Parameter(torch.zeros(1))]
    optimizer = torch.optim.SGD([{"params": parameters[:1], "lr": 1.0}, {"params": parameters[1:], "lr": 0.1}])
    decay = LearningRate(optimizer, Train(steps=101, final_lr=0.02), [1.0, 0.1])
    rates = []
    for step in range(1, 102):
        decay.set(step)
        rates.append([group["lr"] for group in optimizer.param_groups])
    assert rates[0] == [1.0, 0.1]
    assert rates[-1] == pytest.approx([0.02, 0.002])
    assert rates[50] == pytest.approx([0.51, 0.051])
    assert all(later[0] < earlier[0] for earlier, later in pairwise(rates))


@pytest.mark.parametrize(
    ("decay", "expected"),
    [
        ("cosine", [1 / 3, 2 / 3, 1.0, 0.1 + 0.9 * (1 + math.cos(math.pi / 3)) / 2, 0.1 + 0.9 / 4, 0.1]),
        ("linear", [1 / 3, 2 / 3, 1.0, 0.7, 0.4, 0.1]),
        ("exponential", [1 / 3, 2 / 3, 1.0, 0.1 ** (1 / 3), 0.1 ** (2 / 3), 0.1]),
    ],
)
def test_the_rate_rises_and_falls_as_asked(decay, expected):
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=2.0)
    rate = LearningRate(optimizer, Train(steps=6, warmup=2, decay=decay, final_lr=0.1), [2.0])
    seen = []
    for step in range(1, 7):
        rate.set(step)
        seen.append(optimizer.param_groups[0]["lr"] / 2)
    assert seen == pytest.approx(expected)


def test_a_final_fraction_of_one_leaves_the_rate_alone():
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.3)
    LearningRate(optimizer, Train(steps=10, final_lr=1.0), [0.3]).set(7)
    assert optimizer.param_groups[0]["lr"] == 0.3


def test_the_samples_of_a_finished_run_can_be_drawn_again(finished):
    from safetensors.torch import load_file

    kept = load_file(finished.folder / "samples" / "samples.safetensors")["x"]
    again = view_of(finished.plan, finished.folder, samples=60).samples(60)
    assert again[:50].equal(kept)
    other = view_of(finished.plan, finished.folder, samples=60, seed=99).samples(60)
    assert not other[:50].equal(kept)
    assert math.prod(other.shape) == 120


def test_chains_go_on_from_the_buffer_if_asked_and_looking_changes_nothing(small, plan_of, tmp_path, undrawn):
    from safetensors.torch import load_file

    from ebmkit import run

    del small["sampler"]
    # A chain of tiny steps stays where it begins: the samples show where that was.
    sampler = {"use": "langevin", "steps": 1, "step_size": 1e-9}
    init = {"use": "replay", "size": 40, "rejuvenation": 0.0}
    small |= {"objective": {"use": "mle", "sampler": sampler, "init": init}, "init": "training"}
    small["evaluate"] = [{"use": "mmd", "samples": 50, "every": 5}]
    record = run(plan_of(small), runs_dir=tmp_path)
    kept = load_file(record.folder / "samples" / "samples.safetensors")["x"]
    *_, saved = sorted(record.folder.glob("checkpoints/*/extras.safetensors"))
    buffer = load_file(saved)["positions"]
    assert torch.cdist(kept, buffer).min(dim=1).values.max() < 1e-3
    assert view_of(record.plan, record.folder, samples=50).samples(50).equal(kept)

    del small["evaluate"]
    undisturbed = run(plan_of(small), runs_dir=tmp_path)
    *_, again = sorted(undisturbed.folder.glob("checkpoints/*/extras.safetensors"))
    assert again.read_bytes() == saved.read_bytes()


def test_a_damaged_checkpoint_is_refused(finished, tmp_path):
    import shutil

    folder = shutil.copytree(finished.folder, tmp_path / "run")
    (weights,) = folder.glob("checkpoints/*/mean.safetensors")
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(bytes(content))
    with pytest.raises(StorageFailed, match="damaged"):
        view_of(finished.plan, folder, samples=5)


def test_a_checkpoint_without_manifest_does_not_count(finished, tmp_path):
    import shutil

    folder = shutil.copytree(finished.folder, tmp_path / "run")
    next(folder.glob("checkpoints/*/manifest.json")).unlink()
    with pytest.raises(StorageFailed, match="no valid checkpoint"):
        view_of(finished.plan, folder, samples=5)


def test_weights_of_another_model_are_refused(finished, small, plan_of):
    small["model"]["hidden"] = [9]
    with pytest.raises(StorageFailed, match="there is no valid checkpoint") as caught:
        view_of(plan_of(small), finished.folder, samples=5)
    assert "belongs to another experiment" in caught.value.help
    pretended = dataclasses.replace(plan_of(small), hash=finished.plan.hash)
    with pytest.raises(StorageFailed, match="does not fit the spec"):
        view_of(pretended, finished.folder, samples=5)


def test_tied_weights_can_be_saved(tmp_path):
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    saved = checkpoint.Saved(1, {"model": dict(net.state_dict())}, {})
    folder = checkpoint.save(tmp_path, "experiment", saved)
    again = checkpoint.read(folder, "experiment").tensors["model"]
    assert all(again[name].equal(tensor) for name, tensor in net.state_dict().items())
