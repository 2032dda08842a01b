"""Every component of a plugin against the laws of its kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from ebmkit.contracts.component import Component
from ebmkit.errors.describe import describe_error
from ebmkit.registry.loading import LoadedPlugin, Plugins
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


def load(path_or_name: str) -> tuple[Plugins, list[LoadedPlugin]]:
    """A plugin from its source, if a file or folder is named, otherwise an installed one by its namespace."""
    plugins = Plugins()
    path = Path(path_or_name)
    by_name = path_or_name in plugins.found() or not (
        path.suffix == ".py" or path.is_dir() or path.name != path_or_name
    )
    if by_name:
        return plugins, [plugins.load(path_or_name)]
    plugins = Plugins([path_or_name])
    return plugins, list(plugins.loaded.values())


def check_plugin(path_or_name: str, expected: Mapping[str, str] | None = None) -> Iterator[Checked]:
    """Check a plugin, law by law. Raises PluginMissing or PluginBroken if it cannot be loaded.

    `expected` names laws that are known to be broken, as `sampler/walk/keeps_the_target`, each with the reason.
    """
    plugins, loaded = load(path_or_name)
    registry, expected = Registry(plugins), dict(expected or {})
    _check_names(expected, loaded)
    for each in loaded:
        namespace = each.plugin.namespace
        outcome: Outcome = "broken" if each.changed else "held"
        yield Checked(f"plugin {namespace}", ONLY_DEFINES, outcome, changes_in_words(each.changed))
        for cls in each.components:
            yield from _check_component(cls, namespace, registry, expected)


def _check_names(expected: Mapping[str, str], loaded: list[LoadedPlugin]) -> None:
    classes = [cls for each in loaded for cls in each.components]
    known = [f"{_id(cls)}/{law.__name__}" for cls in classes for law in laws_of(cls.component_kind)]
    for name in expected:
        if name not in known:
            raise ValueError(f"'{name}' is no law of this plugin; {did_you_mean(name, known)}".rstrip("; "))


def _id(cls: type[Component]) -> str:
    return f"{cls.component_kind}/{cls.component_name}"


def _check_component(
    cls: type[Component], namespace: str, registry: Registry, expected: Mapping[str, str]
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
        checked = _outcome(trial, name)
        _remember(report, checked)
        yield checked
    if reason := unexamined(cls, report):
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
