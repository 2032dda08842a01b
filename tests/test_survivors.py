"""Each of these was written because a planted bug, or a real one, survived the tests that were there before."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from ebmkit.cli import group
from ebmkit.errors import EbmkitError, Mistakes
from ebmkit.errors.source import Source
from ebmkit.language.layers import compose, open_spec
from ebmkit.language.load import load_spec
from ebmkit.language.plan import resolved_yaml
from ebmkit.language.text import MAX_BYTES, MAX_DEPTH, MAX_NODES, parse, read
from ebmkit.registry.loading import Plugins
from ebmkit.registry.registry import Registry
from tests.planted import GENERATOR


def tree(text):
    return parse(Source("spec.yaml", text))


def mistakes_of(text, tmp_path, **options):
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    with pytest.raises(Mistakes) as caught:
        load_spec(path, **options)
    return caught.value.mistakes


def ebmkit(*words, status=0, **options):
    done = CliRunner().invoke(group, list(words), prog_name="ebmkit", **options)
    assert done.exit_code == status, done.output + repr(done.exception)
    return done


SMALL = "ebmkit: 1\nmodel: {use: gaussian, mean: [0, 0]}\ndata: two_moons\nsampler: exact\n"
TRAINED = "ebmkit: 1\nmodel: mlp\ndata: two_moons\nobjective: mle\ntrain: {steps: 5}\n"

# --- text -------------------------------------------------------------------------------------------------------------


def test_bounds_are_the_last_size_that_is_read(tmp_path):
    assert tree("[" * MAX_DEPTH + "]" * MAX_DEPTH).depth == MAX_DEPTH
    assert tree(f"[{'1,' * (MAX_NODES - 1)}]").size == MAX_NODES
    for text in ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), f"[{'1,' * MAX_NODES}]"):
        with pytest.raises(Mistakes) as caught:
            tree(text)
        assert [mistake.code for mistake in caught.value.mistakes] == ["E002"]
    path = tmp_path / "spec.yaml"
    path.write_bytes(b"#" * MAX_BYTES)
    assert len(read(str(path)).text) == MAX_BYTES
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(EbmkitError, match="at most"):
        read(str(path))


def test_standard_input_has_the_same_bound():
    assert "E002" in ebmkit("validate", "-", input=b"#" * (MAX_BYTES + 1), status=2).stderr


def test_a_node_knows_its_size_with_keys_and_aliases():
    root = tree("a: &x {k: 1, l: [2, 3]}\nb: *x\n")
    assert root.value["a"].size == 7  # itself, two keys, 1, the list and its two entries
    assert root.size == 1 + 2 + 2 * 7


def test_the_other_place_is_shown():
    with pytest.raises(Mistakes) as caught:
        tree("seed: 1\nname: x\nseed: 2\n")
    assert str(caught.value.mistakes[0].other) == "spec.yaml:1:1"
    with pytest.raises(Mistakes) as caught:
        tree("model: {use: mlp\nsampler: x\n")
    assert str(caught.value.mistakes[0].other) == "spec.yaml:1:8"


def test_of_a_key_that_stands_twice_the_first_is_checked_on(tmp_path):
    found = mistakes_of(SMALL + "seed: 1\nseed: x\n", tmp_path)
    assert [mistake.code for mistake in found] == ["E008"]


def test_what_was_wrong_before_the_reading_stopped_is_told_too():
    with pytest.raises(Mistakes) as caught:
        tree("a: 1_000\nb: {c: 1 d: 2}\n")
    assert [mistake.code for mistake in caught.value.mistakes] == ["E009", "E004"]


def test_a_comment_is_not_underlined():
    assert tree("c: [1,   # why\n  2]\n").value["c"].place.length == 3


# --- layers and flags -------------------------------------------------------------------------------------------------


def test_a_chain_of_16_bases_is_read_and_one_of_17_is_not(tmp_path):
    (tmp_path / "0.yaml").write_text("ebmkit: 1\n")
    for n in range(1, 18):
        (tmp_path / f"{n}.yaml").write_text(f"extends: {n - 1}.yaml\n")
    assert compose(open_spec(str(tmp_path / "16.yaml"))).plain() == {"ebmkit": 1}
    with pytest.raises(EbmkitError, match="more than 16"):
        compose(open_spec(str(tmp_path / "17.yaml")))


def test_unset_comes_before_set():
    assert compose(Source("s", "seed: 1\n"), ["seed=2"], ["seed"]).plain() == {"seed": 2}


def test_a_merged_mapping_stands_where_it_was_changed(tmp_path):
    (tmp_path / "base.yaml").write_text("ebmkit: 1\nmodel: mlp\n")
    (tmp_path / "child.yaml").write_text("extends: base.yaml\nseed: 1\n")
    root = compose(open_spec(str(tmp_path / "child.yaml")))
    assert root.place.source.name.endswith("child.yaml")  # `spec.yaml` of a run folder is this file's text


def test_a_file_wins_over_a_packaged_spec_of_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quickstart").write_text(SMALL)
    assert open_spec("quickstart").text == SMALL


def test_a_misspelt_base_is_answered_with_its_neighbour(tmp_path):
    (tmp_path / "common.yaml").write_text(SMALL)
    (mistake,) = mistakes_of("extends: comon.yaml\n", tmp_path)
    assert mistake.label == "did you mean 'common.yaml'?"


def test_mistakes_of_the_text_and_of_flags_are_told_together(tmp_path):
    found = mistakes_of(SMALL + "seed: 1_000\n", tmp_path, sets=["evaluate.9=mmd"])
    assert [mistake.code for mistake in found] == ["E009", "E013"]


def test_setting_a_value_inside_a_section_leaves_the_sections_key_where_it_is():
    root = compose(Source("s", "train: {steps: 1}\n"), ["train.steps=2"])
    assert str(root.value["train"].key) == "s:1:1"
    assert str(root.value["train"].value["steps"].key) == "--set[1]:1:7"


def test_something_is_appended_to_a_key_without_a_value():
    assert compose(Source("s", "evaluate:\n"), ["evaluate+=mmd"]).plain() == {"evaluate": ["mmd"]}


def test_a_misspelt_unset_is_answered():
    with pytest.raises(Mistakes) as caught:
        compose(Source("s", "seed: 1\n"), (), ["sead"])
    assert caught.value.mistakes[0].label == "did you mean 'seed'?"


def test_unset_reaches_into_an_item_of_a_list():
    root = compose(Source("s", "evaluate: [{use: mmd, samples: 5}, ess]\n"), (), ["evaluate[0].samples"])
    assert root.plain() == {"evaluate": [{"use": "mmd"}, "ess"]}


def test_a_value_may_hold_an_equals_sign():
    assert compose(Source("s", "a: 1\n"), ['b="x=y"']).plain() == {"a": 1, "b": "x=y"}


# --- real ones, found by reading --------------------------------------------------------------------------------------


def again(plan, tmp_path):
    path = tmp_path / "resolved.yaml"
    path.write_text(resolved_yaml(plan))
    return load_spec(path)


def test_a_part_that_two_kinds_use_is_refused_or_resolves_to_what_can_be_read_again(tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text(
        "ebmkit: 1\ndata: two_moons\nparts: {g: gaussian}\nmodel: $g\nsampler: exact\n"
        "objective: {use: nce, noise: $g}\ntrain: {steps: 5}\n"
    )
    try:
        plan = load_spec(path)
    except Mistakes:
        return
    assert again(plan, tmp_path).hash == plan.hash


def test_a_part_that_names_another_part_resolves_to_what_can_be_read_again(tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text(
        "ebmkit: 1\nmodel: mlp\ndata: two_moons\nparts: {a: $b, b: langevin}\n"
        "objective: {use: mle, sampler: $a}\nsampler: $b\ntrain: {steps: 5}\n"
    )
    plan = load_spec(path)
    assert again(plan, tmp_path).hash == plan.hash


def test_a_file_name_cannot_write_lines_into_the_resolved_spec(tmp_path):
    path = tmp_path / "evil\nseed: 7 #.yaml"
    path.write_text(SMALL)
    plan = load_spec(path)
    assert again(plan, tmp_path).hash == plan.hash


def test_new_spec_changes_one_place_of_an_alias_as_set_does(tmp_path):
    path, new = tmp_path / "spec.yaml", tmp_path / "new.yaml"
    path.write_text(
        "ebmkit: 1\nmodel: mlp\ndata: two_moons\nobjective: {use: mle, sampler: &s {use: langevin, steps: 10}}\n"
        "sampler: *s\ntrain: {steps: 5}\n"
    )
    ebmkit("new", "spec", str(new), "--from", str(path), "--set", "sampler.steps=99")
    assert load_spec(new).hash == load_spec(path, sets=["sampler.steps=99"]).hash


def test_new_spec_in_another_folder_still_finds_its_base(tmp_path):
    (tmp_path / "base.yaml").write_text(SMALL)
    (tmp_path / "child.yaml").write_text("extends: base.yaml\nseed: 1\n")
    new = tmp_path / "deep" / "new.yaml"
    done = CliRunner().invoke(group, ["new", "spec", str(new), "--from", str(tmp_path / "child.yaml")])
    assert done.exit_code == 2 or load_spec(new)


def test_new_spec_reads_standard_input_once(tmp_path):
    new = tmp_path / "new.yaml"
    ebmkit("new", "spec", str(new), "--from", "-", input=SMALL)
    assert new.read_text() == SMALL


def test_a_folder_does_not_hide_a_packaged_spec(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quickstart").mkdir()
    ebmkit("validate", "quickstart")


def test_why_explains_the_parameter_of_a_part_and_not_a_section_of_the_same_name(tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text(SMALL + "parts: {m: {use: mmd, samples: 500}}\nevaluate: [$m]\n")
    assert "the run folder keeps" not in ebmkit("resolve", str(path), "--why", "parts.m.samples").output


@pytest.mark.parametrize(
    "code",
    [
        None,  # a folder without __init__.py: a namespace package has no file to hash
        "from ebmkit.api import hookimpl\n@hookimpl\ndef ebmkit_components():\n    raise SystemExit(5)\n",
    ],
)
def test_no_plugin_takes_ebmkit_down(install, code):
    install("bad", code)
    ebmkit("list", "bregman")


def test_a_plugin_whose_commands_fail_is_broken_and_not_a_traceback(install):
    install("bad", "from ebmkit.api import hookimpl\n@hookimpl\ndef ebmkit_commands():\n    return 1 / 0\n")
    assert "E122" in ebmkit("bad", "thing", status=3).stderr


# --- the words beside the place ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        # of all known parameters, not only of the missing ones
        ("model: {use: mlp, hiden: [3]}\ndata: two_moons\nsampler: langevin\n", "did you mean 'hidden'?"),
        (TRAINED.replace("steps: 5", "steps: 5, lr: 0.1"), "one level deeper: optimizer: {use: adam, lr: ...}"),
        (SMALL + "steps: 5\n", "one level deeper: train: {steps: ...}"),
        (TRAINED.replace("objective: mle", "objective: {use: nce, learn_log_z: on}"), "write true"),
        (TRAINED.replace("objective: mle", "objective: {use: nce, learn_log_z: off}"), "write false"),
        (SMALL + "seed: 3.0\n", "write 3\n"),
        (SMALL + "extend: base.yaml\n", "did you mean 'extends'?"),
        (SMALL + "plugin: {}\n", "did you mean 'plugins'?"),
    ],
)
def test_words_of_mistakes(text, words, tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text(text if text.startswith("ebmkit") else "ebmkit: 1\n" + text)
    assert words in ebmkit("validate", str(path), status=2).stderr


# --- plugins: of a spec -----------------------------------------------------------------------------------------------


def test_plugins_of_a_spec_are_loaded_so_that_their_hooks_run(install, tmp_path):
    install("seen", GENERATOR)
    path = tmp_path / "spec.yaml"
    path.write_text(SMALL + 'plugins: {seen: "ebmkit-seen"}\n')
    assert [loaded.plugin.namespace for loaded in load_spec(path).plugins] == ["seen"]


def test_a_prerelease_and_another_spelling_of_the_distribution_will_do(install, tmp_path):
    install("seen", GENERATOR, version="0.3rc1")
    path = tmp_path / "spec.yaml"
    path.write_text(SMALL + 'plugins: {seen: "EBMkit_seen>=0.2"}\n')
    assert load_spec(path)


# --- fits and plans ---------------------------------------------------------------------------------------------------

SPINS = """
import dataclasses
from ebmkit.api import Metric, Model, Sampler, component

@component("spins")
class Spins(Model):
    \"\"\"Spins.\"\"\"
    space = "spin"
    offers = frozenset({"energy"})
    def event(self): return (2,)
    def build(self, event): ...

@component("flip")
class Flip(Sampler):
    \"\"\"Flips.\"\"\"
    spaces = frozenset({"spin"})
    needs = frozenset({"energy"})
    steps: int = 1
    def init(self, energy, x, rng): ...
    def step(self, energy, state, rng): ...

@component("real_only")
class RealOnly(Metric):
    \"\"\"Measures real states.\"\"\"
    spaces = frozenset({"real"})
    def results(self): return ("real_only",)
    def measure(self, view): ...
"""


def test_a_metric_for_other_states_is_refused_with_both_places(tmp_path):
    plugin = tmp_path / "lab.py"
    plugin.write_text(SPINS)
    text = "ebmkit: 1\nmodel: lab.spins\nsampler: lab.flip\nevaluate: [lab.real_only]\n"
    (mistake,) = mistakes_of(text, tmp_path, plugins=[str(plugin)])
    assert (mistake.code, mistake.place.line, mistake.other.line) == ("E201", 4, 2)


def test_a_buffer_as_large_as_a_batch_will_do_and_evaluation_has_no_batch(tmp_path):
    path = tmp_path / "spec.yaml"
    replay = "{use: replay, size: 256}"
    path.write_text(TRAINED.replace("objective: mle", f"objective: {{use: mle, init: {replay}}}"))
    assert load_spec(path)
    path.write_text(TRAINED + "sampler: langevin\ninit: {use: replay, size: 100}\n")
    assert load_spec(path)


def test_the_other_place_of_a_misfit_is_that_of_what_it_does_not_fit(tmp_path):
    noise = "objective: {use: nce, noise: {use: gaussian, mean: [0, 0, 0], covariance: [1, 1, 1]}}"
    (mistake,) = mistakes_of(TRAINED.replace("objective: mle", noise), tmp_path)
    assert (mistake.code, mistake.other.line) == ("E202", 3)  # the data, which fix the shape
    (mistake,) = mistakes_of("ebmkit: 1\nmodel: mlp\ndata: two_moons\nsampler: exact\n", tmp_path)
    assert (mistake.code, mistake.other.line) == ("E204", 2)


def test_a_misspelt_measurement_is_answered(tmp_path):
    (mistake,) = mistakes_of(SMALL + "evaluate: [mmd]\nexpect: [{metric: mdm, below: 1}]\n", tmp_path)
    assert mistake.label == "did you mean 'mmd'?"


def test_the_revision_of_a_component_moves_the_hash(tmp_path):
    spec = tmp_path / "spec.yaml"
    spec.write_text("ebmkit: 1\nmodel: lab.spins\nsampler: lab.flip\n")
    hashes = set()
    for folder, name in (("one", '"flip"'), ("two", '"flip", revision=2')):
        plugin = tmp_path / folder / "lab.py"
        plugin.parent.mkdir()
        plugin.write_text(SPINS.replace('"flip"', name))
        hashes.add(load_spec(spec, plugins=[str(plugin)]).hash)
    assert len(hashes) == 2


def test_the_origin_of_a_bare_name_is_where_it_stands(tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text(SMALL)
    assert str(load_spec(path).origins["sampler", "use"]) == f"{path}:4:10"


def test_the_origin_of_a_name_that_nobody_wrote(tmp_path):
    """`--why name` cannot tell: the words also stand in the meaning of `name`."""
    path = tmp_path / "mine.yaml"
    path.write_text(SMALL)
    assert load_spec(path).origins["name",] == "the file's name"


def test_behind_a_list_of_numbers_stands_where_it_comes_from(tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text(SMALL)
    line = next(line for line in resolved_yaml(load_spec(path)).splitlines() if "mean:" in line)
    assert line.endswith(f"# {path}:2:31")


def test_new_spec_unsets_before_it_sets(tmp_path):
    path, new = tmp_path / "spec.yaml", tmp_path / "new.yaml"
    path.write_text(SMALL + "seed: 1\n")
    ebmkit("new", "spec", str(new), "--from", str(path), "--unset", "seed", "--set", "seed=2")
    assert load_spec(new).spec.seed == 2


def test_a_name_is_suggested_from_its_own_kind():
    with pytest.raises(EbmkitError) as caught:
        Registry(Plugins()).find("bregman", "gaussien")  # a model and a noise are called `gaussian`
    assert caught.value.label == ""


def test_a_component_of_another_kind_is_recognised():
    with pytest.raises(EbmkitError, match="'langevin' is a sampler, not an init"):
        Registry(Plugins()).find("init", "langevin")


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
    assert Registry(Plugins()).load_all() == []
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
    install("slow", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        Plugins().load("slow")


def test_a_file_that_fails_leaves_no_module_behind(tmp_path):
    import sys

    path = tmp_path / "broken.py"
    path.write_text("1 / 0")
    with pytest.raises(EbmkitError):
        Plugins([str(path)])
    assert "ebmkit_plugin_broken" not in sys.modules


def test_the_hash_of_a_package_covers_all_its_files_and_their_names(tmp_path):
    from types import ModuleType

    from ebmkit.registry.validation import digest

    module = ModuleType("pack")
    module.__file__ = str(tmp_path / "__init__.py")
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "inner.py").write_text("x = 1\n")
    first = digest(module)
    (tmp_path / "inner.py").write_text("x = 2\n")
    second = digest(module)
    (tmp_path / "inner.py").rename(tmp_path / "other.py")
    assert len({first, second, digest(module)}) == 3


def test_a_parameter_without_annotation_is_told(install):
    install("mine", GENERATOR.replace("    def psi", "    eps = 1e-6\n\n    def psi"))
    with pytest.raises(EbmkitError, match="eps has no annotation"):
        Plugins().load("mine")


# --- schema, pages, errors, verbs -------------------------------------------------------------------------------------


def test_what_the_schema_tells_an_editor():
    import jsonschema

    schema = json.loads(ebmkit("schema").stdout)
    langevin = next(
        rule["then"]["properties"]
        for rule in schema["$defs"]["sampler"]["then"]["allOf"]
        if rule["if"]["properties"]["use"]["const"] == "langevin"
    )
    assert langevin["steps"]["description"]
    assert langevin["steps"]["default"] == 100
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid({"extends": "base.yaml", "seed": 1})
    assert validator.is_valid({"ebmkit": 1, "model": "mlp", "sampler": "$chain", "parts": {"chain": "langevin"}})
    assert not validator.is_valid({"ebmkit": 1})


def test_the_default_of_a_component_is_written_as_a_spec_would():
    from ebmkit.components.optimizers.adam import Adam
    from ebmkit.language.reference import plain_default

    assert plain_default(Adam()) == "adam"
    assert plain_default((Adam(lr=0.5),)) == [{"use": "adam", "lr": 0.5}]


def test_a_meaning_goes_on_over_several_lines():
    from ebmkit.language.reference import page
    from ebmkit.language.sections import Spec

    (threads,) = [parameter for parameter in page(Spec).parameters if parameter.name == "threads"]
    assert threads.meaning.endswith("another number gives other bits.")


def test_mistakes_are_told_file_by_file(tmp_path):
    (tmp_path / "base.yaml").write_text("ebmkit: 1\n\n\nseed: -1\nsamples: -1\n")
    found = mistakes_of("extends: base.yaml\nmodel: mpl\nname: ''\nsampler: x\n", tmp_path)
    names = [mistake.place.source.name.rpartition("/")[2] for mistake in found]
    assert names in (["base.yaml"] * 2 + ["spec.yaml"] * 3, ["spec.yaml"] * 3 + ["base.yaml"] * 2)


def test_the_json_form_has_every_field(tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text(SMALL + "seed: 1\nseed: 3.0\n")
    (mistake,) = json.loads(ebmkit("validate", str(path), "--format", "json", status=2).stdout)
    assert mistake == {
        "code": "E008",
        "message": "key 'seed' stands twice",
        "place": {"file": str(path), "line": 6, "column": 1, "length": 4},
        "label": "again",
        "other": {"file": str(path), "line": 5, "column": 1, "length": 4},
        "other_label": "first here",
        "help": "",
        "exit_status": 2,
    }


def test_plugins_says_by_its_status_that_one_is_broken(install):
    install("bad", "1 / 0")
    assert "broken\n    importing it raised ZeroDivisionError" in ebmkit("plugins", "--load", status=3).stdout
    assert "installed" in ebmkit("plugins").stdout


def test_a_device_flag_wins_and_is_blamed_under_its_own_name(tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text(SMALL)
    done = ebmkit("run", str(path), "--set", "device=cpu", "--device", "nonsense", status=2)
    assert "--> --device:1:8" in done.stderr


def test_new_spec_keeps_the_line_ends_of_its_base(tmp_path):
    path, new = tmp_path / "spec.yaml", tmp_path / "new.yaml"
    path.write_bytes(SMALL.replace("\n", "\r\n").encode())
    ebmkit("new", "spec", str(new), "--from", str(path), "--set", "seed=2")
    assert b"\r\n" in new.read_bytes()
    assert b"\n" not in new.read_bytes().replace(b"\r\n", b"")


def test_a_dictionary_may_hold_what_json_does_not_know():
    from types import MappingProxyType

    spec = MappingProxyType(
        {"ebmkit": 1, "model": MappingProxyType({"use": "gaussian", "mean": [0]}), "sampler": "exact"}
    )
    assert load_spec(spec).spec.model.mean == (0.0,)


def test_sample_knows_the_formats_that_can_be_written():
    from ebmkit.cli.sample import FLAT
    from ebmkit.storage.export import FORMATS

    assert tuple(FORMATS) == FLAT


def test_a_files_name_is_escaped_for_github(tmp_path):
    path = tmp_path / "a,b.yaml"
    path.write_text(SMALL + "seed: -1\n")
    assert "a%2Cb.yaml,line=5" in ebmkit("validate", str(path), "--format", "github", status=2).stdout
