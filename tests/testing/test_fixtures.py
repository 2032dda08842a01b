"""The fixtures of pytest for authors of plugins, used as an author uses them."""

import subprocess
import sys
import textwrap

import pytest

from ebmkit.testing import check_component
from tests.planted import GENERATOR

pytest_plugins = ["ebmkit.testing.fixtures"]

SPEC = """
    ebmkit: 1
    data: {use: two_moons, size: 100}
    model: {use: mlp, hidden: [4]}
    objective: {use: bregman, generator: mine.square}
    train: {steps: 2}
    sampler: {use: langevin, steps: 1}
"""


def test_a_spec_runs_with_a_plugin_from_its_code(run_spec, load_plugin):
    run = run_spec(SPEC, plugins=[load_plugin(GENERATOR)], sets=["train.steps=3"])
    assert run.status == "finished"
    assert run.summary["step"] == 3


def test_a_component_of_it_can_be_checked(load_plugin):
    plugin = load_plugin(GENERATOR, "alpha")
    assert repr(plugin).endswith("alpha.py': square)")
    check_component(plugin.components["square"])


def test_a_mistake_is_expected_at_a_line(expect_mistake, load_plugin):
    plugin = load_plugin(GENERATOR)
    found = expect_mistake(SPEC.replace("steps: 2", "stepz: 2"), code="E101", line=5, says="steps", plugins=[plugin])
    assert found.place.line == 5
    expect_mistake(SPEC, code="E121", line=4, says="no plugin 'mine' is installed")


@pytest.mark.parametrize(
    ("text", "expected", "says"),
    [
        (SPEC.replace("mine.square", "logistic"), {"code": "E103"}, "E103, but the spec is right"),
        (SPEC, {"code": "E103"}, "expected the mistake E103, but found:.* no plugin 'mine' is installed"),
        (SPEC, {"code": "E121", "line": 1}, "expected the mistake E121 at line 1, but found:"),
        (SPEC, {"code": "E121", "says": "broken"}, "with the words 'broken', but found:"),
    ],
)
def test_what_is_not_found_fails_with_what_was(expect_mistake, text, expected, says):
    with pytest.raises(pytest.fail.Exception, match=f"(?s){says}"):
        expect_mistake(text, **expected)


def test_the_suite_of_a_package_that_is_not_installed(tmp_path):
    """`conftest.py` names the fixtures and the folder; nothing else is needed."""
    package = tmp_path / "ebmkit-mine/src/ebmkit_mine"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(GENERATOR)
    (tmp_path / "ebmkit-mine/pyproject.toml").write_text(
        '[project]\nname = "ebmkit-mine"\nversion = "0.1"\n[project.entry-points.ebmkit]\nmine = "ebmkit_mine"\n'
    )
    tests = tmp_path / "ebmkit-mine/tests"
    tests.mkdir()
    conftest = """
        from pathlib import Path
        import pytest
        pytest_plugins = ["ebmkit.testing.fixtures"]

        @pytest.fixture
        def spec_plugins():
            return [Path(__file__).parents[1]]
    """
    (tests / "conftest.py").write_text(textwrap.dedent(conftest))
    test = f"""
        def test_it_runs(run_spec):
            assert run_spec({SPEC!r}).status == "finished"

        def test_it_refuses(expect_mistake):
            expect_mistake({SPEC.replace("square", "sqare")!r}, code="E102", line=4, says="square")
    """
    (tests / "test_mine.py").write_text(textwrap.dedent(test))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed" in done.stdout, done.stdout
