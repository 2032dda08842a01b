"""Every component of a plugin against the laws of its kind."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ebmkit.contracts.component import Component
from ebmkit.errors.describe import describe_error
from ebmkit.registry.loading import LoadedPlugin
from ebmkit.registry.named import plugins_named
from ebmkit.registry.process_state import changes_in_words
from ebmkit.registry.registry import Registry
from ebmkit.registry.spelling import did_you_mean
from ebmkit.testing.example import instance
from ebmkit.testing.law import ExpectedFailure, Inapplicable
from ebmkit.testing.laws import laws_of
from ebmkit.testing.report import Report
from ebmkit.testing.trial import Broken, Trial, trials, unexamined

Outcome: TypeAlias = Literal["held", "broken", "broken as expected", "not applicable"]

#: The names of what is checked in addition to laws: of the plugin, and of a component as a whole.
ONLY_DEFINES, CAN_BE_MADE, IS_EXAMINED = "import_only_defines", "can_be_made", "is_examined"


@dataclass(frozen=True)
class Checked:
    """The outcome of one law."""

    component: str  # "sampler alpha.walk"; for what concerns the whole plugin, "plugin alpha"
    law: str
    outcome: Outcome
    #: What is wrong, why the law does not apply, or what it says about its precision.
    words: str = ""

    @property
    def failed(self) -> bool:
        return self.outcome == "broken"


def check_plugin(
    path_or_name: str, expected: Mapping[str, str] | None = None, laws: Collection[str] = ()
) -> Iterator[Checked]:
    """Check a plugin, law by law. Raises PluginMissing or PluginBroken if it cannot be loaded.

    `expected` names laws that are known to be broken, as `sampler/walk/keeps_the_target`, each with the reason. `laws`
    are the only ones that are tried, by default all.
    """
    plugins, loaded = plugins_named(path_or_name)
    registry, expected = Registry(plugins), dict(expected or {})
    _check_names(expected, laws, loaded)
    for each in loaded:
        namespace = each.plugin.namespace
        outcome: Outcome = "broken" if each.changed else "held"
        yield Checked(f"plugin {namespace}", ONLY_DEFINES, outcome, changes_in_words(each.changed))
        for cls in each.components:
            yield from _check_component(cls, namespace, registry, expected, laws)


def _check_names(expected: Mapping[str, str], laws: Collection[str], loaded: list[LoadedPlugin]) -> None:
    classes = [cls for each in loaded for cls in each.components]
    whole = [f"{_id(cls)}/{law.__name__}" for cls in classes for law in laws_of(cls.component_kind)]
    short = [name.rpartition("/")[2] for name in whole]
    for name, known in [*((name, whole) for name in expected), *((name, short) for name in laws)]:
        if name not in known:
            form = "pass --expect-failure KIND/NAME/LAW=reason" if known is whole else ""
            words = did_you_mean(name, known) or form
            raise ValueError(f"'{name}' is no law of this plugin; {words}".rstrip("; "))


def _id(cls: type[Component]) -> str:
    return f"{cls.component_kind}/{cls.component_name}"


def _check_component(
    cls: type[Component], namespace: str, registry: Registry, expected: Mapping[str, str], laws: Collection[str]
) -> Iterator[Checked]:
    name = f"{cls.component_kind} {namespace}.{cls.component_name}"
    try:
        made = instance(cls, registry)
    except Exception as error:  # its example may be wrong, or its __post_init__ raise anything
        words = f"{describe_error(error)}; the laws need its defaults, or an example from which it can be made"
        yield Checked(name, CAN_BE_MADE, "broken", words)
        return
    known = {law.rpartition("/")[2]: why for law, why in expected.items() if law.startswith(f"{_id(cls)}/")}
    report = Report()
    for trial in trials([made], expected_failures=known):
        if laws and trial.law.__name__ not in laws:
            continue
        checked = _outcome(trial, name)
        _remember(report, checked)
        yield checked
    if not laws and (reason := unexamined(cls, report)):
        yield Checked(name, IS_EXAMINED, "broken", reason)


def _outcome(trial: Trial, name: str) -> Checked:
    law = trial.law.__name__
    try:
        return Checked(name, law, "held", trial.run())
    except ExpectedFailure as reason:
        return Checked(name, law, "broken as expected", str(reason))
    except Inapplicable as reason:
        return Checked(name, law, "not applicable", str(reason))
    except Broken as broken:
        made = trial.component
        start = f"{made.component_kind} '{made.component_name}' breaks '{law}'"
        return Checked(name, law, "broken", str(broken).removeprefix(start).lstrip(": "))


def _remember(report: Report, checked: Checked) -> None:
    if checked.outcome == "held":
        report.obeyed.append(checked.law)
        return
    parts = {"broken": report.broken, "not applicable": report.inapplicable, "broken as expected": report.expected}
    parts[checked.outcome][checked.law] = checked.words
