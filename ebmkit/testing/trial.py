"""A component before a law."""

from __future__ import annotations

import inspect
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

import torch

from ebmkit.contracts.component import Component
from ebmkit.contracts.kinds import Model
from ebmkit.errors.running import EnvironmentLacks
from ebmkit.testing.case import Case, cases_of
from ebmkit.testing.example import instance
from ebmkit.testing.law import Inapplicable, Law
from ebmkit.testing.laws import laws_of, own_laws_of


class Broken(AssertionError):
    """A component that breaks a law: which one, where, and what was seen."""


class Unexamined(Broken):
    """A component to which no law of its kind could be applied, and why."""


@dataclass(frozen=True)
class Trial:
    """One component before one law, in every case that it takes, or in some of them."""

    component: Component
    law: Law
    #: In how many cases at most, of those that the law says something about. Which ones is the same every time, and
    #: differs from trial to trial. None: in all.
    most: int | None = None
    #: Models to try it with, before those that are found.
    partners: tuple[Model, ...] = ()

    def __str__(self) -> str:
        return f"{self.component.component_kind}/{self.component.component_name}/{self.law.__name__}"

    def run(self) -> None:
        """Raises `Broken`, or `Inapplicable` when the law says nothing about the component in any case."""
        reasons: list[str] = []
        cases = self._cases()
        for tried, case in enumerate(cases):
            if tried - len(reasons) == self.most:
                break
            try:
                with torch.random.fork_rng(devices=[]):
                    self.law(self.component, case)
            except (Inapplicable, EnvironmentLacks) as reason:  # a GPU, or a package that is optional
                reasons.append(str(reason))
            except Exception as error:
                seen = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
                who = f"{self.component.component_kind} '{self.component.component_name}'"
                raise Broken(f"{who} breaks '{self.law.__name__}'{case}: {seen}. {self._sentence()}") from error
        if len(reasons) == len(cases):
            raise Inapplicable("; ".join(dict.fromkeys(reasons)) or "it takes no shape that there is a case for")

    def _cases(self) -> list[Case]:
        """Those of the component. Where they are not all tried, another one comes first for another law."""
        cases = cases_of(self.component, self.partners)
        if self.most is None or not cases:
            return cases
        first = zlib.crc32(str(self).encode()) % len(cases)
        return cases[first:] + cases[:first]

    def _sentence(self) -> str:
        """The law itself: the first paragraph of its docstring."""
        return "The law: " + " ".join((inspect.getdoc(self.law) or "").partition("\n\n")[0].split())


def trials(
    components: Iterable[Component | type[Component]], *, most: int | None = None, partners: Iterable[Model] = ()
) -> list[Trial]:
    """Each component before each law of its kind. Classes stand for their defaults, or for their example.

    With `most` each law is tried in that number of cases, which differ from law to law: quicker, and nearly as strict.
    A sampler or an objective works with the first model that has the abilities it needs: of `partners`, of ebmkit, of
    the plugins that are loaded, and of the module and package that it is defined in.

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
    """How a component stood before the laws of its kind, by the names of the laws."""

    obeyed: list[str]
    broken: dict[str, str]
    inapplicable: dict[str, str]


def examine(component: Component | type[Component], *, partners: Iterable[Model] = ()) -> Report:
    """Try a component before every law of its kind, and say how it went. For `partners` see `trials`."""
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
    no law of its kind could be applied: the laws of every component alone prove nothing."""
    report = examine(component, partners=partners)
    if report.broken:
        raise Broken("\n".join(report.broken.values()))
    if not {law.__name__ for law in own_laws_of(component.component_kind)} & set(report.obeyed):
        reasons = "; ".join(dict.fromkeys(report.inapplicable.values())) or "there are none yet"
        who = f"{component.component_kind} '{component.component_name}'"
        raise Unexamined(f"{who}: no law of its kind could be applied: {reasons}")
    return report
