"""An adversary with an optimizer, a rate and a number of steps of its own."""

import copy

import numpy as np
import pytest
import torch

import ebmkit
from ebmkit.components.objectives import Stein
from ebmkit.components.optimizers import SGD, Adam
from ebmkit.engine import session
from ebmkit.engine.folder.reproduction import compare
from ebmkit.engine.limit import Limit
from ebmkit.errors.base import Mistakes
from ebmkit.errors.running import Diverged
from ebmkit.language.load import load_spec
from ebmkit.language.rival import Rival

pytestmark = pytest.mark.usefixtures("one_thread")

#: All points are one, so that every batch is the same.
X = np.ones((60, 2)) * [0.3, -0.7]


def spec(train, objective=None):
    return {
        "ebmkit": 1,
        "model": {"use": "mlp", "hidden": [4]},
        "objective": objective or Stein(width=4),
        "train": {"steps": 4, "batch_size": 8, "optimizer": SGD(lr=0.05), "final_lr": 1.0, **train},
        "sampler": {"use": "hmc", "steps": 2},
        "scale": "none",
        "dtype": "float64",
        "samples": 5,
        "samples_every": None,
        "evaluate": [],
        "device": "cpu",
    }


def trained(tmp_path, train, **more):
    """The weights of both players at the end."""
    folder = ebmkit.run(spec(train, **more), data=X, runs_dir=tmp_path, report=False).folder
    run = ebmkit.open_run(folder)
    return run.model.state_dict(), run.extras.rival.state_dict()


def by_hand(plan, steps, k, rate, rival_rate):
    """The loop as a paper would write it."""
    parts = ebmkit.engine.build.build(plan)
    model, extras, objective = copy.deepcopy(parts.model), copy.deepcopy(parts.extras), plan.spec.objective
    batch = torch.tensor(X[:8])

    class Context:
        pass

    Context.extras = extras
    others, rivals = list(model.parameters()), list(extras.rival.parameters())
    for _ in range(steps):
        for number in range(k):
            loss = objective.loss(model, batch, Context)
            last = number == k - 1
            down = torch.autograd.grad(loss.value, others, retain_graph=True, allow_unused=True) if last else ()
            against = torch.autograd.grad(loss.rival, rivals)
            with torch.no_grad():
                for parameter, gradient in zip(others if last else (), down, strict=True):
                    if gradient is not None:
                        parameter -= rate * gradient
                for parameter, gradient in zip(rivals, against, strict=True):
                    parameter -= rival_rate * gradient
    return model.state_dict(), extras.rival.state_dict()


def equal(one, other, **tolerance):
    return all(torch.allclose(tensor, other[name], **tolerance) for name, tensor in one.items())


@pytest.mark.parametrize(("k", "rate"), [(1, 0.05), (1, 0.5), (3, 0.2)])
def test_a_rival_moves_as_by_hand(tmp_path, k, rate):
    rival = {"optimizer": {"use": "sgd", "lr": rate}, "steps": k}
    found = trained(tmp_path, {"rival": rival})
    wanted = by_hand(load_spec(spec({"rival": rival}), data=X), 4, k, 0.05, rate)
    assert all(equal(one, other, rtol=1e-10, atol=1e-12) for one, other in zip(found, wanted, strict=True))


def test_without_an_optimizer_of_its_own_it_has_that_of_the_stage(tmp_path):
    adam = {"optimizer": Adam(lr=0.01)}
    assert all(
        equal(one, other, rtol=0, atol=0)
        for one, other in zip(trained(tmp_path, adam), trained(tmp_path, {**adam, "rival": Rival()}), strict=True)
    )


def test_its_rate_rises_with_that_of_the_model(tmp_path):
    """With a warm-up over three steps, the first is taken at a quarter of the rate."""
    rising = {"warmup": 3, "rival": {"optimizer": SGD(lr=0.4)}}
    found = trained(tmp_path, {**rising, "steps": 4, "decay": "linear"})
    one_step = spec({**rising, "steps": 4})
    plan = load_spec(one_step, data=X)
    record = session.run(plan, runs_dir=tmp_path, limit=Limit(steps=1))
    view = ebmkit.engine.sampling.view_of(plan, record.folder)
    wanted = by_hand(plan, 1, 1, 0.05 / 4, 0.4 / 4)
    assert equal(view.parts.extras.rival.state_dict(), wanted[1], rtol=1e-10, atol=1e-12)
    assert not equal(found[1], wanted[1])


def test_gradients_of_the_rival_are_clipped_in_its_own_steps(tmp_path):
    """No step is longer than the rate times the bound."""
    bound = {"clip_gradient": 1e-3, "rival": {"optimizer": SGD(lr=0.1), "steps": 5}}
    before = ebmkit.engine.build.build(load_spec(spec(bound), data=X)).extras.rival.state_dict()
    after = trained(tmp_path, bound)[1]
    moved = torch.cat([(after[name] - tensor).flatten() for name, tensor in before.items()]).norm()
    assert 0 < float(moved) <= 4 * 5 * 0.1 * 1e-3 * (1 + 1e-9)


@pytest.mark.parametrize(
    "objective", [Stein(width=4), {"use": "adversarial", "noise": {"use": "generator", "latents": 2}}]
)
def test_a_run_with_two_optimizers_resumes_bit_for_bit(tmp_path, objective):
    train = {"optimizer": Adam(lr=0.01), "rival": {"optimizer": {"use": "rmsprop", "lr": 0.02}, "steps": 2}}
    x = np.random.default_rng(0).normal(size=(60, 2))
    plan = load_spec(spec(train, objective=objective), data=x)
    whole = session.run(plan, runs_dir=tmp_path / "whole")
    paused = session.run(plan, runs_dir=tmp_path / "paused", limit=Limit(steps=2))
    assert (paused.folder / "checkpoints/step-000002/rival_optimizer.safetensors").is_file()
    ebmkit.resume(paused.folder, report=False)
    same = compare(whole.folder, paused.folder)
    assert all(same.values()), same


def test_a_stage_that_owns_its_objective_may_have_one(tmp_path):
    stage = {"steps": 2, "batch_size": 8, "optimizer": SGD(lr=0.05)}
    stages = [{**stage, "objective": "nce"}, {**stage, "objective": Stein(width=4), "rival": {"steps": 2}}]
    of = {**spec({}), "train": stages}
    del of["objective"]
    x = np.random.default_rng(0).normal(size=(60, 2))
    plan = load_spec(of, data=x)
    whole = session.run(plan, runs_dir=tmp_path / "whole")
    paused = session.run(plan, runs_dir=tmp_path / "paused", limit=Limit(steps=3))
    ebmkit.resume(paused.folder, report=False)
    assert all(compare(whole.folder, paused.folder).values())


def test_an_objective_without_an_adversary_is_refused_before_there_is_a_folder(tmp_path):
    with pytest.raises(Mistakes, match="objective 'nce' has none") as caught:
        ebmkit.run(spec({"rival": {"steps": 2}}, objective="nce"), data=X + np.eye(60, 2), runs_dir=tmp_path)
    assert [str(mistake.place) for mistake in caught.value.mistakes] == ["train.rival"]
    assert not list(tmp_path.iterdir())


def test_a_rate_that_is_too_large_for_the_rival_stops_the_run(tmp_path):
    with pytest.raises(Diverged, match="stein"):
        trained(tmp_path, {"rival": {"optimizer": SGD(lr=1e300), "steps": 3}})


def test_its_parameters_are_checked():
    with pytest.raises(Mistakes, match=r"^train\.rival\.steps E106"):
        load_spec(spec({"rival": {"steps": 0}}), data=X)
