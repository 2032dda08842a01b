"""Testing a component against laws."""

from __future__ import annotations

import inspect
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import torch

from ebmkit.contracts.component import Component
from ebmkit.contracts.kinds import Model
from ebmkit.contracts.packages import lacking, package_missing
from ebmkit.errors.describe import describe_error
from ebmkit.errors.running import EnvironmentLacks
from ebmkit.registry.spelling import did_you_mean
from ebmkit.testing.case import Case, cases_of
from ebmkit.testing.example import instance
from ebmkit.testing.law import ExpectedFailure, Inapplicable, Law
from ebmkit.testing.laws import laws_of, own_laws_of
from ebmkit.testing.laws.model.shapes import NotRefused, failure_of_shape
from ebmkit.testing.report import Report
from ebmkit.testing.untouched import same_settings

#: Laws that a component is known to break, by name, with the reason; or a function of the component that gives them.
ExpectedFailures: TypeAlias = Mapping[str, str] | Callable[[Component], Mapping[str, str]]


class Broken(AssertionError):
    """A component breaks a law: which one, where, and what was observed."""


class Unexamined(Broken):
    """No law of its kind could be applied to a component, with the reasons."""


class HeldAfterAll(Broken):
    """A law holds that was expected to fail."""


@dataclass(frozen=True)
class Trial:
    """A test of one component against one law, in all cases that apply, or in some of them."""

    component: Component
    law: Law
    #: Maximum number of cases, among those that the law applies to. The choice is the same every time, and differs
    #: between trials. None: all cases.
    most: int | None = None
    #: Models to test it with, preferred to those that are found.
    partners: tuple[Model, ...] = ()
    #: Why the component is expected to break this law; empty if it is not.
    expected: str = ""

    def __str__(self) -> str:
        return f"{self.component.component_kind}/{self.component.component_name}/{self.law.__name__}"

    def run(self) -> str:
        """Raises `Broken`, or `Inapplicable` if the law applies to the component in no case. Returns what the law says
        about its own precision, if anything.

        If the component is expected to break the law, raises `ExpectedFailure` if it does and `HeldAfterAll` if not.
        """
        if not self.expected:
            return self._run()
        try:
            self._run()
        except Broken as broken:
            raise ExpectedFailure(f"as expected ({self.expected}), {broken}") from broken
        raise HeldAfterAll(
            f"{self._who()} obeys '{self.law.__name__}', which is expected to fail ({self.expected}); "
            "remove it from expected_failures"
        )

    def _run(self) -> str:
        for _, needy, package in lacking(self.component, ("component",)):
            raise Inapplicable(str(package_missing(needy, package)))
        reasons: list[str] = []
        remarks: list[str] = []
        cases = self._cases()
        for tried, case in enumerate(cases):
            if tried - len(reasons) == self.most:
                break
            try:
                with torch.random.fork_rng(devices=[]), same_settings():
                    remark = self.law(self.component, case)
                remarks += [f"{remark}{case}"] if remark else []
            except (Inapplicable, EnvironmentLacks) as reason:  # a GPU, or an optional package
                reasons.append(str(reason))
            except Exception as error:
                if unfit := self._unfit(case, error):
                    reasons.append(unfit)
                    continue
                seen = str(error) if isinstance(error, AssertionError) else describe_error(error)
                words = f"{self._who()} breaks '{self.law.__name__}'{case}: {seen}. {self._sentence()}"
                raise Broken(words) from error
        if len(reasons) == len(cases):
            raise Inapplicable("; ".join(dict.fromkeys(reasons)) or "it takes none of the test shapes")
        return remarks[0] if remarks else ""

    def _unfit(self, case: Case, error: Exception) -> str:
        """Why a law says nothing about a model on states that it does not take, which a law of its own reports."""
        if not isinstance(self.component, Model) or isinstance(error, NotRefused):
            return ""
        failed = failure_of_shape(self.component, case.event)
        return f"it fails{case}: {failed}" if failed else ""

    def _who(self) -> str:
        return f"{self.component.component_kind} '{self.component.component_name}'"

    def _cases(self) -> list[Case]:
        """The cases of the component. If not all are tested, the order depends on the law."""
        cases = cases_of(self.component, self.partners)
        if self.most is None or not cases:
            return cases
        first = zlib.crc32(str(self).encode()) % len(cases)
        return cases[first:] + cases[:first]

    def _sentence(self) -> str:
        """The statement of the law: the first paragraph of its docstring."""
        return "The law: " + " ".join((inspect.getdoc(self.law) or "").partition("\n\n")[0].split())


def trials(
    components: Iterable[Component | type[Component]],
    *,
    most: int | None = None,
    partners: Iterable[Model] = (),
    expected_failures: ExpectedFailures | None = None,
) -> list[Trial]:
    """A trial of each component for each law of its kind. Classes are instantiated by their defaults or their example.

    With `most` each law is tested in that number of cases, which differ between laws: faster, and nearly as strict. A
    sampler or an objective works with the first model that has the abilities it needs: of `partners`, of ebmkit, of the
    loaded plugins, and of the module and package that defines it.

    A law in `expected_failures` is reported with its reason if it is broken, and as an error if it holds.

    For pytest:

        @pytest.mark.parametrize("trial", trials([MySampler]), ids=str)
        def test_law(trial):
            trial.run()
    """
    made = [component if isinstance(component, Component) else instance(component) for component in components]
    given, expected = tuple(partners), [_expected(component, expected_failures) for component in made]
    found = [
        Trial(component, law, most, given, reasons.get(law.__name__, ""))
        for component, reasons in zip(made, expected, strict=True)
        for law in laws_of(component.component_kind)
    ]
    _check_names(expected, [trial.law.__name__ for trial in found])
    return found


def _expected(component: Component, failures: ExpectedFailures | None) -> Mapping[str, str]:
    return (failures(component) if callable(failures) else failures) or {}


def _check_names(expected: Iterable[Mapping[str, str]], laws: list[str]) -> None:
    """Raise for a law that does not exist, which could never hold after all, and for a missing reason."""
    for name, reason in (item for reasons in expected for item in reasons.items()):
        if name not in laws:
            raise ValueError(f"expected_failures: there is no law '{name}'; {did_you_mean(name, laws)}".rstrip("; "))
        if not reason.strip():
            raise ValueError(f"expected_failures: give the reason why '{name}' is expected to fail")


def examine(
    component: Component | type[Component],
    *,
    partners: Iterable[Model] = (),
    expected_failures: ExpectedFailures | None = None,
    progress: Callable[[Trial], None] = lambda trial: None,
) -> Report:
    """Test a component against every law of its kind, and report the results. For the options see `trials`; `progress`
    is called before each law."""
    report = Report()
    for trial in trials([component], partners=partners, expected_failures=expected_failures):
        progress(trial)
        name = trial.law.__name__
        try:
            remark = trial.run()
        except ExpectedFailure as reason:
            report.expected[name] = str(reason)
        except Inapplicable as reason:
            report.inapplicable[name] = str(reason)
        except Broken as broken:
            report.broken[name] = str(broken)
        else:
            report.obeyed.append(name)
            report.remarks.update({name: remark} if remark else {})
    return report


def unexamined(component: Component | type[Component], report: Report) -> str:
    """Why a component was not examined at all, if no law of its own kind could be applied; empty otherwise. The laws of
    all components are not sufficient."""
    of_kind = {law.__name__ for law in own_laws_of(component.component_kind)}
    if of_kind & {*report.obeyed, *report.broken, *report.expected}:
        return ""
    reasons = "; ".join(dict.fromkeys(report.inapplicable.values())) or "there are none yet"
    who = f"{component.component_kind} '{component.component_name}'"
    return f"{who}: no law of its kind could be applied: {reasons}"


def check_component(
    component: Component | type[Component],
    *,
    partners: Iterable[Model] = (),
    expected_failures: ExpectedFailures | None = None,
) -> Report:
    """As `examine`, but raise `Broken` with every law that the component breaks, or that holds although it is among
    `expected_failures`, and `Unexamined` with the reasons if no law of its kind could be applied."""
    report = examine(component, partners=partners, expected_failures=expected_failures)
    if report.broken:
        raise Broken("\n".join(report.broken.values()))
    if reason := unexamined(component, report):
        raise Unexamined(reason)
    return report
