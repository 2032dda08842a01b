"""Nothing before *build* imports torch."""

import subprocess
import sys

import pytest

VERBS = [
    ["--help"],
    ["run", "--help"],
    ["validate", "quickstart"],
    ["resolve", "quickstart"],
    ["list"],
    ["show", "sampler", "langevin"],
    ["schema"],
    ["plugins", "--load"],
    ["explain", "E103"],
    ["doctor"],
    ["completion", "bash"],
    ["new", "spec", "--help"],
    ["new", "plugin", "--help"],
    ["plugins", "check", "--help"],
    ["runs", "--json"],
    ["prune", "--help"],
]

PROGRAM = """
import sys
from ebmkit.cli import group
try:
    group({words!r}, prog_name="ebmkit")
except SystemExit as end:
    assert end.code == 0, end.code
heavy = [name for name in ("torch", "numpy", "matplotlib", "rich") if name in sys.modules]
print("HEAVY", heavy)
"""


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_verbs_without_torch(words):
    program = PROGRAM.format(words=words)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "HEAVY []"


def test_a_wrong_spec_is_refused_by_run_before_torch_is_imported(tmp_path):
    (tmp_path / "wrong.yaml").write_text("ebmkit: 1\nmodel: {use: mlp, hiden: [3]}\n")
    program = (
        "import sys\nfrom ebmkit.cli import group\ntry:\n    group(['run', 'wrong.yaml'])\n"
        "except SystemExit as end:\n    print(end.code, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.split() == ["2", "False"]


def test_importing_ebmkit_alone_is_light():
    program = "import sys, ebmkit; print([n for n in ('torch', 'pydantic', 'click', 'pluggy') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_api_has_every_name_and_imports_torch_only_for_those_that_need_it():
    program = (
        "import sys, ebmkit.api as api\n"
        "late = {'Conditional', 'ConditionalDensity', 'Contest', 'Density', 'LiveModule', 'Starts', 'run_chain'}\n"
        "assert all(getattr(api, name) is not None for name in api.__all__ if name not in late)\n"
        "assert 'torch' not in sys.modules\n"
        "assert all(getattr(api, name) is not None for name in late)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


SHORT_RUN = """
import sys
from ebmkit.cli import group
words = ["run", "quickstart", "--set", "train.steps=1", "--unset", "expect", "--set", "sampler.steps=2"]
words += ["--set", "samples=10", "--set", "evaluate=[]", "--set", "data.size=50", "--runs-dir", "runs", "--no-report"]
try:
    group(words, prog_name="ebmkit")
except SystemExit as end:
    assert end.code == 0, end.code
heavy = ("torch._dynamo", "torch._inductor", "sympy", "matplotlib", "jinja2", "ebmkit.report.page")
print("HEAVY", [name for name in heavy if name in sys.modules])
"""


def test_a_run_imports_neither_the_compiler_of_torch_nor_what_draws_a_report_that_is_not_wanted(tmp_path):
    command = [sys.executable, "-c", SHORT_RUN]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "HEAVY []"


def test_listing_everything_imports_no_component():
    program = (
        "import sys\nfrom ebmkit.cli import group\n"
        "try:\n    group(['list'], prog_name='ebmkit')\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "print('LOADED', [name for name in sys.modules if name.startswith('ebmkit.components.')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "Langevin" in done.stdout
    assert done.stdout.splitlines()[-1] == "LOADED []"


def test_a_right_spec_imports_nothing_that_explains_wrong_ones():
    program = (
        "import sys, ebmkit; ebmkit.load_spec('quickstart'); print('ebmkit.language.pydantic_errors' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("words", [["validate", "quickstart"], ["validate", "no such spec"], ["list"]], ids=" ".join)
def test_the_collector_works_again_after_a_spec_was_read(words):
    import gc

    from click.testing import CliRunner

    from ebmkit.cli import group

    CliRunner().invoke(group, words)
    assert gc.isenabled()
    gc.disable()
    try:
        CliRunner().invoke(group, words)
        assert not gc.isenabled()
    finally:
        gc.enable()
