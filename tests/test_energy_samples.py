"""`ebmkit.sample`: chains on an energy, without a spec."""

import warnings

import numpy as np
import pytest
import torch

import ebmkit
from ebmkit.components.models import Banana, Gaussian
from ebmkit.components.samplers import HMC, Langevin
from ebmkit.engine import session
from ebmkit.engine.limit import Limit
from ebmkit.errors.base import Mistakes
from ebmkit.errors.running import ComponentFailed, Diverged

pytestmark = pytest.mark.usefixtures("one_thread")


def gaussian(x):
    """Mean (1, -2), standard deviations 1 and 3."""
    return 0.5 * (((x - x.new_tensor([1.0, -2.0])) / x.new_tensor([1.0, 3.0])) ** 2).sum(-1)


def quietly(*args, **settings):
    """Short chains, which warn that they are short."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ebmkit.sample(*args, **{"samples": 80, "warmup": 150, "device": "cpu", **settings})


@pytest.fixture(scope="module")
def draws():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing to doubt
        return ebmkit.sample(gaussian, event=(2,), samples=4000, device="cpu")


def test_draws_are_those_of_the_density(draws):
    """Within 4.9 standard errors of each of four numbers, as the effective number of draws has them: a false alarm in
    one of 250,000."""
    assert draws.draws.shape == (4, 1000, 2)
    x = draws.draws.flatten(0, 1).double()
    ess, sd = draws.ess_bulk, torch.tensor([1.0, 3.0])
    assert bool(((x.mean(0) - torch.tensor([1.0, -2.0])).abs() < 4.9 * sd / ess.sqrt()).all())
    assert bool(((x.std(0) / sd - 1).abs() < 4.9 / (ess / 2).sqrt()).all())


def test_diagnostics_come_with_them(draws):
    assert draws.rhat.shape == draws.ess_bulk.shape == draws.ess_tail.shape == (2,)
    assert float(draws.rhat.max()) < 1.01
    assert draws.converged
    assert draws.divergences == 0
    assert 0.6 < draws.acceptance < 0.95
    assert draws.stats["energy"].shape == (4, 1000)
    assert torch.allclose(draws.stats["energy"], gaussian(draws.draws), atol=1e-4)
    assert float(draws.tuning["step_size"]) > 0
    assert repr(draws).startswith("EnergySamples(4 chains of 1,000 draws of (2,): R-hat at most 1.00")


def test_the_summary_is_a_table(draws):
    table = draws.summary()
    mean, sd, mcse, low, median, high, *_ = table.rows["x[1]"]
    x = draws.draws[..., 1].double().flatten()
    assert (mean, sd) == pytest.approx((float(x.mean()), float(x.std())))
    assert mcse < 0.2
    assert low < median < high
    assert [line.split()[0] for line in str(table).splitlines()] == ["mean", "x[0]", "x[1]"]
    assert table._repr_html_().count("<tr>") == 3


def test_the_table_of_many_coordinates_says_how_many_more_there_are():
    table = quietly(lambda x: 0.5 * (x**2).flatten(1).sum(1), event=(3, 30), sampler="hmc").summary()
    assert "x[1, 19]" in table.rows
    assert str(table).endswith("and 40 more coordinates")


def test_arviz_has_the_draws(draws, arviz):
    data = draws.to_arviz()
    assert np.array_equal(data.posterior["x"].values, draws.draws.numpy())
    assert np.allclose(arviz.rhat(data)["x"].values, draws.rhat.numpy(), atol=1e-6)
    assert np.array_equal(data.sample_stats["lp"].values, -draws.stats["energy"].numpy())


def test_chains_that_have_not_converged_warn():
    with pytest.warns(UserWarning, match="R-hat is .* above 1.01, so the chains disagree"):
        drawn = ebmkit.sample(
            lambda x: 0.5 * (x.abs() - 20).square().sum(-1), (1,), init=[[-20.0], [20.0]] * 2, samples=400, device="cpu"
        )
    assert not drawn.converged


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 1)

    def forward(self, x):
        return 0.5 * (x**2).sum(-1) + self.layer(x).squeeze(-1)


@pytest.mark.parametrize(
    ("energy", "event"),
    [(Net(), (3,)), (Gaussian(mean=(0.0, 1.0)), None), ("banana", None), (Banana, None), ({"use": "banana"}, None)],
    ids=["module", "component", "name", "class", "dictionary"],
)
def test_an_energy_is_also_a_module_or_a_model(energy, event):
    drawn = quietly(energy, event, sampler=HMC(step_size=0.1))
    assert drawn.draws.shape[:2] == (4, 20)
    assert bool(drawn.draws.isfinite().all())


def test_a_module_keeps_its_mode_and_its_gradients():
    net = Net()
    quietly(net, (3,), sampler="hmc")
    assert net.training
    assert net.layer.weight.requires_grad
    assert net.layer.weight.grad is None


@pytest.mark.parametrize("init", [np.full((4, 2), 3.0), [3.0, 3.0], torch.full((2,), 3.0)])
def test_chains_start_where_they_are_told(init):
    still = Langevin(step_size=1e-12)
    drawn = quietly(gaussian, (2,), sampler=still, warmup=0, init=init)
    assert torch.allclose(drawn.draws, torch.tensor(3.0), atol=1e-3)


def test_the_shape_of_a_state_follows_from_starting_points():
    assert quietly(gaussian, init=np.zeros((4, 2))).draws.shape == (4, 20, 2)


def test_a_seed_decides_the_draws():
    one, same, other = (quietly(gaussian, (2,), seed=seed).draws for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_float64_is_kept():
    constant = torch.tensor([1.0, 2.0], dtype=torch.float64)
    assert quietly(lambda x: 0.5 * ((x - constant) ** 2).sum(-1), (2,), dtype="float64").draws.dtype == torch.float64


def test_a_sampler_without_a_gradient_needs_none():
    by_numpy = lambda x: torch.from_numpy(0.5 * (x.numpy() ** 2).sum(-1))  # noqa: E731
    assert quietly(by_numpy, (2,), sampler="metropolis").acceptance > 0.1


def in_place(x):
    x += 1
    return x.sum(-1)


WRONG = {
    "a sum over everything": (
        lambda x: (x**2).sum(),
        ComponentFailed,
        r"returned shape \(\) for states of shape \(4, 2\)",
    ),
    "a column": (lambda x: (x**2).sum(-1, keepdim=True), ComponentFailed, r"returned shape \(4, 1\)"),
    "a number": (lambda x: float((x.detach() ** 2).sum()), ComponentFailed, "returned an object of type float"),
    "no gradient": (
        lambda x: x.detach().pow(2).sum(-1),
        ComponentFailed,
        "has no gradient, which sampler 'nuts' needs",
    ),
    "numpy": (lambda x: np.sum(x.numpy() ** 2), ComponentFailed, "returned an object of type float32"),
    "numpy inside": (
        lambda x: torch.as_tensor((x.numpy() ** 2).sum(-1)),
        ComponentFailed,
        "raised RuntimeError: Can't call numpy",
    ),
    "constants in float64": (
        lambda x: (x - torch.zeros(2, dtype=torch.float64)).pow(2).sum(-1),
        ComponentFailed,
        "returned float64 for states .* in float32; use dtype float64",
    ),
    "a matrix in float64": (
        lambda x: (x @ torch.eye(2, dtype=torch.float64)).pow(2).sum(-1),
        ComponentFailed,
        "same dtype.*use dtype float64",
    ),
    "NaN": (lambda x: (x - 100).sum(-1).log(), Diverged, "is NaN at 4 of 4 starting points; pass init="),
    "infinity": (lambda x: x.sum(-1) / 0, Diverged, "is -?inf"),
    "a gradient of NaN": (
        lambda x: (0 * x).norm(dim=-1) + (0 * x).sum(-1).sqrt(),
        Diverged,
        "gradient of the energy is",
    ),
    "a change of its argument": (in_place, ComponentFailed, "raised RuntimeError: .*in-place"),
    "an error": (lambda x: x.sum(-1) / (1 // 0), ComponentFailed, "raised ZeroDivisionError"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_energy_is_reported_in_one_sentence(case):
    energy, error, words = WRONG[case]
    with pytest.raises(
        error, match=f"^(the (gradient of the )?energy|model) .*{words.removeprefix('gradient of the energy')}"
    ) as caught:
        quietly(energy, (2,))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"event": None}, ValueError, "pass event="),
        ({"event": 2}, ValueError, r"the shape of a state is expected: event=\(2,\)"),
        ({"init": np.zeros((3, 2))}, ValueError, r"init has shape \(3, 2\), but \(4, 2\) or \(2,\) is expected"),
        ({"sampler": "nutz"}, Mistakes, r"^sampler E102 unknown sampler 'nutz' \(did you mean 'nuts'"),
        ({"chains": 0}, Mistakes, "^chains.count E"),
    ],
)
def test_wrong_settings_are_refused(settings, error, words):
    with pytest.raises(error, match=words):
        quietly(gaussian, **{"event": (2,), **settings})


def test_a_folder_keeps_the_chains_and_they_resume(tmp_path):
    drawn = quietly(gaussian, (2,), folder=tmp_path)
    assert torch.equal(drawn.draws, quietly(gaussian, (2,)).draws)
    paused = session.run(drawn.plan, runs_dir=tmp_path, limit=Limit(seconds=0))
    assert paused.status == "paused"
    ebmkit.resume(paused.folder, plugins=[gaussian], report=False)
    assert torch.equal(ebmkit.open_run(paused.folder, plugins=[gaussian]).view.draws.x, drawn.draws)
    with pytest.raises(Mistakes, match=r"plugins=\[gaussian\]"):
        ebmkit.open_run(paused.folder)
