"""The pages that newcomers follow are right: their code runs, and their figures are true."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from ebmkit.cli import group

ROOT = Path(__file__).parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
README = (ROOT / "README.md").read_text()


def blocks(text, language):
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_first_component_runs_as_written(tmp_path, monkeypatch):
    import torch

    monkeypatch.chdir(tmp_path)
    (code,), (spec,) = blocks(CONTRIBUTING, "python"), blocks(CONTRIBUTING, "yaml")
    Path("first_sampler.py").write_text(code)
    Path("first.yaml").write_text(spec)
    words = ["sample", "first.yaml", "-n", "20000", "--out", "x.npy", "--plugin", "first_sampler.py"]
    done = CliRunner().invoke(group, words)
    assert done.exit_code == 0, done.output
    import numpy

    x = torch.from_numpy(numpy.load("x.npy")).double()
    # 300 steps forget N(0, I) starts; 6 standard errors of 20,000 draws.
    torch.testing.assert_close(x.mean(0), torch.zeros(2).double(), atol=6 * (2 / 20_000) ** 0.5, rtol=0)
    torch.testing.assert_close(x.T.cov(), torch.tensor([[2.0, 0.9], [0.9, 1.0]]).double(), atol=0.12, rtol=0)


@pytest.mark.long  # the page on laws is checked with a similar sampler
def test_the_first_component_obeys_the_laws_and_the_command_prints_it(tmp_path):
    (code,) = blocks(CONTRIBUTING, "python")
    (tmp_path / "first_sampler.py").write_text(code)
    (command,) = re.findall(r"^    (python -c .*check_component.*)$", CONTRIBUTING, re.MULTILINE)
    arguments = [sys.executable, *shlex.split(command)[1:]]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(arguments, cwd=tmp_path, env=one_thread, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.match(r"\d+ laws obeyed", done.stdout), done.stdout


def lines_of(paths):
    return sum(len((ROOT / path).read_text().splitlines()) for path in paths)


def test_the_newcomer_reads_at_most_170_lines():
    rows = re.findall(r"\| \[(ebmkit/\S+\.py)\]\(\S+\) \| (\d+) \|", CONTRIBUTING)
    assert len(rows) == 2
    for path, lines in rows:
        assert lines_of([path]) == int(lines), path
    assert sum(int(lines) for _, lines in rows) <= 170


def test_the_reading_for_a_change_is_as_short_as_is_said():
    table = CONTRIBUTING.partition("## Ten typical changes")[2].partition("## Words")[0]
    changes = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", table, re.MULTILINE)[1:]
    assert len(changes) == 10
    for change, read, _ in changes:
        named = [ROOT / "ebmkit" / path for path in re.findall(r"`([\w/]+(?:\.py|/))`", read)]
        assert named, change
        assert all(path.exists() for path in named), change
    limits = map(int, re.search(r"at most (\d+), (\d+) and (\d+) lines", table).groups())
    for (change, read, _), most in zip(changes, limits, strict=False):
        paths = [f"ebmkit/{path}" for path in re.findall(r"`([\w/]+\.py)`", read)]
        assert lines_of(paths) <= most, change


def test_the_rooms_of_the_picture_are_those_of_the_package():
    from tests.test_rooms import ORDER

    picture = CONTRIBUTING.partition("## The house")[2].partition("A spec goes down")[0]
    rooms = [room for row in ORDER[:-1] for room in row]
    assert re.findall(rf"(?:^ +|\| +)({'|'.join(rooms)})\b", picture, re.MULTILINE) == rooms


def test_the_readme_shows_the_specs_themselves():
    quickstart, _, sampling = blocks(README, "yaml")
    for shown, name in ((quickstart, "quickstart"), (sampling, "sampling")):
        text = (ROOT / f"specs/{name}.yaml").read_text()
        assert shown.strip() in text
        assert len(text.splitlines()) <= 20


def test_the_spec_of_ones_own_table_is_valid(tmp_path):
    from ebmkit import load_spec

    _, own, _ = blocks(README, "yaml")
    rows = "\n".join(f"{k % 7}.5,{k % 5},{'setosa' if k % 2 else 'virginica'}" for k in range(60))
    (tmp_path / "flowers.csv").write_text(f"petal,sepal,species\n{rows}\n")
    (tmp_path / "own.yaml").write_text(own)
    plan = load_spec(tmp_path / "own.yaml")
    assert plan.spec.scale == "whiten"
    assert plan.chain_sampler is not None


def test_the_plugin_of_the_readme_is_ten_lines_that_work(tmp_path):
    from ebmkit.registry.loading import Plugins
    from ebmkit.registry.registry import Registry

    _, code = blocks(README, "python")
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    path = tmp_path / "mine.py"
    path.write_text(code)
    assert Registry(Plugins([str(path)])).find("bregman", "mine.triangular")


@pytest.mark.parametrize(
    "page",
    sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/plugins/**/*.md")]),
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_complete_specs_in_the_documentation_are_right(tmp_path):
    """Blocks that begin with `ebmkit: 1` are whole specs."""
    from ebmkit.language.load import load_spec

    for page in ROOT.glob("docs/*.md"):
        if page.name == "errors-compared.md":
            continue
        for number, block in enumerate(blocks(page.read_text(), "yaml")):
            if block.startswith("ebmkit: 1"):
                path = tmp_path / f"{page.stem}-{number}.yaml"
                path.write_text(block)
                load_spec(path)


def test_every_hook_and_kind_is_documented():
    from ebmkit.contracts.kinds import KINDS
    from ebmkit.registry import hookspecs

    page = (ROOT / "docs/plugins.md").read_text()
    for name in [name for name in vars(hookspecs) if name.startswith("ebmkit_")]:
        assert f"| `{name}(" in page
    for kind in KINDS.values():
        assert f"| `{kind.__name__}` |" in page


def test_every_verb_is_documented():
    from ebmkit.cli import VERBS

    page = (ROOT / "docs/commands.md").read_text()
    for verbs in VERBS.values():
        for verb in verbs:
            assert f"| `ebmkit {verb} " in page or f"| `ebmkit {verb}`" in page


def test_the_python_of_the_documentation_runs(tmp_path):
    # The first one, which writes a file for --inpaint, is run by tests/cli/test_conditional_samples.py.
    _, code, opening = blocks((ROOT / "docs/commands.md").read_text(), "python")
    small = '"train.steps=20", "sampler.steps=5", "samples=100", "evaluate.0.samples=100", "data.test_size=100"'
    assert '"train.steps=500"' in code
    opening += 'print("shape", tuple(fresh.shape), tuple(energies.shape), run.status)\n'
    (tmp_path / "snippet.py").write_text(code.replace('"train.steps=500"', small) + opening)
    done = subprocess.run([sys.executable, "snippet.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "sliced_wasserstein" in done.stdout
    assert "shape (1000, 2) (100,) finished" in done.stdout
    (readme, _) = blocks(README, "python")
    assert [line for line in readme.splitlines() if "run." in line] == [
        line.replace(", `(B, *event) -> (B,)`", "") for line in opening.splitlines()[1:3]
    ]


def test_the_readmes_plugin_command_is_right(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, code = blocks(README, "python")
    Path("mine.py").write_text(code)
    (words,) = re.findall(r"ebmkit run quickstart --plugin mine.py (--set .*)", README)
    done = CliRunner().invoke(group, ["validate", "quickstart", "--plugin", "mine.py", *shlex.split(words)])
    assert done.exit_code == 0, done.output
