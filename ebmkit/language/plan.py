"""The plan of an experiment: a checked spec with every default filled in and a hash that identifies it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ebmkit.contracts.question import Question
from ebmkit.language.enclosed import Enclosed

if TYPE_CHECKING:
    import pluggy

    from ebmkit.contracts.kinds import Event, Sampler
    from ebmkit.errors.source import Path, Place
    from ebmkit.language.sections import Spec
    from ebmkit.language.text import Node
    from ebmkit.registry.loading import LoadedPlugin


@dataclass(frozen=True, repr=False)
class Plan:
    """The result of all stages before *build*, which do not import torch."""

    spec: Spec
    #: Shape of one state.
    event: Event
    #: The spec as plain data with every default written out.
    resolved: dict[str, Any]
    #: The origin of each value of `resolved`: a place in a file or flag, or text ("default of sampler 'langevin'").
    origins: dict[Path, Place | str]
    #: SHA-256 of the canonical form. It does not depend on comments, order, number formats and the run's name.
    hash: str
    #: The merged tree with the place of every value.
    tree: Node
    #: The plugins that the spec names, and pluggy's manager of the hooks of these and of ebmkit itself.
    plugins: tuple[LoadedPlugin, ...]
    manager: pluggy.PluginManager
    #: The sections that are not written but follow from others, and the paths of these.
    follows: dict[str, Path] = field(default_factory=dict)
    #: The paths of numbers that follow from `samples`: another number of samples changes them.
    from_samples: frozenset[Path] = frozenset()
    #: The files that the folder of a run receives.
    enclosed: Enclosed = field(default_factory=Enclosed)

    def __repr__(self) -> str:
        spec, steps = self.spec, self.spec.steps
        sections = {"data": spec.data, "model": spec.model, "objective": spec.objective, "sampler": spec.chain_sampler}
        known = [f"{name} {part.component_name}" for name, part in sections.items() if part is not None]
        trained = [f"{steps:,} steps"] if steps else []
        return f"Plan({spec.name!r}, {', '.join([*known, *trained])}, hash {self.hash[:8]})"

    @property
    def hooks(self) -> pluggy.HookRelay:
        """The hooks by name."""
        return self.manager.hook

    @property
    def question(self) -> Question:
        """The experiment as its components are asked about it."""
        return question_about(self.spec, self.event)

    def place(self, path: Path) -> Place:
        """The place of the value at `path`; for a default, that of the nearest enclosing value, or of its reason."""
        if path and path[0] in self.follows:
            path = (*self.follows[str(path[0])], *path[1:])
        return self.tree.follow(path).head

    def name_at(self, path: Path) -> str:
        """The name of the component at `path`, as a spec writes it."""
        value: Any = self.resolved
        for key in path:
            value = value[key]
            if isinstance(value, str) and value.startswith("$"):
                value = self.resolved["parts"][value[1:]]
        return str(value["use"])

    @property
    def chain_sampler(self) -> Sampler | None:
        """The sampler that draws the samples of this run."""
        return self.spec.chain_sampler


def question_about(spec: Spec, event: Event) -> Question:
    """The rest of an experiment, for its components."""
    chains = spec.chains.count if spec.chains else None
    samples = spec.chains.draws(spec.samples) * spec.chains.count if spec.chains else spec.samples
    # Chains of training can only be continued if all stages of the whole model keep them together.
    final = spec.final_stage
    objective = spec.objective if final is None or spec.is_shared(final) else None
    return Question(event, spec.model, spec.data, objective, spec.chain_sampler, chains, spec.scale, samples)


def resolved_yaml(plan: Plan) -> str:
    """The plan as a spec with every default, and the origin of each value as a comment.

    Numbers that follow from `samples` are comments too, so that they follow again if it is changed, as `--more` does.
    """
    from ebmkit.language.yaml_writer import yaml_text

    origins = {path: _words(origin) for path, origin in plan.origins.items()}
    return yaml_text(plan.resolved, origins, plan.from_samples)


def _words(origin: Place | str) -> str:
    """An origin for a comment. The path of a value in a dictionary would repeat where the comment stands."""
    if isinstance(origin, str):
        return origin
    return str(origin) if origin.has_line else origin.source.shown
