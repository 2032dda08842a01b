"""The names of a plugin and of a component, from what an author types."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from pathlib import Path

from ebmkit.contracts.component import NAME
from ebmkit.contracts.kinds import KINDS
from ebmkit.contracts.version import __version__
from ebmkit.registry.discovery import VERBS
from ebmkit.registry.spelling import a, did_you_mean

_RULE = "lower-case letters, digits and underscores, at most 64, the first a letter"
FOLDER = Path(__file__).with_name("templates")


@dataclass(frozen=True)
class Names:
    """All names that occur in templates."""

    distribution: str  # ebmkit-alpha
    module: str  # ebmkit_alpha
    namespace: str  # alpha
    component: str  # barker_walk
    kind: str

    @property
    def cls(self) -> str:
        """The name of the class: BarkerWalk."""
        made = "".join(part.capitalize() for part in self.component.split("_"))
        template = (FOLDER / f"kinds/{self.kind}.py.txt").read_text(encoding="utf-8")
        used = set(re.findall(r"\w+", template))  # such as the class of its kind, which it inherits from
        return made + self.kind.capitalize() if made in used else made

    def values(self) -> dict[str, str]:
        """The placeholders of the templates, and what takes their place."""
        major, minor = (int(part) for part in re.findall(r"\d+", __version__)[:2])
        return {
            "{{distribution}}": self.distribution,
            "{{module}}": self.module,
            "{{namespace}}": self.namespace,
            "{{component}}": self.component,
            "{{class}}": self.cls,
            "{{kind}}": self.kind,
            "{{title}}": self.kind.capitalize() if self.kind in ("data", "noise") else a(self.kind).capitalize(),
            "{{core}}": f">={major}.{minor},<{major}.{minor + 1}",
        }


def plugin_names(typed: str, kind: str, component: str | None = None) -> Names:
    """From `ebmkit-alpha` or `alpha`. Raises a ValueError with a sentence that says what a name is made of."""
    namespace = typed.removeprefix("ebmkit-").removeprefix("ebmkit_").replace("-", "_")
    _check("plugin", typed, namespace)
    if namespace in VERBS:
        raise ValueError(f"{typed!r} cannot be the name of a plugin: 'ebmkit {namespace}' is a verb")
    name = component or namespace
    _check("component", name, name)
    return Names(f"ebmkit-{namespace.replace('_', '-')}", f"ebmkit_{namespace}", namespace, name, checked_kind(kind))


def component_name(typed: str) -> str:
    """The name of a component, checked."""
    _check("component", typed, typed)
    return typed


def checked_kind(kind: str) -> str:
    if kind not in KINDS:
        hint = did_you_mean(kind, KINDS) or f"the kinds are {', '.join(KINDS)}"
        raise ValueError(f"there is no kind '{kind}'; {hint}")
    return kind


def _check(what: str, typed: str, name: str) -> None:
    if not NAME.match(name) or keyword.iskeyword(name) or name == "ebmkit":
        said = f"{typed!r} cannot be the name of a {what}: it is made of {_RULE}, and is no word of Python"
        proposed = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_0123456789")
        good = NAME.match(proposed) and not keyword.iskeyword(proposed) and proposed not in ("ebmkit", name)
        raise ValueError(f"{said}; such as '{proposed}'" if good else said)
