"""What a plan knows of every value, and that its resolved text is the same experiment."""

from ebmkit.errors import Mistakes
from ebmkit.language.load import load_spec
from ebmkit.language.plan import resolved_yaml
from tests.language.specs import SMALL, SPINS


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
