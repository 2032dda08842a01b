"""Show one wrong spec to ebmkit, Hydra, LightningCLI (jsonargparse) and confection, and write what each of them says.

    .venv/bin/python docs/compare/compare_errors.py        writes docs/errors-compared.md

Run it with the Python of ebmkit's own environment. The peers get one of their own in .cache/peers on the first call.
Every table on the page is computed here from the real output; nothing on it is written by hand.
"""

from __future__ import annotations

import hashlib
import html
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "errors-compared.md"
PEERS = ROOT / ".cache" / "peers"
REQUIREMENTS = HERE / "requirements.txt"
#: What the spec is called in front of each tool: a word that stands in no message by chance.
STEM = "my_spec"


@dataclass(frozen=True)
class Tool:
    title: str
    right: str  # the spec without a mistake, in this tool's convention
    command: tuple[str, ...]  # {} is the spec's file name

    @property
    def file(self) -> str:
        return STEM + Path(self.right).suffix


def peer(script: str, *arguments: str) -> tuple[str, ...]:
    python = PEERS / ("Scripts" if os.name == "nt" else "bin") / "python"
    return (str(python), str(HERE / "peers" / script), *arguments)


QUIET = ("hydra.run.dir=.", "hydra.output_subdir=null", "hydra/job_logging=none", "hydra/hydra_logging=none")
TOOLS = {
    "ebmkit": Tool("ebmkit", "ebmkit.yaml", (str(Path(sys.executable).with_name("ebmkit")), "validate", "{}")),
    "hydra": Tool("Hydra", "hydra.yaml", peer("hydra_app.py", "--config-dir", ".", "--config-name", STEM, *QUIET)),
    "lightning": Tool("LightningCLI (jsonargparse)", "lightning.yaml", peer("lightning_app.py", "--config", "{}")),
    "confection": Tool("confection", "confection.cfg", peer("confection_app.py", "{}")),
}


@dataclass(frozen=True)
class Mistake:
    """One edit of the right spec in each tool's convention: tool -> (old text, new text)."""

    edits: dict[str, tuple[str, str]]
    #: Every one of these must be in a message that names the mistake (patterns; case does not matter).
    named: tuple[str, ...]
    #: What the author meant, where one word says it.
    meant: str = ""
    #: The other place of a mistake that has two: tool -> text.
    other: dict[str, str] | None = None


@dataclass(frozen=True)
class Case:
    title: str
    mistakes: tuple[Mistake, ...]


def everywhere(old: str, new: str, cfg: tuple[str, str] | None = None) -> dict[str, tuple[str, str]]:
    """The same edit of every YAML file; the INI file of confection writes ` = ` for `: `."""
    ini = cfg or (old.replace(": ", " = "), new.replace(": ", " = "))
    return {"ebmkit": (old, new), "hydra": (old, new), "lightning": (old, new), "confection": ini}


STEP_SISE = Mistake(everywhere("step_size: 0.01", "step_sise: 0.01"), ("step_sise",), meant="step_size")

CASES = (
    Case("A misspelt parameter", (STEP_SISE,)),
    Case(
        "A misspelt component",
        (
            Mistake(
                {
                    "ebmkit": ("use: langevin", "use: langevn"),
                    "hydra": ("sampler@objective.sampler: langevin", "sampler@objective.sampler: langevn"),
                    "lightning": ("class_path: Langevin", "class_path: Langevn"),
                    "confection": ('@samplers = "langevin"', '@samplers = "langevn"'),
                },
                ("langevn",),
                meant="langevin",
            ),
        ),
    ),
    Case("A fraction where a count is meant", (Mistake(everywhere("steps: 100", "steps: 10.5"), (r"10\.5",)),)),
    Case("A value out of bounds", (Mistake(everywhere("steps: 100", "steps: 0"), ("steps", r"\b0\b")),)),
    Case(
        "Two parts that do not fit",
        (
            Mistake(
                {
                    "ebmkit": ("{use: langevin, steps: 100, step_size: 0.01}", "{use: exact}"),
                    "hydra": ("sampler@objective.sampler: langevin", "sampler@objective.sampler: exact"),
                    "lightning": ("Langevin\n      init_args: {steps: 100, step_size: 0.01}", "Exact"),
                    "confection": ('"langevin"\nsteps = 100\nstep_size = 0.01', '"exact"'),
                },
                (r"\bexact\b", r"\bmlp\b"),
                other={
                    "ebmkit": "model: {use: mlp}",
                    "hydra": "model: mlp",
                    "lightning": "energy: {class_path: Mlp}",
                    "confection": '@models = "mlp"',
                },
            ),
        ),
    ),
    Case(
        "The same key twice",
        (
            Mistake(
                everywhere("batch_size: 128", "batch_size: 128\n{indent}batch_size: 256"),
                ("batch_size", "duplicate|twice|already"),
            ),
        ),
    ),
    Case(
        "Three mistakes in one file",
        (
            STEP_SISE,
            Mistake(everywhere("steps: 2000", "steps: 2000.5", cfg=("steps = 2000", "steps = 2000.5")), (r"2000\.5",)),
            Mistake(everywhere("batch_size: 128", "batchsize: 128"), ("batchsize",), meant="batch_size"),
        ),
    ),
)

# Hydra picks parts in its defaults list, so that `exact` leaves the parameters of `langevin` behind in the body.
LEFT_BEHIND = {("hydra", "Two parts that do not fit"): ("objective:\n  sampler: {steps: 100, step_size: 0.01}\n", "")}


@dataclass(frozen=True)
class Place:
    line: int
    first: int
    last: int
    text: str

    @classmethod
    def at(cls, spec: str, start: int, length: int) -> Place:
        begin = spec.rfind("\n", 0, start) + 1
        end = spec.find("\n", start)
        line = spec[begin:end]
        first = start - begin + 1
        return cls(spec.count("\n", 0, start) + 1, first, min(first + length, len(line)), line)

    def has(self, column: int) -> bool:
        """A tool may mark the key, the value, or the pair."""
        return self.first <= column <= self.last


@dataclass(frozen=True)
class Wrong:
    text: str
    places: tuple[tuple[Place, ...], ...]  # of each mistake


def spoil(tool: str, case: Case) -> Wrong:
    """The right spec of a tool with the mistakes of a case in it, and where they stand."""
    spec = (HERE / "right" / TOOLS[tool].right).read_text()
    old, new = LEFT_BEHIND.get((tool, case.title), ("", ""))
    spec = spec.replace(old, new) if old else spec
    for mistake in case.mistakes:
        old, new = filled(mistake, tool, spec)
        assert spec.count(old) == 1, (tool, old)
        spec = spec.replace(old, new)
    places = []
    for mistake in case.mistakes:
        _, new = filled(mistake, tool, spec)
        start = spec.index(new)
        last = new.rsplit("\n", 1)[-1]  # of a repeated key, the second
        found = [Place.at(spec, start + len(new) - len(last.lstrip()), len(last.lstrip()))]
        if mistake.other:
            found.append(Place.at(spec, spec.index(mistake.other[tool]), len(mistake.other[tool])))
        places.append(tuple(found))
    return Wrong(spec, tuple(places))


def filled(mistake: Mistake, tool: str, spec: str) -> tuple[str, str]:
    old, new = mistake.edits[tool]
    at = spec.find(old)
    line = spec[spec.rfind("\n", 0, at) + 1 : at]
    return old, new.replace("{indent}", " " * (len(line) - len(line.lstrip())))


@dataclass(frozen=True)
class Answer:
    status: int
    output: str  # as it came, but for the paths of the machine
    named: int  # mistakes that the output names
    file: bool
    lines: int  # places whose line it says
    columns: int
    suggested: int  # mistakes for which it says the word that was meant
    guessed: int  # of these, by "did you mean" and not in a list of all names

    @property
    def traceback(self) -> bool:
        return "Traceback (most recent call last)" in self.output


FRAME = re.compile(r'^\s+File ".*", line \d+, in .*\n(?:    .*\n)?', re.MULTILINE)
ECHO = re.compile(r"^\s*(?:Given value: .*|\{.*\})$", re.MULTILINE)  # the spec repeated, which names no mistake
LINE = re.compile(rf"{STEM}\.\w+:(\d+)(?::(\d+))?|\bline[: ]+(\d+)(?:,? col(?:umn)?[: ]+(\d+))?", re.IGNORECASE)


def judge(status: int, output: str, case: Case, wrong: Wrong) -> Answer:
    said = ECHO.sub("", FRAME.sub("", output)) if status else ""
    marks = [(int(a or c), int(b or d or 0)) for a, b, c, d in LINE.findall(said)]
    places = [place for several in wrong.places for place in several]
    meant = [mistake.meant for mistake in case.mistakes if mistake.meant]
    guess = r"(?:did you mean|perhaps|similar)[^\n]*\b{}\b"
    return Answer(
        status=status,
        output=output,
        named=sum(all(re.search(p, said, re.IGNORECASE) for p in mistake.named) for mistake in case.mistakes),
        file=bool(re.search(rf"\b{STEM}\b", said)),
        lines=sum(any(line == place.line for line, _ in marks) for place in places),
        columns=sum(any(line == place.line and place.has(column) for line, column in marks) for place in places),
        suggested=sum(bool(re.search(rf"\b{word}\b", said, re.IGNORECASE)) for word in meant),
        guessed=sum(bool(re.search(guess.format(word), said, re.IGNORECASE)) for word in meant),
    )


def ask(tool: Tool, spec: str) -> tuple[int, str]:
    """Exit status and everything said."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / tool.file).write_text(spec)
        done = subprocess.run(
            [part.replace("{}", tool.file) for part in tool.command],
            cwd=folder,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1", "COLUMNS": "100"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        return done.returncode, scrub(done.stdout, Path(folder))


def scrub(output: str, folder: Path) -> str:
    """Without the paths of this machine."""
    for path in {folder, folder.resolve(), ROOT}:
        output = output.replace(str(path), "...")
    output = re.sub(r"[^\s\"'(]*/site-packages/", ".../", output)
    output = re.sub(r"(?<![\w.:/])/(?:[\w.@+-]+/)+", ".../", output)
    return "\n".join(line.rstrip() for line in output.strip("\n").split("\n"))


def prepare() -> str:
    """The environment of the peers; the versions in it."""
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    stamp = PEERS / "requirements.sha256"
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"installing the peers into {PEERS.relative_to(ROOT)} ...", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", PEERS], check=True)
        python = peer("")[0]
        constraints = ROOT / "constraints-cpu.txt"
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", REQUIREMENTS, "-c", constraints], check=True)
        stamp.write_text(wanted)
    pins = [line for line in REQUIREMENTS.read_text().splitlines() if "==" in line]
    return ", ".join(re.sub(r"(\[.*\])?==", " ", pin) for pin in pins)


# The page.


def fold(output: str) -> str:
    """Markdown of an output: nothing left out, tracebacks and usage listings folded."""
    parts: list[tuple[str, str]] = []
    rest = output
    usage = re.match(r"usage:.*\n(?:[ \t]+.*\n)*", rest)
    if usage:
        parts.append(("the usage listing", usage[0]))
        rest = rest[usage.end() :]
    start = rest.find("Traceback (most recent call last):")
    if start >= 0:
        *_, last = FRAME.finditer(rest)
        end = last.end()
        while rest[end : end + 4] == "    ":
            end = rest.index("\n", end) + 1
        parts += [("", rest[:start]), ("the traceback", rest[start:end])]
        rest = rest[end:]
    parts.append(("", rest))
    blocks = []
    for title, text in parts:
        if not text.strip():
            continue
        if title:
            size = len(text.strip().splitlines())
            body = html.escape(text.strip("\n"), quote=False)
            blocks.append(f"<details><summary>{title}, {size} lines</summary>\n\n<pre>\n{body}\n</pre>\n</details>")
        else:
            blocks.append("```text\n" + text.strip("\n") + "\n```")
    return "\n\n".join(blocks) or "(nothing)"


def share(found: int, of: int) -> str:
    if of == 0:
        return "-"
    if of == 1:
        return "yes" if found else "no"
    return f"{found} of {of}"


def hint(answer: Answer, case: Case) -> str:
    of = sum(bool(mistake.meant) for mistake in case.mistakes)
    if of and answer.suggested and answer.guessed < answer.suggested:
        return share(answer.suggested, of) + ", in a list" if of > 1 else "in a list"
    return share(answer.suggested, of)


Answers = dict[str, list[Answer]]


def sizes(case: Case) -> tuple[int, int]:
    """How many mistakes, at how many places."""
    return len(case.mistakes), sum(2 if mistake.other else 1 for mistake in case.mistakes)


def row(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def summary(answers: Answers) -> list[str]:
    mistakes = sum(sizes(case)[0] for case in CASES)
    places = sum(sizes(case)[1] for case in CASES)
    hints = sum(bool(m.meant) for case in CASES for m in case.mistakes)

    def total(count: Callable[[Answer], int]) -> list[int]:
        return [sum(map(count, said)) for said in answers.values()]

    return [
        row("", *(TOOLS[tool].title for tool in answers)),
        row("---", *("---:" for _ in answers)),
        row(f"wrong specs refused, of {len(CASES)}", *total(lambda a: a.status != 0)),
        row(f"mistakes named, of {mistakes}", *total(lambda a: a.named)),
        row(f"specs with the file named, of {len(CASES)}", *total(lambda a: a.file)),
        row(f"places with the right line, of {places}", *total(lambda a: a.lines)),
        row(f"places with line and column, of {places}", *total(lambda a: a.columns)),
        row(f"misspelt words answered with the right one, of {hints}", *total(lambda a: a.suggested)),
        row("of these as a guess, not in a list of all names", *total(lambda a: a.guessed)),
        row("of three mistakes in one file, reported at once", *(said[-1].named for said in answers.values())),
        row("tracebacks", *total(lambda a: a.traceback)),
        row("exit statuses", *(", ".join(map(str, sorted({a.status for a in said}))) for said in answers.values())),
    ]


def claim(answers: Answers) -> str:
    """What the numbers allow us to say."""
    sentences = []
    for tool, said in answers.items():
        located = [
            (case.title.lower(), a.lines, sizes(case)[1]) for case, a in zip(CASES, said, strict=True) if a.lines
        ]
        if [(found, of) for _, found, of in located] == [(sizes(case)[1],) * 2 for case in CASES]:
            sentences.append(f"{TOOLS[tool].title} gives the line of every mistake.")
        elif located:
            which = "; ".join(title if found == of else f"{title}, {found} of {of}" for title, found, of in located)
            sentences.append(f"{TOOLS[tool].title} gives a line in {len(located)} of the {len(CASES)} cases: {which}.")
        else:
            sentences.append(f"{TOOLS[tool].title} gives no line.")
    for tool, said in answers.items():
        missed = [case.title.lower() for case, answer in zip(CASES, said, strict=True) if answer.status == 0]
        if missed:
            sentences.append(f"{TOOLS[tool].title} accepts: {'; '.join(missed)}.")
    return "\n".join(f"- {sentence}" for sentence in sentences)


def page(answers: Answers, wrongs: dict[str, list[Wrong]], versions: str) -> str:
    out = [
        "# One wrong spec, four tools",
        "",
        "<!-- Written by docs/compare/compare_errors.py. Do not edit. -->",
        "",
        "The same small experiment, written as each tool's manual suggests, with the same mistakes.",
        "Each tool has typed components: structured configs for Hydra, restricted types for jsonargparse, annotated",
        "functions for confection. The outputs are real and whole; tracebacks and usage listings are folded, and paths",
        "of the machine are `...`.",
        "",
        "    .venv/bin/python docs/compare/compare_errors.py",
        "",
        f"Peers: {versions}.",
        "The right specs are in [compare/right](compare/right), the components in [compare/peers](compare/peers).",
        "All four tools accept the right spec.",
        "",
        "## Summary",
        "",
        *summary(answers),
        "",
        claim(answers),
        "",
        "A line counts if the output contains the number of the line with the mistake, in any place;",
        "a column if it points at the wrong key or value. For a mistake with two places both count.",
        f"Hydra's `In '{STEM}'` counts as naming the file. A repeated spec (`Given value: ...`) does not count",
        "as naming the mistake. The three mistakes of the last case are in two sections; confection collects those",
        "of one section and stops there. The peers often give the path of the key (`objective.sampler.step_sise`),",
        "which helps to find it, but is not a place in a file, and is not counted in the tables.",
    ]
    for number, case in enumerate(CASES):
        mistakes, places = sizes(case)
        hints = "the word that was meant"
        out += ["", f"## {number + 1}. {case.title}", ""]
        out += [row("", "exit status", "names it", "file", "line", "column", hints), row("---", *["---"] * 6)]
        for tool, said in answers.items():
            a = said[number]
            cells = (share(a.named, mistakes), share(a.file, 1), share(a.lines, places), share(a.columns, places))
            status = "0 (accepted)" if a.status == 0 else a.status
            out.append(row(TOOLS[tool].title, status, *cells, hint(a, case)))
        for tool, said in answers.items():
            out += ["", f"### {TOOLS[tool].title}", ""]
            shown = sorted({(p.line, p.text) for several in wrongs[tool][number].places for p in several})
            width = len(str(shown[-1][0]))
            out += ["```yaml" if TOOLS[tool].file.endswith("yaml") else "```ini"]
            out += [f"{line:>{width}} | {text}" for line, text in shown]
            out += ["```", "", fold(said[number].output)]
    return "\n".join(out) + "\n"


def main() -> None:
    versions = prepare()
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        right = {name: (HERE / "right" / tool.right).read_text() for name, tool in TOOLS.items()}
        for name, (status, output) in zip(TOOLS, pool.map(ask, TOOLS.values(), right.values()), strict=True):
            if status != 0:
                sys.exit(f"{name} refuses the right spec, so its answers to wrong ones would show nothing:\n{output}")
        wrongs = {name: [spoil(name, case) for case in CASES] for name in TOOLS}
        jobs = {name: [pool.submit(ask, TOOLS[name], wrong.text) for wrong in wrongs[name]] for name in TOOLS}
        answers: Answers = {
            name: [judge(*job.result(), *about) for job, *about in zip(jobs[name], CASES, wrongs[name], strict=True)]
            for name in TOOLS
        }
    PAGE.write_text(page(answers, wrongs, versions), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
