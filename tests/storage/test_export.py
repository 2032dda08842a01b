"""What `write_draws` writes is what arviz opens, to the last bit."""

import json
import math

import pytest
import torch

from ebmkit.diagnostics.ess import ess_bulk
from ebmkit.diagnostics.rhat import rhat
from ebmkit.storage.export import write_draws
from tests.diagnostics.chains import autoregressive, normal, uniform

PRECISIONS = [torch.float32, torch.float64]


def seen(chains, draws, dtype):
    """What steps report, of a sampler that knows everything."""
    return {
        "energy": normal(chains, draws, seed=1).to(dtype),
        "acceptance": uniform(chains, draws, seed=2).to(dtype),
        "divergence": (uniform(chains, draws, seed=3) < 0.1).to(dtype) / 3,  # one of three steps, by thinning
    }


@pytest.mark.parametrize("dtype", PRECISIONS, ids=str)
@pytest.mark.parametrize("event", [(1,), (2,), (10,), (1, 4, 4)], ids=str)
def test_arviz_opens_what_was_written(arviz, tmp_path, event, dtype):
    x = normal(3, 41, *event).to(dtype)
    stats = seen(3, 41, dtype)
    write_draws(tmp_path / "new" / "draws.json", x, stats)
    opened = arviz.from_json(tmp_path / "new" / "draws.json")
    assert opened.groups() == ["posterior", "sample_stats"]
    assert opened.posterior["x"].dims[:2] == ("chain", "draw")

    def found(name):
        return torch.from_numpy(opened.sample_stats[name].values)

    assert torch.equal(torch.from_numpy(opened.posterior["x"].values), x.double())
    assert set(opened.sample_stats.data_vars) == {"lp", "acceptance_rate", "diverging"}
    assert torch.equal(found("lp"), -stats["energy"].double())
    assert torch.equal(found("acceptance_rate"), stats["acceptance"].double())
    assert found("diverging").dtype == torch.bool
    assert torch.equal(found("diverging"), stats["divergence"] > 0)
    assert bool(found("diverging").any())


def test_its_figures_of_the_file_are_ours_of_the_draws(arviz, tmp_path):
    x = autoregressive(4, 201, 6, 0.7).float().view(4, 201, 2, 3)
    write_draws(tmp_path / "draws.json", x, {})
    opened = arviz.from_json(tmp_path / "draws.json")
    assert opened.groups() == ["posterior"]  # nothing is known beside
    for ours, theirs in ((rhat, arviz.rhat), (ess_bulk, arviz.ess)):
        found = torch.from_numpy(theirs(opened)["x"].values)
        torch.testing.assert_close(ours(x), found, rtol=1e-9, atol=0)


@pytest.mark.parametrize("dtype", PRECISIONS, ids=str)
def test_every_number_comes_back(tmp_path, dtype):
    limits = torch.finfo(dtype)
    hard = [0.0, -0.0, 0.1, 1 / 3, -2 / 3e7, 1e-30, limits.max, limits.min, limits.tiny, limits.tiny * limits.eps, 5.0]
    x = torch.tensor([hard, hard], dtype=dtype)
    write_draws(tmp_path / "draws.json", x, {"energy": x})
    groups = json.loads((tmp_path / "draws.json").read_text())
    back = torch.tensor(groups["posterior"]["x"], dtype=torch.float64)
    assert torch.equal(back, x.double())
    assert torch.equal(back.to(dtype).signbit(), x.signbit())
    assert torch.equal(torch.tensor(groups["sample_stats"]["lp"], dtype=torch.float64), -x.double())


def test_a_number_that_is_not_finite_is_not_written(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        write_draws(tmp_path / "draws.json", torch.tensor([[0.0, math.nan]]), {})
    assert list(tmp_path.iterdir()) == []


def test_coordinates_have_the_names_of_columns(arviz, tmp_path):
    x = normal(2, 5, 2)
    write_draws(tmp_path / "draws.json", x, {}, ("length", "width"))
    opened = arviz.from_json(tmp_path / "draws.json")
    assert opened.posterior["x_dim_0"].values.tolist() == ["length", "width"]
    assert torch.equal(torch.from_numpy(opened.posterior["x"].sel(x_dim_0="width").values), x[..., 1].double())
