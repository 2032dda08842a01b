"""Every law catches what breaks it, and says who, which law and what was seen."""

import pytest

from ebmkit.components.bregman.kl import KullbackLeibler
from ebmkit.components.samplers.langevin import Langevin
from ebmkit.contracts.kinds import KINDS
from ebmkit.testing import Broken, Inapplicable, Report, Trial, check_component, examine, laws_of
from ebmkit.testing.case import cases_of
from tests.testing.laws import (
    planted_bregman,
    planted_data,
    planted_from_mistakes,
    planted_inits,
    planted_metrics,
    planted_models,
    planted_noise,
    planted_objectives,
    planted_rest,
    planted_samplers,
)
from tests.testing.planted_devices import Item

FILES = (
    planted_bregman,
    planted_data,
    planted_from_mistakes,
    planted_inits,
    planted_metrics,
    planted_models,
    planted_noise,
    planted_objectives,
    planted_rest,
    planted_samplers,
)
PLANTED = [Trial(component, law) for file in FILES for law, component in file.PLANTED]


@pytest.mark.parametrize("trial", PLANTED, ids=str)
def test_what_breaks_a_law_is_caught(trial):
    with pytest.raises(Broken) as caught:
        trial.run()
    said = str(caught.value)
    assert f"{trial.component.component_kind} '{trial.component.component_name}'" in said
    assert f"breaks '{trial.law.__name__}'" in said
    assert "The law: " in said


def test_what_is_announced_too_low_is_said_with_the_trait_to_set():
    (law,) = (law for law in laws_of("sampler") if law.__name__ == "evaluates_no_more_than_announced")
    with pytest.raises(Broken, match=r"super\(\)\.traits\(\)\._replace\(evaluations=2\)"):
        Trial(planted_samplers.EvaluatesMore(), law).run()


def test_no_law_is_without_something_that_breaks_it():
    every = {law for kind in KINDS for law in laws_of(kind)}
    assert every == {trial.law for trial in PLANTED}


def test_a_component_is_examined_before_all_laws_of_its_kind():
    report = examine(Item)
    assert set(report.broken) == {"runs_on_the_device"}
    assert {*report.obeyed, *report.broken, *report.inapplicable} == {law.__name__ for law in laws_of("sampler")}
    assert str(report).startswith(f"{len(report.obeyed)} laws obeyed, 1 broken")
    assert report.broken["runs_on_the_device"] in str(report)


def test_a_component_that_breaks_a_law_is_refused():
    law, wrong = planted_bregman.PLANTED[0]
    with pytest.raises(Broken, match=f"bregman '{wrong.component_name}' breaks '{law.__name__}'"):
        check_component(wrong)
    assert check_component(KullbackLeibler).broken == {}


def test_a_report_counts_laws_and_gives_reasons():
    assert str(Report(["one"], {}, {})) == "1 law obeyed"
    assert str(Report(["one", "two"], {}, {"third": "no GPU"})) == "2 laws obeyed, 1 not applicable:\n  third: no GPU"


def test_of_few_cases_another_comes_first_for_another_law():
    """So that all shapes are tried though no law is tried on all; where it says nothing, the next one is taken."""
    seen = []

    def law(component, case):
        seen.append(case.event)
        if case.event == (2,):
            raise Inapplicable("not in the plane")

    for number in range(40):
        law.__name__, before = f"law_{number}", len(seen)
        Trial(Langevin(), law, most=2).run()
        assert len([event for event in seen[before:] if event != (2,)]) == 2
    assert {case.event for case in cases_of(Langevin())} == set(seen)
