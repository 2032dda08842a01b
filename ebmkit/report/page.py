"""The report of a run: one self-contained HTML file."""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ebmkit.contracts.judgement import LEVELS
from ebmkit.contracts.version import __version__
from ebmkit.engine.expectations import claim_in_words, is_met
from ebmkit.engine.mixing import verdict
from ebmkit.engine.telling.chain_words import chain_words
from ebmkit.engine.telling.meanings import meanings
from ebmkit.engine.telling.unit_words import unit_words
from ebmkit.errors.describe import describe_error
from ebmkit.errors.printable import printable
from ebmkit.errors.source import Source
from ebmkit.language.plan import resolved_yaml
from ebmkit.language.unpackaged import resume_in_python
from ebmkit.report.drawn import Drawn, draw_panels
from ebmkit.report.panels.frames import Frames, draw_frames
from ebmkit.report.panels.problem import problem
from ebmkit.report.provenance import commands, duration_of, moment, provenance
from ebmkit.report.recipe import recipe
from ebmkit.report.style import THEME, night
from ebmkit.report.svg import adopted
from ebmkit.storage.reading import read_text

if TYPE_CHECKING:
    from ebmkit.engine.run_view import RunView

#: A line of YAML: its content, in which `#` may occur in quotes or within a word; then a comment.
_LINE = re.compile(r"""((?:[^#'"]|'[^']*'|"(?:[^"\\]|\\.)*"|(?<=\S)#)*)((?<!\S)#.*)""")


C = TypeVar("C", list[Any], dict[str, Any])


class Result(NamedTuple):
    """One measured value, the claims of the spec about it, whether they all hold, and what the value is."""

    name: Markup
    value: str
    claim: str
    met: bool | None
    meaning: str = ""


class Failed(NamedTuple):
    """A metric that failed, or the drawing of samples; where in the spec, why, and the values missing because of it."""

    what: str
    place: str
    reason: str
    results: list[str]


class Figure(NamedTuple):
    """A numbered figure. If it could not be drawn, `problem` is the reason."""

    number: int
    title: str
    caption: str = ""
    svg: Markup = Markup()
    frames: Frames | None = None
    problem: str = ""


def write_report(view: RunView, summary: dict[str, Any], lock: str, drawn: list[Drawn] | None = None) -> str:
    """The text of `report.html`. It is self-contained, and its content security policy forbids every request.

    `summary` is the content of `run.json`. A part that fails shows its error in its place and does not stop the run.
    The same arguments give the same text. `drawn` are the panels if they were drawn before, for the picture.
    """
    environment, judged = _environment(), _judged(summary)
    script = _file(environment, "report.js")
    drawn = draw_panels(view, picture=False) if drawn is None else drawn
    squares = [_figure(panel, number) for number, panel in enumerate(_some(drawn, wide=False), start=1)]
    film = _film(view, number=len(squares) + 1)
    first_wide = len(squares) + len(film) + 1
    return environment.get_template("report.html").render(
        version=__version__,
        style=_file(environment, "report.css"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        theme=THEME,
        night=night(),
        name=view.plan.spec.name,
        status=str(summary.get("status", "unknown")),
        recipe=recipe(view),
        facts=_facts(view, summary),
        error=summary.get("error"),
        judged=judged,
        verdict=_verdict(view),
        failed=_failed(summary),
        warnings=[warning for warning in _of(list, summary.get("warnings")) if warning != judged["words"]],
        results=_results(view, summary),
        samples=chain_words(view.plan.spec),
        squares=squares,
        film=film,
        wides=[_figure(panel, number) for number, panel in enumerate(_some(drawn, wide=True), first_wide)],
        provenance={**_scale(view), **provenance(summary, lock)},
        commands=commands(summary),
        ways=_ways(view, summary),
        texts={
            "Spec as written": lines(_kept(view, "spec.yaml") or view.plan.tree.place.source.text),
            "Spec with all defaults and their origins": lines(_kept(view, "resolved.yaml") or resolved_yaml(view.plan)),
            "Lockfile": lines(lock),
        },
    )


def _scale(view: RunView) -> dict[str, str]:
    """The space in which the network works, if it is not that of the data."""
    words = unit_words(view.plan, view.units)
    return {"scale": words} if words else {}


def _environment() -> Environment:
    """Where the template finds its files and filters."""
    environment = Environment(
        loader=PackageLoader("ebmkit.report", "template"),
        autoescape=True,  # names, comments and messages are untrusted
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["thousands"] = "{:,}".format
    environment.filters["data_uri"] = lambda png: f"data:image/png;base64,{base64.b64encode(png).decode()}"
    return environment


def _visible(value: Any) -> Any:
    """Text without characters that are invisible or reorder the text around them; markup is ebmkit's own."""
    return printable(value, "\n\t\xa0") if isinstance(value, str) and not isinstance(value, Markup) else value


def lines(text: str) -> list[tuple[str, str]]:
    """The lines of a YAML text, each as its content and its comment."""
    matches = [(line, _LINE.fullmatch(line)) for line in Source("", text.rstrip()).lines]
    return [(match[1], match[2]) if match else (line, "") for line, match in matches]


def _file(environment: Environment, name: str) -> Markup:
    """A template file, inserted without escaping."""
    assert environment.loader is not None
    return Markup(environment.loader.get_source(environment, name)[0])


def _kept(view: RunView, name: str) -> str | None:
    """The text of a file in the run folder: the plan of a run that is opened again was not read from the original
    spec."""
    path = view.folder / name if view.folder else None
    return read_text(path) if path and path.is_file() else None


def _some(drawn: list[Drawn], *, wide: bool) -> list[Drawn]:
    """The wide or the square panels: figures of the same height are grouped."""
    return [each for each in drawn if each.panel.wide == wide]


def _figure(drawn: Drawn, number: int) -> Figure:
    if drawn.svg is None:
        assert drawn.error is not None
        return Figure(number, drawn.panel.title, problem=problem(drawn.panel, drawn.error))
    svg = adopted(drawn.svg, prefix=f"figure-{number}-")
    return Figure(number, drawn.panel.title, drawn.caption, Markup(svg))


def _film(view: RunView, number: int) -> list[Figure]:
    """The figure with a slider, if there is one."""
    title = "Samples over training"
    try:
        frames = draw_frames(view)
    except (Exception, SystemExit) as error:
        return [Figure(number, title, problem=f"The samples could not be drawn. {_words(error)}")]
    if frames is None:
        return []
    first, last = frames.frames[0].step, frames.frames[-1].step
    same = "with the same grey scale" if frames.photographs else "with the same axis limits"
    caption = f"Samples at {len(frames.frames)} steps from step {first:,} to step {last:,}, all {same}."
    return [Figure(number, title, caption + (" Grey: held-out data." if frames.below else ""), frames=frames)]


def _verdict(view: RunView) -> str:
    try:
        return verdict(view)
    except Exception as error:
        return f"cannot be judged: {_words(error)}"


def _judged(summary: dict[str, Any]) -> dict[str, str]:
    """Whether the samples match the data: the level and the words, both empty without a verdict."""
    entry = _of(dict, summary.get("verdict"))
    level = str(entry.get("level", ""))
    return {"words": str(entry.get("words", "")), "level": level if level in LEVELS else ""}


def _words(error: BaseException) -> str:
    return describe_error(error)


def _of(kind: type[C], value: Any) -> C:
    """The value if it is of this kind, else an empty one: `run.json` is untrusted and may be of another version."""
    return value if isinstance(value, kind) else kind()


def _facts(view: RunView, summary: dict[str, Any]) -> list[str]:
    """Start, duration, progress and hash of the experiment."""
    step, steps = summary.get("step"), summary.get("steps")
    far = f"{step:,} of {steps:,} steps" if isinstance(step, int) and isinstance(steps, int) and step < steps else None
    facts = (moment(summary.get("started")), duration_of(summary.get("seconds")), far, view.plan.hash[:8])
    return [words for words in facts if words]


def _failed(summary: dict[str, Any]) -> list[Failed]:
    """What failed in the final evaluation."""
    failures = [_of(dict, failure) for failure in _of(list, summary.get("failed"))]
    return [
        Failed(
            str(failure.get("what")),
            str(failure.get("place", "")),
            str(failure.get("reason")),
            list(map(str, _of(list, failure.get("results")))),
        )
        for failure in failures
    ]


def _results(view: RunView, summary: dict[str, Any]) -> list[Result]:
    """All measured values, those that could not be measured, and claims about values that were not."""
    measured = _of(dict, summary.get("results"))
    missing = [name for failure in _failed(summary) for name in failure.results]
    results, known = [], meanings(view.plan)
    for name in dict.fromkeys([*measured, *missing, *(claim.metric for claim in view.plan.spec.expect)]):
        value = "failed" if name in missing else measured.get(name, "not measured")
        claims = [claim for claim in view.plan.spec.expect if claim.metric == name]
        met = all(is_met(claim, value) for claim in claims) if claims and isinstance(value, int | float) else None
        if claims and name in missing:
            met = False
        shown = f"{value:.5g}" if isinstance(value, int | float) else str(value)
        # A long name may be broken after its underscores.
        broken, claim = Markup("_<wbr>").join(printable(name, "").split("_")), " and ".join(map(claim_in_words, claims))
        results.append(Result(broken, shown, claim, met, known.get(name, "")))
    return results


def _ways(view: RunView, summary: dict[str, Any]) -> dict[str, str]:
    """Useful next commands."""
    if view.folder is None:
        return {}
    if in_python := resume_in_python(view.folder, view.plan.plugins):  # no command could load its code
        finished = summary.get("status") == "finished"
        opened = in_python.replace("ebmkit.resume(", "ebmkit.open_run(", 1)
        return {**({} if finished else {"Continue the run": in_python}), "Open the run in Python": opened}
    folder = shlex.quote(str(view.folder))
    for loaded in view.plan.plugins:
        if isinstance(loaded.plugin.target, Path):  # a file named on the command line must be named again
            folder += f" --plugin {shlex.quote(str(loaded.plugin.target))}"
    finished = summary.get("status") == "finished"
    again = {"Measure again": f"ebmkit resume {folder}"} if finished and _failed(summary) else {}
    return {
        **again,
        **({} if finished else {"Continue the run": f"ebmkit resume {folder}"}),
        **({"Draw samples": f"ebmkit sample {folder} -n 1000 --out samples.npz"} if view.can_sample else {}),
        **({"Export chains for ArviZ": f"ebmkit sample {folder} --out draws.zarr"} if view.draws else {}),
        **({"Repeat the run and compare": f"ebmkit reproduce {folder}"} if finished else {}),
        "Write this report again": f"ebmkit report {folder}",
    }
