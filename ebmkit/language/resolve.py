"""From spec to plan: checks that components fit together, fills in defaults, records origins and computes the hash."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from itertools import islice
from typing import Any

from ebmkit.contracts.component import Component
from ebmkit.contracts.walk import walk
from ebmkit.errors.base import MOST, EbmkitError, Mistakes
from ebmkit.errors.describe import describe_error
from ebmkit.errors.running import ComponentFailed
from ebmkit.errors.source import Path, Place
from ebmkit.language.check import Checked
from ebmkit.language.culprit import culprit
from ebmkit.language.default_optimizer import with_optimizer
from ebmkit.language.files import FILES, files_found
from ebmkit.language.fit import event_of, misfits
from ebmkit.language.fit.places import Places
from ebmkit.language.judging import with_judging_chains
from ebmkit.language.metric_samples import bounded
from ebmkit.language.plan import Plan
from ebmkit.language.scaling import with_scale
from ebmkit.language.stages import with_stages
from ebmkit.language.suited_defaults import with_suited_defaults
from ebmkit.language.verdict import with_verdict
from ebmkit.registry.importing import was_ctrl_c
from ebmkit.registry.registry import Registry


def resolve(checked: Checked, registry: Registry, *, idle: bool = False) -> Plan:
    """The plan of a checked spec. Raises `Mistakes` with everything that does not fit together.

    A spec that neither trains nor samples is also a mistake, unless `idle` is true. An exception that a method of a
    component raises on the way is reported at its line.
    """
    with _located(checked, registry):
        checked, staged = with_stages(checked)
        checked, suited = with_suited_defaults(checked)
        checked, implied = with_verdict(checked)
        checked, from_samples = bounded(checked)
    with _located(checked, registry):
        return _plan(checked, registry, idle, from_samples, {**implied, **suited, **staged})


@contextmanager
def _located(checked: Checked, registry: Registry) -> Iterator[None]:
    """An exception of a component inside is raised as `ComponentFailed`, at its line."""
    try:
        yield
    except (Mistakes, EbmkitError):
        raise
    except BaseException as error:
        if was_ctrl_c(error) or (found := culprit(error, checked.spec)) is None:
            raise
        here = Places(checked, registry)
        who = here.label(found[1])
        raise ComponentFailed(f"{who} raised {describe_error(error)}", here(*found[0])) from error


def _plan(
    checked: Checked, registry: Registry, idle: bool, from_samples: Set[Path], implied: Mapping[Path, str]
) -> Plan:
    if mistakes := list(islice(misfits(checked, registry, idle=idle), MOST)):
        raise Mistakes(mistakes)
    event = event_of(checked)
    assert event is not None  # a model without a known shape was refused above
    written = checked.tree.find(("init",)) is not None
    spec, optimizer_reasons = with_optimizer(checked)
    spec, scale_reasons = with_scale(spec)
    judging = with_judging_chains(spec, init_is_written=written)
    checked = dataclasses.replace(checked, spec=judging.spec)
    reasons = {**optimizer_reasons, **scale_reasons, **judging.reasons, **implied}
    reasons |= dict.fromkeys(from_samples, "'samples' of the spec")
    filled = _Filled(checked, registry, reasons)
    return Plan(
        spec=checked.spec,
        event=event,
        resolved=filled.tree,
        origins=filled.origins,
        hash=_hash(checked, registry),
        tree=checked.tree,
        plugins=tuple(registry.plugins.loaded.values()),
        manager=registry.plugins.manager,
        follows=judging.follows,
        from_samples=frozenset(from_samples),
        enclosed=checked.enclosed,
    )


class _Filled:
    """The spec with every default written out, and the origin of each value."""

    def __init__(self, checked: Checked, registry: Registry, reasons: dict[Path, str]) -> None:
        self.source = checked.tree
        self.registry = registry
        self.reasons = reasons
        self.origins: dict[Path, Place | str] = {}
        self.tree: dict[str, Any] = self.fill(checked.spec, (), "default")
        for name in ("plugins", "parts"):
            if name in self.source.value:  # type: ignore[operator]  # the root is a mapping
                self.tree[name] = self.source.follow([name]).plain()
        found = files_found(checked.spec)
        if files := {path: file for path, file in found.items() if path not in checked.enclosed.files}:
            self.tree[FILES] = files
            self.origins |= dict.fromkeys(((FILES, path) for path in files), "where it was found")
        for (name, _), part in checked.parts.items():
            self.tree["parts"][name] = self.fill(part, ("parts", name), "default")

    def fill(self, value: Any, path: Path, default: str) -> Any:
        default = self.reasons.get(path, default)
        written = self.source.find(path)
        if written and isinstance(written.value, str) and written.value.startswith("$") and path:
            return self.leaf(written.value, path, default)  # a shared object is filled once, under `parts:`
        if dataclasses.is_dataclass(value):
            filled: dict[str, Any] = {}
            component: Any = value
            if isinstance(component, Component):
                name = self.registry.name_of(type(component))
                filled["use"] = self.leaf(name, (*path, "use"), default)
                if path not in self.reasons:
                    default = f"default of {component.component_kind} '{name}'"
            for field in dataclasses.fields(value):
                filled[field.name] = self.fill(getattr(value, field.name), (*path, field.name), default)
            return filled
        if isinstance(value, tuple):
            if not value:
                return self.leaf([], path, default)
            return [self.fill(item, (*path, position), default) for position, item in enumerate(value)]
        return self.leaf(value, path, default)

    def leaf(self, value: Any, path: Path, default: str) -> Any:
        self.origins[path] = self.written(path) or ("the file's name" if path == ("name",) else default)
        return value

    def written(self, path: Path) -> Place | None:
        """The place of a value if it is written in the spec, by itself or as a bare name."""
        node = self.source.find(path)
        if node is None and path[-1] == "use":
            node = self.source.find(path[:-1])
            return node.place if node and isinstance(node.value, str) else None
        return node.place if node else None


def _hash(checked: Checked, registry: Registry) -> str:
    """SHA-256 of everything that defines the experiment; the names of the run and of its parts are not included."""
    uses = Counter(id(component) for _, component in walk(checked.spec))
    shared = {id(part) for part in checked.parts.values() if uses[id(part)] > 1}
    numbers: dict[int, int] = {}

    def canonical(value: Any) -> Any:
        if dataclasses.is_dataclass(value):
            if id(value) in numbers:
                return {"part": numbers[id(value)]}
            form: dict[str, Any] = {}
            if id(value) in shared:
                form["part"] = numbers[id(value)] = len(numbers)
            component: Any = value
            if isinstance(component, Component):
                form |= {"use": registry.name_of(type(component)), "revision": component.component_revision}
            fields = [field.name for field in dataclasses.fields(value)]
            return form | {"with": {name: canonical(getattr(value, name)) for name in sorted(fields)}}
        return [canonical(item) for item in value] if isinstance(value, tuple) else value

    form = canonical(checked.spec)
    del form["with"]["name"]
    return hashlib.sha256(json.dumps(form, sort_keys=True).encode()).hexdigest()
