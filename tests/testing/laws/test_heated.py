"""The law of heated energies catches an ability that ignores the temperature, and spins are spins."""

import pytest

from ebmkit.components.samplers.gibbs import Gibbs, GibbsState
from ebmkit.contracts.abilities import Blocks
from ebmkit.contracts.component import component
from ebmkit.testing import Broken, check_component
from ebmkit.testing.case import Case
from ebmkit.testing.law import Inapplicable
from ebmkit.testing.laws.sampler import keeps_the_target_when_heated


def test_a_right_ability_passes():
    keeps_the_target_when_heated(Gibbs(), Case((2,)))


def test_one_that_ignores_the_temperature_is_caught(monkeypatch):
    ignoring = Blocks.ability_info._replace(heated=lambda cold, temperature: cold)
    monkeypatch.setattr(Blocks, "ability_info", ignoring)
    with pytest.raises(AssertionError, match="at temperature 3"):
        keeps_the_target_when_heated(Gibbs(), Case((2,)))


def test_what_parallel_tempering_refuses_is_not_tested():
    with pytest.raises(Inapplicable, match="parallel tempering refuses it"):
        keeps_the_target_when_heated(Gibbs(temperature=2.0), Case((2,)))


@component("spins_only")
class SpinsOnly(Gibbs):
    """Gibbs sampling that insists on spins."""

    spaces = frozenset({"spin"})

    def init(self, energy, x, rng):
        if x.device.type == "cpu":
            assert set(x.unique().tolist()) <= {-1.0, 1.0}
        return GibbsState(x)


def test_the_states_of_a_spin_sampler_are_spins():
    report = check_component(SpinsOnly)
    assert "chains_are_independent" in report.obeyed


@component("with_images")
class WithImages(Gibbs):
    """Gibbs sampling that refuses everything."""

    def refusal(self, question):
        return None if question.data and len(question.event) == 9 else "takes tensors of nine axes"


def test_a_sampler_that_refuses_all_shapes_is_reported_with_its_reason():
    with pytest.raises(Broken, match="it takes tensors of nine axes"):
        check_component(WithImages)
