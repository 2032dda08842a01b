"""A plugin that brings an ability of its own: a model that offers it, and a sampler that asks for it."""

import itertools
from pathlib import Path

import pytest
import torch

from ebmkit import load_spec, run
from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import Energy
from ebmkit.components.samplers.parallel_tempering import ParallelTempering
from ebmkit.contracts.abilities import Conditionals, SampleExact
from ebmkit.contracts.ability import ability
from ebmkit.errors.running import ComponentFailed
from ebmkit.errors.schema import PluginBroken
from ebmkit.registry.loading import Plugins
from ebmkit.registry.registry import Registry
from ebmkit.testing import check_component
from ebmkit.testing.laws import laws_of
from tests.registry import rbm_plugin
from tests.registry.rbm_plugin import RBM, BlockGibbs, Layers, Units

PLUGIN = Path(rbm_plugin.__file__)
VISIBLE = 5


def machine():
    """An RBM with strong couplings, and the exact probabilities of its visible states."""
    module = RBM(hidden=3).build((VISIBLE,)).double()
    rng = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(2.5 * torch.randn(parameter.shape, generator=rng, dtype=torch.float64))
    states = torch.tensor(list(itertools.product((0.0, 1.0), repeat=VISIBLE)), dtype=torch.float64)
    with torch.no_grad():
        return module, states, (-module(states)).softmax(0)


def frequencies(sampler, module, n, seed):
    """How often chains from fair coins end in each state."""
    rng = torch.Generator().manual_seed(seed)
    start = torch.bernoulli(torch.full((n, VISIBLE), 0.5, dtype=torch.float64), generator=rng)
    return counted(run_chain(sampler, module, start, rng).x)


def counted(x):
    numbers = (x * 2.0 ** torch.arange(VISIBLE - 1, -1, -1)).sum(1).long()
    return torch.bincount(numbers, minlength=2**VISIBLE)


def chi_square(counts, p):
    """The p-value of counts, with states that are expected fewer than 10 times taken together."""
    expected = p * counts.sum()
    rare = expected < 10
    observed = torch.cat([counts[~rare].double(), counts[rare].sum().double().view(1)])
    wanted = torch.cat([expected[~rare], expected[rare].sum().view(1)]).clamp(min=1e-9)
    statistic = ((observed - wanted).square() / wanted).sum()
    half = torch.tensor((len(observed) - 1) / 2, dtype=torch.float64)
    return float(torch.special.gammaincc(half, statistic / 2))


def test_it_has_at_most_75_lines():
    assert len(PLUGIN.read_text().splitlines()) <= 75


def test_every_law_of_samplers_examines_it():
    report = check_component(BlockGibbs)
    assert set(report.obeyed) == {law.__name__ for law in laws_of("sampler")}
    assert not report.inapplicable


def test_it_trains(tmp_path):
    truth = {"use": "boltzmann", "weights": [[0, 2, 0, 0], [2, 0, 0, 0], [0, 0, 0, -2], [0, 0, -2, 0]]}
    spec = {
        "ebmkit": 1,
        "data": {"use": "from_model", "model": truth, "size": 2000, "test_size": 2000},
        "model": {"use": "rbm_plugin.rbm", "hidden": 4},
        "objective": {"use": "mle", "energy_l2": 0.0, "sampler": {"use": "rbm_plugin.block_gibbs", "steps": 5}},
        "train": {"steps": 600, "optimizer": {"use": "adam", "lr": 0.05}},
        "evaluate": [{"use": "probability", "of": [[0, 1], [1, 0]], "samples": 4000}],
        "samples": 4000,
    }
    record = run(load_spec(spec, plugins=[str(PLUGIN)]), runs_dir=tmp_path)
    # Units 0 and 1 of the data agree: x0 = 1 and x1 = 0 has probability 1 / (3 + e^2) = 0.096; untrained it is 1/4.
    assert record.results["p(x0=1&x1=0)_exact"] == pytest.approx(0.096, abs=0.03)


@pytest.mark.parametrize("sampler", [BlockGibbs(steps=20), ParallelTempering(sampler=BlockGibbs(steps=2), steps=12)])
def test_it_is_right_by_enumeration(sampler):
    module, _, p = machine()
    assert chi_square(frequencies(sampler, module, 8_000, 1), p) > 1e-6


@pytest.mark.parametrize("outer", ["parallel_tempering", "simulated_annealing"])
def test_a_sampler_around_it_passes_on_what_it_needs(outer):
    """The ability is known where the inner sampler is, though the outer one is of ebmkit."""
    moves = {"use": "rbm_plugin.block_gibbs", "steps": 2}
    spec = {
        "ebmkit": 1,
        "data": {"use": "from_model", "model": {"use": "boltzmann", "weights": [[0, 2], [2, 0]]}},
        "model": "rbm_plugin.rbm",
        "objective": {"use": "mle", "sampler": moves},
        "train": {"steps": 1},
        "sampler": {"use": outer, "sampler": moves},
    }
    sampler = load_spec(spec, plugins=[str(PLUGIN)]).spec.sampler
    assert sampler is not None
    assert "layers" in sampler.traits().needs


def hot_frequencies(module, temperature, seed):
    """How often block Gibbs chains on `E / T` end in each state."""
    rng = torch.Generator().manual_seed(seed)
    x = torch.bernoulli(torch.full((8_000, VISIBLE), 0.5, dtype=torch.float64), generator=rng)
    hot = Energy(module).at(torch.full((len(x),), temperature, dtype=torch.float64))
    state = BlockGibbs().init(hot, x, rng)
    for _ in range(20):
        state, _ = BlockGibbs().step(hot, state, rng)
    return counted(state.x)


def test_chains_of_a_heated_energy_are_right_by_enumeration():
    module, states, _ = machine()
    with torch.no_grad():
        p = (-module(states) / 4).softmax(0)
    assert chi_square(hot_frequencies(module, 4.0, 1), p) > 1e-6


def test_an_ability_that_ignores_the_temperature_is_seen_by_that(monkeypatch):
    """What happened before: a sampler inside parallel tempering sampled exp(-E) at every temperature."""
    module, states, cold = machine()
    ignoring = Layers.ability_info._replace(heated=lambda original, temperature: original)
    monkeypatch.setattr(Layers, "ability_info", ignoring)

    def step(self, energy, state, rng):
        return Units(redrawn(energy, state, rng), state.energy), None

    monkeypatch.setattr(BlockGibbs, "step", step)
    found = hot_frequencies(module, 4.0, 1)
    with torch.no_grad():
        assert chi_square(found, (-module(states) / 4).softmax(0)) < 1e-6
    assert chi_square(found, cold) > 1e-6  # exp(-E) it is


def redrawn(energy, state, rng):
    return energy.ask(Layers).redraw(state.x, rng)


def test_a_heated_energy_binds_the_temperature_or_refuses():
    module, states, _ = machine()
    temperature = torch.full((len(states),), 3.0, dtype=torch.float64)
    hot = Energy(module).at(temperature)
    torch.testing.assert_close(hot.ask(Layers).free_energy(states), module.free_energy(states, 3.0))
    with pytest.raises(TypeError, match="no ability 'conditionals'"):
        hot.ask(Conditionals)
    module.sample_exact = lambda n, rng: None
    with pytest.raises(TypeError, match="'sample_exact' is only defined at temperature 1"):
        hot.ask(SampleExact)
    with pytest.raises(TypeError, match="has no module"):
        _ = hot.module


def test_an_ability_is_a_protocol_that_was_declared():
    with pytest.raises(TypeError, match=r"an ability must be a typing\.Protocol"):
        ability("wings")(type("Wings", (), {}))
    with pytest.raises(TypeError, match="is not an ability"):
        Energy(torch.nn.Identity()).ask(int)


def test_a_misspelt_ability_is_refused_with_a_suggestion(tmp_path):
    (tmp_path / "typo.py").write_text(PLUGIN.read_text().replace('"gradient", "layers"}', '"gradient", "layer"}'))
    with pytest.raises(PluginBroken, match=r"RBM\.offers names 'layer', which is no ability; did you mean 'layers'\?"):
        Registry(Plugins([str(tmp_path / "typo.py")])).find("model", "typo.rbm")


def test_a_module_without_what_its_model_offers_is_refused_at_the_models_line(tmp_path):
    broken = PLUGIN.read_text().replace("def redraw(self, x, rng, temperature=1.0)", "def draw(self, x, rng)")
    (tmp_path / "broken.py").write_text(broken)
    data = "{use: from_model, model: {use: boltzmann, shape: [4]}}"
    text = f"ebmkit: 1\nmodel: broken.rbm\ndata: {data}\nsampler: broken.block_gibbs\n"
    (tmp_path / "spec.yaml").write_text(text)
    plan = load_spec(tmp_path / "spec.yaml", plugins=[str(tmp_path / "broken.py")])
    with pytest.raises(
        ComponentFailed, match=r"model 'broken\.rbm': it offers 'layers', but its module has no redraw"
    ) as caught:
        run(plan, runs_dir=tmp_path)
    assert caught.value.place.line == 2
