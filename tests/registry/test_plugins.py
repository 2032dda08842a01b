"""Discovery, isolation and handshake, with real distributions on the path."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ebmkit.errors import EbmkitError
from ebmkit.registry.loading import Plugins
from ebmkit.registry.registry import Registry
from tests.cli.typed import ebmkit
from tests.planted import GENERATOR

ROOT = Path(__file__).parents[2]


def find(name, kind="bregman", files=()):
    return Registry(Plugins(files)).find(kind, name)


def test_a_plugin_is_imported_only_when_a_name_asks_for_it(install):
    module = install("lazy", GENERATOR)
    plugins = Plugins()
    registry = Registry(plugins)
    registry.find("model", "mlp")
    assert plugins.found()["lazy"].distribution == "ebmkit-lazy"
    assert module not in sys.modules
    registry.find("bregman", "lazy.square")
    assert module in sys.modules
    assert [entry.name for entry in registry.entries("bregman") if entry.plugin == "lazy"] == ["lazy.square"]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import no_such_module_anywhere", "ModuleNotFoundError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("1 / 0", "ZeroDivisionError"),
        ("def broken(:", "SyntaxError"),
        (GENERATOR + "\nEBMKIT_API = 99", "plugin API 99"),
        (
            GENERATOR + "\n@hookimpl\ndef ebmkit_componets():\n    return []",
            "did you mean 'ebmkit_components'",
        ),
        (GENERATOR + "\n@hookimpl\ndef ebmkit_step_ended(views):\n    pass", "did you mean 'view'"),
        (GENERATOR + "\ndef ebmkit_run_started(view, folder):\n    pass", "lacks the marker"),
        (GENERATOR + "\n@hookimpl\ndef ebmkit_components():\n    return [Square, Square]", "both called"),
        (GENERATOR + "\n@hookimpl\ndef ebmkit_components():\n    return [int]", "not a component"),
        (GENERATOR + "\n@hookimpl\ndef ebmkit_components():\n    return 1 / 0", "ZeroDivisionError"),
        (GENERATOR.replace("def psi", "def phi"), "does not implement psi"),
        (GENERATOR.replace('"square"', '"Square"'), "TypeError"),
        (GENERATOR.replace("def psi", "use: int = 1\n\n    def psi"), "spec language"),
        (GENERATOR.replace("def psi", "eps: 'NoSuchType' = 1\n\n    def psi"), "annotations"),
    ],
)
def test_a_broken_plugin_is_shown_with_its_reason_and_harms_nobody(install, code, reason):
    install("bad", code)
    with pytest.raises(EbmkitError, match=reason) as caught:
        find("bad.square")
    assert (caught.value.code, caught.value.exit_status) == ("E122", 3)
    plugins = Plugins()
    with pytest.raises(EbmkitError, match=reason):
        plugins.load_whole("bad")
    assert Registry(plugins).find("model", "gaussian")


def test_a_broken_plugin_is_shown_at_the_line_that_needs_it(install, tmp_path):
    from ebmkit.errors import Mistakes
    from ebmkit.language.load import load_spec

    install("bad", "1 / 0")
    path = tmp_path / "spec.yaml"
    path.write_text("ebmkit: 1\nmodel: gaussian\nsampler: {use: bad.thing, steps: 3}\n")
    with pytest.raises(Mistakes) as caught:
        load_spec(path)
    (mistake,) = caught.value.mistakes
    assert (mistake.code, mistake.place.line, mistake.place.column) == ("E122", 3, 16)


def test_a_broken_plugin_leaves_no_hook_behind(install):
    install("bad", GENERATOR + "\n@hookimpl\ndef ebmkit_step_ended(view, stepp):\n    pass")
    plugins = Plugins()
    with pytest.raises(EbmkitError, match="did you mean 'step'"):
        plugins.load_whole("bad")
    assert plugins.manager.hook.ebmkit_step_ended.get_hookimpls() == []


def test_two_distributions_that_claim_one_namespace_are_both_refused_by_name(install):
    install("twice", GENERATOR, distribution="ebmkit-first")
    install("twice", GENERATOR + "\n# another", distribution="ebmkit-second")
    with pytest.raises(EbmkitError, match="ebmkit-first, ebmkit-second"):
        find("twice.square")


def test_versions_are_checked_before_anything_is_imported(install):
    module = install("newer", GENERATOR, requires="ebmkit-core>=99")
    with pytest.raises(EbmkitError, match="needs ebmkit-core>=99"):
        find("newer.square")
    assert module not in sys.modules


def test_a_plugin_that_depends_on_the_namesake_is_told_so(install):
    install("namesake", GENERATOR, requires="ebmkit>=0.1")
    with pytest.raises(EbmkitError, match="another project"):
        find("namesake.square")


def test_plugins_can_be_turned_off(install, monkeypatch):
    install("off", GENERATOR)
    for setting in ("1", "all", "other, off"):
        monkeypatch.setenv("EBMKIT_DISABLE_PLUGINS", setting)
        with pytest.raises(EbmkitError, match="EBMKIT_DISABLE_PLUGINS"):
            find("off.square")
    monkeypatch.setenv("EBMKIT_DISABLE_PLUGINS", "other")
    assert find("off.square")


def test_what_a_plugin_prints_does_not_reach_stdout(install, capsys):
    install("chatty", "print('hello')\n" + textwrap.dedent(GENERATOR))
    find("chatty.square")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "hello" in captured.err


def test_a_file_named_on_the_command_line_is_a_plugin(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(textwrap.dedent(GENERATOR))
    plugins = Plugins([str(path)])
    assert Registry(plugins).find("bregman", "mine.square")
    assert len(plugins.loaded["mine"].sha256) == 64


def test_a_file_cannot_take_the_namespace_of_an_installed_plugin(tmp_path, install):
    install("mine", GENERATOR)
    path = tmp_path / "mine.py"
    path.write_text(textwrap.dedent(GENERATOR))
    with pytest.raises(EbmkitError, match="both claim"):
        find("mine.square", files=[str(path)])


def test_builtin_names_cannot_be_shadowed(install):
    install("shadow", GENERATOR.replace('"square"', '"logistic"'))
    registry = Registry(Plugins())
    registry.load("shadow")
    assert registry.find("bregman", "logistic").__module__ == "ebmkit.components.bregman.logistic"
    assert registry.find("bregman", "shadow.logistic") is not registry.find("bregman", "logistic")


def test_commands_of_a_plugin_live_under_its_namespace(install):
    from click.testing import CliRunner

    from ebmkit.cli import group

    install(
        "tools",
        """
        import click
        from ebmkit.api import hookimpl

        @click.command()
        def greet():
            click.echo("hello from a plugin")

        @hookimpl
        def ebmkit_commands():
            return [greet]
        """,
    )
    assert CliRunner().invoke(group, ["tools", "greet"]).output == "hello from a plugin\n"
    assert CliRunner().invoke(group, ["tolls", "greet"]).exit_code == 2


@pytest.fixture(scope="module")
def itakura(tmp_path_factory):
    """The example package, built and installed by pip into a folder of its own."""
    target = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", str(target), str(ROOT / "plugins/ebmkit-itakura")], check=True)
    return target


def test_the_example_package_is_installed_and_trains(itakura, tmp_path):
    import os

    environment = {**os.environ, "PYTHONPATH": str(itakura)}
    command = [sys.executable, "-m", "ebmkit"]

    def ebmkit(*words):
        done = subprocess.run([*command, *words], capture_output=True, text=True, env=environment, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "ebmkit-itakura 0.1.0  loaded" in ebmkit("plugins", "--load")
    assert "psi(u) = -log(u + eps)" in ebmkit("show", "bregman", "itakura.itakura_saito")
    spec = str(ROOT / "plugins/ebmkit-itakura/specs/itakura.yaml")
    small = ["--set", "train.steps=60", "--set", "sampler.steps=20", "--set", "data.test_size=500"]
    small += ["--set", "samples=500", "--set", "evaluate.0.samples=500", "--unset", "expect"]
    result = json.loads(ebmkit("run", spec, *small, "--json"))
    lock = (tmp_path / result["folder"] / "lock.yaml").read_text()
    assert "ebmkit-itakura" in lock
    assert "0.1.0" in lock


def test_a_broken_plugin_is_tried_once(install, tmp_path):
    install("bad", f"open({str(tmp_path / 'tries')!r}, 'a').write('x'); 1 / 0")
    plugins = Plugins()
    for _ in range(2):
        with pytest.raises(EbmkitError, match="ZeroDivisionError"):
            plugins.load("bad")
    assert (tmp_path / "tries").read_text() == "x"


def test_a_plugin_that_is_turned_off_is_no_trouble(install, monkeypatch):
    install("off", "1 / 0")
    monkeypatch.setenv("EBMKIT_DISABLE_PLUGINS", "off")
    assert ebmkit("list", "bregman").stderr == ""
    (row,) = [row for row in json.loads(ebmkit("plugins", "--load", "--json").stdout) if row["namespace"] == "off"]
    assert row["status"] == "disabled"


def test_a_namespace_that_no_spec_could_write_is_refused(install):
    install("Loud", GENERATOR)
    with pytest.raises(EbmkitError, match="lower-case"):
        Registry(Plugins()).find("bregman", "Loud.square")


def test_requirements_are_compared_as_installers_do(install):
    install("newer", GENERATOR, requires="EBMkit_core>=99")
    with pytest.raises(EbmkitError, match="needs ebmkit-core>=99"):
        Registry(Plugins()).find("bregman", "newer.square")


def test_what_a_plugin_imports_is_not_its_own(install):
    install("mine", "from ebmkit.components.bregman.logistic import Logistic\n" + GENERATOR)
    assert [cls.component_name for cls in Plugins().load("mine").components] == ["square"]


def test_an_entry_point_names_a_module(install, tmp_path):
    module = install("mine", GENERATOR)
    (tmp_path / "ebmkit_mine-1.0.dist-info" / "entry_points.txt").write_text(f"[ebmkit]\nmine = {module}:Square\n")
    with pytest.raises(EbmkitError, match="must name a module"):
        Plugins().load("mine")


def test_ctrl_c_while_a_plugin_is_imported_is_nobodys_fault(install):
    import signal

    install("slow", "raise KeyboardInterrupt")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            Plugins().load("slow")
    finally:
        signal.signal(signal.SIGINT, before)


def test_where_ctrl_c_raises_nothing_a_keyboard_interrupt_is_the_plugins_own(install):
    import signal

    install("slow", "raise KeyboardInterrupt")
    before = signal.signal(signal.SIGINT, lambda number, frame: None)  # as in verbs
    try:
        with pytest.raises(EbmkitError, match="KeyboardInterrupt"):
            Plugins().load("slow")
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_file_that_fails_leaves_no_module_behind(tmp_path):
    import sys

    path = tmp_path / "broken.py"
    path.write_text("1 / 0")
    with pytest.raises(EbmkitError):
        Plugins([str(path)])
    assert "ebmkit_plugin_broken" not in sys.modules
