"""Testing a component against laws."""

from __future__ import annotations

import inspect
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

import torch

from ebmkit.contracts.component import Component
from ebmkit.contracts.kinds import Model
from ebmkit.contracts.packages import lacking, package_missing
from ebmkit.errors.describe import describe_error
from ebmkit.errors.running import EnvironmentLacks
from ebmkit.testing.case import Case, cases_of
from ebmkit.testing.example import instance
from ebmkit.testing.law import Inapplicable, Law
from ebmkit.testing.laws import laws_of, own_laws_of


class Broken(AssertionError):
    """A component breaks a law: which one, where, and what was observed."""


class Unexamined(Broken):
    """No law of its kind could be applied to a component, with the reasons."""


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

    def __str__(self) -> str:
        return f"{self.component.component_kind}/{self.component.component_name}/{self.law.__name__}"

    def run(self) -> None:
        """Raises `Broken`, or `Inapplicable` if the law applies to the component in no case."""
        for _, needy, package in lacking(self.component, ("component",)):
            raise Inapplicable(str(package_missing(needy, package)))
        reasons: list[str] = []
        cases = self._cases()
        for tried, case in enumerate(cases):
            if tried - len(reasons) == self.most:
                break
            try:
                with torch.random.fork_rng(devices=[]):
                    self.law(self.component, case)
            except (Inapplicable, EnvironmentLacks) as reason:  # a GPU, or an optional package
                reasons.append(str(reason))
            except Exception as error:
                seen = str(error) if isinstance(error, AssertionError) else describe_error(error)
                who = f"{self.component.component_kind} '{self.component.component_name}'"
                raise Broken(f"{who} breaks '{self.law.__name__}'{case}: {seen}. {self._sentence()}") from error
        if len(reasons) == len(cases):
            raise Inapplicable("; ".join(dict.fromkeys(reasons)) or "it takes none of the test shapes")

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
    components: Iterable[Component | type[Component]], *, most: int | None = None, partners: Iterable[Model] = ()
) -> list[Trial]:
    """A trial of each component for each law of its kind. Classes are instantiated by their defaults or their example.

    With `most` each law is tested in that number of cases, which differ between laws: faster, and nearly as strict. A
    sampler or an objective works with the first model that has the abilities it needs: of `partners`, of ebmkit, of the
    loaded plugins, and of the module and package that defines it.

    For pytest:

        @pytest.mark.parametrize("trial", trials([MySampler]), ids=str)
        def test_law(trial):
            trial.run()
    """
    made = [component if isinstance(component, Component) else instance(component) for component in components]
    given = tuple(partners)
    return [Trial(component, law, most, given) for component in made for law in laws_of(component.component_kind)]


@dataclass(frozen=True)
class Report:
    """The results of the laws for a component, by the names of the laws."""

    obeyed: list[str]
    broken: dict[str, str]
    inapplicable: dict[str, str]

    def __str__(self) -> str:
        counted = [f"{_count(len(self.obeyed))} obeyed"]
        if self.broken:
            counted.append(f"{len(self.broken)} broken")
        if self.inapplicable:
            counted.append(f"{len(self.inapplicable)} not applicable")
        details = [*self.broken.values(), *(f"{name}: {reason}" for name, reason in self.inapplicable.items())]
        return "\n  ".join([", ".join(counted) + (":" if details else ""), *details])


def _count(laws: int) -> str:
    return f"{laws} law" + ("" if laws == 1 else "s")


def examine(component: Component | type[Component], *, partners: Iterable[Model] = ()) -> Report:
    """Test a component against every law of its kind, and report the results. For `partners` see `trials`."""
    report = Report([], {}, {})
    for trial in trials([component], partners=partners):
        name = trial.law.__name__
        try:
            trial.run()
        except Inapplicable as reason:
            report.inapplicable[name] = str(reason)
        except Broken as broken:
            report.broken[name] = str(broken)
        else:
            report.obeyed.append(name)
    return report


def check_component(component: Component | type[Component], *, partners: Iterable[Model] = ()) -> Report:
    """As `examine`, but raise `Broken` with every law that the component breaks, and `Unexamined` with the reasons if
    no law of its kind could be applied: the laws of all components are not sufficient."""
    report = examine(component, partners=partners)
    if report.broken:
        raise Broken("\n".join(report.broken.values()))
    if not {law.__name__ for law in own_laws_of(component.component_kind)} & set(report.obeyed):
        reasons = "; ".join(dict.fromkeys(report.inapplicable.values())) or "there are none yet"
        who = f"{component.component_kind} '{component.component_name}'"
        raise Unexamined(f"{who}: no law of its kind could be applied: {reasons}")
    return report
