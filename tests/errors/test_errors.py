"""The catalogue of errors, and how they are shown."""

import inspect
import json
import textwrap

import pytest

from ebmkit.errors import Mistakes
from ebmkit.errors.base import EbmkitError
from ebmkit.errors.catalogue import CATALOGUE
from ebmkit.errors.fit import SpaceMismatch
from ebmkit.errors.render import render
from ebmkit.errors.schema import UnknownParameter
from ebmkit.errors.source import Place, Source
from ebmkit.language.layers import compose
from ebmkit.language.load import load_spec
from tests.cli.typed import ebmkit
from tests.language.specs import SMALL, mistakes_of


def wrong_examples():
    explanations = {code: inspect.getdoc(error) or "" for code, error in sorted(CATALOGUE.items())}
    return [
        pytest.param(code, textwrap.dedent(words.partition("Wrong:\n")[2]), id=code)
        for code, words in explanations.items()
        if "Wrong:\n" in words
    ]


@pytest.mark.parametrize(("code", "spec"), wrong_examples())
def test_the_wrong_example_of_an_explanation_is_wrong_in_that_way(code, spec, tmp_path):
    path = tmp_path / "wrong.yaml"
    path.write_text(spec)
    with pytest.raises((Mistakes, EbmkitError)) as caught:
        load_spec(path)
    mistakes = caught.value.mistakes if isinstance(caught.value, Mistakes) else [caught.value]
    assert code in [mistake.code for mistake in mistakes]


def test_every_error_explains_itself():
    for error in CATALOGUE.values():
        assert len((inspect.getdoc(error) or "").split()) > 8, error


SOURCE = Source("specs/my.yaml", "\n" * 8 + "  sampler: {use: langevin, step_sise: 0.1}\n")
MISTAKE = UnknownParameter(
    "unknown parameter 'step_sise' of sampler 'langevin'", Place(SOURCE, 9, 28, 9), label="did you mean 'step_size'?"
)


def test_the_text_form_is_that_of_the_design():
    assert render([MISTAKE], "text") == textwrap.dedent(
        """\
        error[E103]: unknown parameter 'step_sise' of sampler 'langevin'
         --> specs/my.yaml:9:28
        9 |   sampler: {use: langevin, step_sise: 0.1}
          |                            ^^^^^^^^^ did you mean 'step_size'?

        for details: ebmkit explain E103"""
    )


def test_the_last_line_names_the_code_of_the_first_error():
    first = SpaceMismatch("real states", Place(SOURCE, 3, 1))
    assert render([first, MISTAKE], "text").splitlines()[-1] == "for details: ebmkit explain E201"


def test_the_json_form():
    (shown,) = json.loads(render([MISTAKE], "json"))
    assert shown["code"] == "E103"
    assert shown["place"] == {"file": "specs/my.yaml", "line": 9, "column": 28, "length": 9}


def test_the_github_form_is_one_escaped_line():
    shown = render([UnknownParameter("100 %\nof it", Place(SOURCE, 9, 28))], "github")
    assert shown == "::error file=specs/my.yaml,line=9,col=28,title=E103::100 %25%0Aof it"


def test_the_caret_stands_under_wide_and_combining_characters():
    source = Source("s", "漢字e\u0301: x")
    lines = render([UnknownParameter("m", Place(source, 1, 7))], "text").splitlines()
    assert lines[3] == "  | " + " " * 7 + "^"


def test_control_characters_of_a_file_do_not_reach_the_terminal():
    source = Source("s", "a: \x1b[31mred")
    assert "\x1b" not in render([UnknownParameter("m", Place(source, 1, 1))], "text")


def test_a_long_line_is_cut_around_the_mark():
    source = Source("s", "x" * 500 + "HERE" + "y" * 500)
    lines = render([UnknownParameter("m", Place(source, 1, 501, 4))], "text").splitlines()
    assert len(lines[2]) < 200
    assert lines[2][lines[3].index("^") :].startswith("HERE")


def test_a_spec_error_outranks_a_missing_plugin(tmp_path):
    spec = "ebmkit: 1\nmodel: nowhere.model\nsampler: exact\n{}"
    for extra, status in (("", 3), ("seed: -1\n", 2)):
        path = tmp_path / "spec.yaml"
        path.write_text(spec.format(extra))
        with pytest.raises(Mistakes) as caught:
            load_spec(path)
        assert caught.value.exit_status == status


def test_places_survive_extends_aliases_and_flags(tmp_path):
    (tmp_path / "base.yaml").write_text("ebmkit: 1\nsampler: &s {use: langevin, step_sise: 1.0}\nmodel: mlp\n")
    (tmp_path / "child.yaml").write_text("extends: base.yaml\ndata: two_moons\nparts: {p: {use: langevin, stps: 1}}\n")
    with pytest.raises(Mistakes) as caught:
        load_spec(
            tmp_path / "child.yaml", sets=["objective={use: mle, sampler: $p}", "train={steps: 1, optimizer: sgdd}"]
        )
    found = {str(mistake.place).removeprefix(f"{tmp_path}/"): mistake.code for mistake in caught.value.mistakes}
    assert found == {"base.yaml:2:29": "E103", "child.yaml:3:28": "E103", "--set[2]:1:29": "E102"}


def test_compose_and_check_agree_on_the_root():
    assert compose(Source("s", "ebmkit: 1")).plain() == {"ebmkit": 1}


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
        "message": "key 'seed' occurs twice",
        "place": {"file": str(path), "line": 6, "column": 1, "length": 4},
        "label": "again",
        "other": {"file": str(path), "line": 5, "column": 1, "length": 4},
        "other_label": "first here",
        "help": "",
        "exit_status": 2,
    }


def test_a_files_name_is_escaped_for_github(tmp_path):
    path = tmp_path / "a,b.yaml"
    path.write_text(SMALL + "seed: -1\n")
    assert "a%2Cb.yaml,line=5" in ebmkit("validate", str(path), "--format", "github", status=2).stdout
