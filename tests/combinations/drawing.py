"""Random specs, drawn from the JSON schema of the spec language and from the examples of components.

A spec is drawn section by section around one component, its focus. Each section is drawn again while `validate`
refuses it, up to the patience of the spec: without patience most random specs are refused, with it most can run.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ebmkit.errors.base import EbmkitError, Mistakes
from ebmkit.errors.source import Source
from ebmkit.language.check import check
from ebmkit.language.fit import misfits
from ebmkit.language.layers import compose
from ebmkit.language.load import load_spec
from ebmkit.language.schema import schema
from ebmkit.language.sections import Spec
from ebmkit.registry.loading import Plugins
from ebmkit.registry.registry import Registry
from ebmkit.testing.example import example_fragment
from tests.combinations.files import write_files
from tests.combinations.values import Values, is_large

#: Parameters of the Langevin chains and of the optimizers are drawn near their defaults, so that few runs diverge.
SHARED = "noise_levels"
#: Kinds that stand inside an objective, and sections that need training.
WITH_TRAINING = ("objective", "optimizer", "noise", "bregman")
#: Data sets of many images, which only specs around them use.
LARGE = ("celeba", "cifar10")
Focus = tuple[str, str]


@cache
def registry() -> Registry:
    """The registry of all built-in components."""
    return Registry(Plugins())


@cache
def language() -> dict[str, Any]:
    """The schema of the spec language with all built-in components."""
    return schema(registry())


@cache
def parameters_of(kind: str) -> dict[str, dict[str, Any]]:
    """The schema of the parameters of every component of a kind, by name."""
    return {
        case["if"]["properties"]["use"]["const"]: case["then"]
        for case in language()["$defs"][kind].get("then", {}).get("allOf", [])
    }


@cache
def example_of(kind: str, name: str) -> Any:
    """The component in the example of its docstring, as a spec writes it."""
    fragment = example_fragment(registry().find(kind, name))
    return next(use for use in _uses(fragment) if use == name or (isinstance(use, dict) and use["use"] == name))


def all_components() -> list[Focus]:
    """Kind and name of every built-in component."""
    return [(kind, name) for kind in language()["$defs"] for name in parameters_of(kind)]


def uses(spec: dict[str, Any]) -> set[Focus]:
    """Kind and name of every component that a plan uses, defaults included."""
    from ebmkit.contracts.walk import walk

    return {(part.component_kind, part.component_name) for _, part in walk(load_spec(spec).spec)}


def _uses(node: Any) -> Iterator[Any]:
    """Everything in a fragment that may be a component: names, and mappings with `use`."""
    if isinstance(node, str) or (isinstance(node, dict) and "use" in node):
        yield node
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _uses(inner)


#: What a component needs that is seldom drawn.
LEVELS = {"model": "noised_mixture", "sampler": "annealed_langevin"}
PARTNERS: dict[tuple[str, str], dict[str, Any]] = {
    ("metric", "sampling_error"): {"dimension": 1, "model": "noised_mixture", "sampler": "reverse_sde"},
    ("data", "text"): {"model": "categorical_boltzmann"},
    ("data", "categorical_csv"): {"model": "categorical_rbm"},
    ("metric", "pseudo_likelihood"): {"model": "categorical_boltzmann"},
    ("schedule", "constant"): LEVELS,
    ("schedule", "linear"): LEVELS,
}


@dataclass
class Drawing:
    """One random spec."""

    seed: int
    folder: Path
    focus: Focus
    archives: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.patience = self.rng.choice([1, 3, 60, 60, 60])
        self.trains = self.focus[0] in WITH_TRAINING or (self.focus[0] != "sampler" and self.rng.random() < 0.6)
        self.files = write_files(self.folder, self.rng) | self.archives
        self.depth = 0
        self.schedule: Any = None
        self.spec: dict[str, Any] = {}

    def draw(self) -> dict[str, Any]:
        """The spec; whether `validate` accepts it is for the caller to find out."""
        head = {"ebmkit": 1, "name": "drawn", "threads": 1, "seed": self.rng.choice([0, 1, 12345])}
        for _ in range(4):  # with another model, if no objective fits this one
            self.spec = dict(head)
            self._redraw(self._draw_core)
            if not self.trains or self._redraw(self._draw_training):
                break
        if self.rng.random() < 0.75 or not self.trains or self.focus[0] in ("sampler", "init"):
            self._redraw(self._draw_sampling)
        self.spec["samples"] = self.rng.choice([1, 2, 7, 30, 60])
        for _ in range(self.rng.choice([0, 1, 2, 3]) + (self.focus[0] == "metric")):
            self._redraw(self._draw_metric)
        for name in ("trackers", "checkpoint", "samples_every", "dtype", "deterministic", "scale"):
            if self.rng.random() < (1 if name.startswith(self.focus[0]) else 0.15):
                self._redraw(lambda name=name: self._draw_top(name))
        self._redraw(self._draw_claims)
        return self._complete(self.spec)

    # Sections ---------------------------------------------------------------------------------------------------------

    def _draw_core(self) -> None:
        """Model and data, which the rest depends on; a focus that needs certain models comes with them."""
        partners = PARTNERS.get(self.focus, {})
        self.dimension = partners.get("dimension") or self.rng.choice([1, 2, 2, 2, 3])
        self.values = Values(self.rng, self.dimension, self.component)
        self.schedule = None
        self.schedule = self._wished("schedule") if self.focus[0] == "schedule" else self.component("schedule")
        self.spec["model"] = self._wished("model")
        fixed = json.dumps(self.spec["model"])
        if self.trains or self.rng.random() < 0.4 or self.focus[0] == "data":
            likely = self.rng.random() < 0.5 and "mean" in fixed
            self.spec["data"] = {"use": "from_model", **self._sizes()} if likely else self._wished("data")
            if likely:
                self.spec["data"]["model"] = self.spec["model"]
        if self.trains and self.focus[0] in WITH_TRAINING:
            self._draw_training()
        elif self.focus[0] in ("sampler", "schedule") and not self.trains:
            self.spec["sampler"] = self._wished("sampler")
        elif self.focus[0] == "metric":
            if "sampler" in partners:
                self.spec["sampler"] = self._wished("sampler")
            self.spec.pop("evaluate", None)
            self._draw_metric()

    def _draw_training(self) -> None:
        self.spec["objective"] = self._wished("objective")
        stages = [self._stage() for _ in range(self.rng.choice([1, 1, 1, 2]))]
        self.spec["train"] = stages if len(stages) > 1 or self.rng.random() < 0.1 else stages[0]

    def _stage(self) -> dict[str, Any]:
        described = language()["properties"]["train"]["anyOf"][0]
        stage = self.values.section({"properties": {**described["properties"], "stop": {"type": "null"}}}, share=0.2)
        stage |= {"steps": self.rng.choice([1, 2, 3]), "batch_size": self.rng.choice([1, 2, 3, 8, 64])}
        if self.focus[0] == "optimizer":
            stage["optimizer"] = self._wished("optimizer")
        return stage

    def _draw_sampling(self) -> None:
        self.spec["sampler"] = self._wished("sampler")
        self.spec.pop("init", None)
        self.spec.pop("chains", None)
        if self.rng.random() < 0.4 or self.focus[0] == "init":
            self.spec["init"] = self._wished("init")
        if self.rng.random() < 0.4:
            chosen = self.rng.choice
            self.spec["chains"] = {"count": chosen([1, 2, 4]), "burn_in": chosen([0, 3]), "thin": chosen([1, 2])}
            self.spec["chains"]["warmup"] = chosen([0, 0, 20])
            if isinstance(self.spec["sampler"], dict):
                self.spec["sampler"].pop("steps", None)

    def _draw_metric(self) -> None:
        metrics = self.spec.setdefault("evaluate", [])
        wished = self.focus[0] == "metric" and not metrics
        metrics.append(self._wished("metric") if wished else self.component("metric"))
        if self.rng.random() < 0.3 and "train" in self.spec:
            metrics[-1] = self._as_mapping(metrics[-1]) | {"every": self.rng.choice([1, 1, 2])}

    def _draw_top(self, name: str) -> None:
        described = language()["properties"][name]
        wished = name == "trackers" and self.focus[0] == "tracker"
        self.spec[name] = [self._wished("tracker")] if wished else self.values.draw(described)

    def _draw_claims(self) -> None:
        """`expect:` and `stop:`, about numbers that the metrics report."""
        spec = self.accepted()
        if spec is None or self.rng.random() < 0.6:
            return
        names = [name for metric in spec.evaluate for name in metric.results()]
        followed = [name for metric in spec.evaluate if metric.every for name in metric.results()]
        if names:
            self.spec["expect"] = [{"metric": self.rng.choice(names), self.rng.choice(["below", "above"]): 0.5}]
        if followed and isinstance(self.spec["train"], dict):
            self.spec["train"]["stop"] = {"metric": self.rng.choice(followed), "patience": 1}

    # Components -------------------------------------------------------------------------------------------------------

    def component(self, kind: str, name: str | None = None) -> Any:
        """A component of a kind: its example, its defaults, or some random parameters."""
        if kind == "schedule" and self.schedule is not None and name is None and self.rng.random() < 0.95:
            return f"${SHARED}"
        known = parameters_of(kind)
        name = name or self.rng.choice([other for other in known if other not in LARGE])
        self.depth += 1
        simple = self.depth > 3
        drawn = self.values.section(known[name], 0.0 if simple else self.rng.choice([0.0, 0.3, 0.6]))
        self.depth -= 1
        if self.rng.random() < 0.35 and not simple:
            example = self._as_mapping(example_of(kind, name))
            large = {
                key: drawn[key]
                for key, described in known[name]["properties"].items()
                if described is not True and is_large(described)
            }
            drawn = {**drawn, **example, **large} if self.rng.random() < 0.5 else {**example, **large}
        if kind == "data" and name in self.files:
            drawn.pop("columns", None)
            drawn |= self.files[name]
        if name == "digits":
            drawn |= {"resize": self.rng.choice([None, None, [4, 4], [1, 2]])}
        drawn.pop("every", None)
        drawn.pop("use", None)
        return {"use": name, **drawn} if drawn or self.rng.random() < 0.5 else name

    def _wished(self, kind: str) -> Any:
        """A component of a kind, which is or contains the focus if it can."""
        focus_kind, name = self.focus
        if focus_kind == kind:
            return self.component(kind, name)
        if kind in (partners := PARTNERS.get(self.focus, {})) and self.rng.random() < 0.7:
            return self.component(kind, partners[kind])
        for _ in range(200):
            drawn = self.component(kind)
            if focus_kind not in ("noise", "bregman") or kind != "objective" or f'"{name}"' in json.dumps(drawn):
                return drawn
        return drawn

    @staticmethod
    def _as_mapping(component: Any) -> dict[str, Any]:
        return {"use": component} if isinstance(component, str) else dict(component)

    def _sizes(self) -> dict[str, int]:
        return {"size": self.rng.choice([1, 3, 60, 60]), "test_size": self.rng.choice([1, 3, 60, 60])}

    # Validation -------------------------------------------------------------------------------------------------------

    def _redraw(self, section: Any) -> bool:
        """Draw a section until `validate` accepts it; without success, the spec stays as it was if it was accepted."""
        before = json.dumps(self.spec)
        for _ in range(self.patience):
            self.spec = json.loads(before)
            section()
            if self.accepted() is not None:
                return True
        if self.patience > 3 and "model" in json.loads(before):
            self.spec = json.loads(before)
        return False

    def accepted(self) -> Spec | None:
        """What is drawn so far, as `validate` accepts it; None if it is refused. One registry serves all drafts."""
        with suppress(Mistakes, EbmkitError):
            tree = compose(Source("<drawn>", json.dumps(self._complete(self.spec))), (), (), [])
            checked = check(tree, registry())
            if next(misfits(checked, registry(), idle=True), None) is None:
                return checked.spec
        return None

    def _complete(self, spec: dict[str, Any]) -> dict[str, Any]:
        """With the shared schedule, if anything refers to it."""
        used = f'"${SHARED}"' in json.dumps({name: value for name, value in spec.items() if name != "parts"})
        return spec | {"parts": {SHARED: self.schedule}} if used else spec
