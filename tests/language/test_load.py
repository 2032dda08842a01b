"""From any source to a plan."""

from ebmkit.language.load import load_spec
from tests.language.specs import SMALL
from tests.planted import GENERATOR


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


def test_a_dictionary_may_hold_what_json_does_not_know():
    from types import MappingProxyType

    spec = MappingProxyType(
        {"ebmkit": 1, "model": MappingProxyType({"use": "gaussian", "mean": [0]}), "sampler": "exact"}
    )
    assert load_spec(spec).spec.model.mean == (0.0,)
