"""The examples of the pages about Python run as they stand there."""

import re
import runpy
import warnings
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def run(tmp_path, monkeypatch, one_thread):
    """Runs code as a script in an empty folder; gives the names that it defines."""
    monkeypatch.chdir(tmp_path)

    def run(code):
        Path("script.py").write_text(code)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about chains that are short
            return runpy.run_path("script.py", run_name="__main__")

    return run


def test_the_notebook_from_top_to_bottom(run, capsys):
    code = "\n".join(blocks("python.md"))
    names = run(code)
    printed = capsys.readouterr().out
    for comment in re.findall(r"print\(error\)  # (.+)$", code, re.MULTILINE):
        for words in filter(None, comment.split("...")):
            assert words.strip() in printed
    assert names["draws"].converged
    assert names["run"].status == "finished"


ENGINE = blocks("plugins/engine.md")


@pytest.mark.parametrize("code", ENGINE, ids=range(len(ENGINE)))
def test_an_example_of_what_the_engine_gives(code, run):
    run(code)
