"""`ebmkit resolve SPEC`: show a spec with every default and the origin of each value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ebmkit.cli.common import load_plan, spec_options
from ebmkit.cli.output import echo, echo_json

if TYPE_CHECKING:
    from ebmkit.language.plan import Plan


@click.command("resolve")
@spec_options
@click.option("--why", metavar="PATH", help="Explain one value: its origin and its meaning.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the resolved spec, origins and hash.")
def command(
    spec: str,
    sets: tuple[str, ...],
    unsets: tuple[str, ...],
    plugins: tuple[str, ...],
    why: str | None,
    as_json: bool,
) -> None:
    """Show SPEC with every default written out, the origin of each value, and the hash of the spec."""
    from ebmkit.language.packages import require_packages
    from ebmkit.language.plan import resolved_yaml

    plan = load_plan(spec, sets, unsets, plugins)
    require_packages(plan)
    if why is not None:
        echo(_because(plan, why))
    elif as_json:
        origins = {".".join(map(str, path)): str(origin) for path, origin in plan.origins.items()}
        echo_json({"hash": plan.hash, "resolved": plan.resolved, "origins": origins})
    else:
        echo(f"# hash {plan.hash}\n{resolved_yaml(plan)}", nl=False)


def _because(plan: Plan, dotted: str) -> str:
    from ebmkit.language.flags import read_path
    from ebmkit.language.yaml_writer import scalar

    path = read_path(dotted, "--why")
    value: Any = plan.resolved
    owner: Any = None if path[0] == "parts" else plan.spec
    origin_path: tuple[str | int, ...] = ()
    for depth, key in enumerate(path):
        if isinstance(value, str) and value.startswith("$"):  # a shared object is written out once, under `parts:`
            origin_path = ("parts", value[1:])
            value = plan.resolved["parts"][value[1:]]
        if key not in (value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()):
            raise _nothing_there(value, path, depth)
        value, origin_path = value[key], (*origin_path, key)
        if depth < len(path) - 1:
            owner = owner[key] if isinstance(key, int) else getattr(owner, key, owner)
    places = (origin_path, (*origin_path, "use"), (*origin_path, 0))
    origin = next((plan.origins[place] for place in places if place in plan.origins), "its parts")
    lines = [f"{dotted} = {scalar(value)}", f"  from  {origin}"]
    meaning = _meaning(owner, str(path[-1]))
    return "\n".join([*lines, *([f"  means {meaning}"] if meaning else [])])


def _meaning(owner: Any, name: str) -> str:
    """The meaning and the type of a parameter of a component or section."""
    import dataclasses

    from ebmkit.registry.reference import page

    if not dataclasses.is_dataclass(owner):
        return ""
    found = [parameter for parameter in page(type(owner)).parameters if parameter.name == name]
    return f"{found[0].meaning} ({found[0].type})".strip() if found else ""


def _nothing_there(value: Any, path: tuple[str | int, ...], depth: int) -> click.UsageError:
    from ebmkit.language.yaml_writer import scalar
    from ebmkit.registry.spelling import did_you_mean

    where = f"'{'.'.join(map(str, path[:depth]))}'" if depth else "the spec"
    if isinstance(value, dict):
        hint = did_you_mean(str(path[depth]), value) or f"Its keys are {', '.join(value)}"
        return click.UsageError(f"{where} has no '{path[depth]}'. {hint[0].upper()}{hint[1:]}")
    holds = f"has {len(value)} items, counted from 0" if isinstance(value, list) else f"is {scalar(value)}"
    return click.UsageError(f"there is no '{path[depth]}' in {where}, which {holds}")
