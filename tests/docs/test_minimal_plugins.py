"""The smallest plugin of each kind stands in the documentation, and works as it stands there."""

import re
from contextlib import suppress
from pathlib import Path

import pytest

import ebmkit
from ebmkit.contracts.kinds import KINDS
from ebmkit.contracts.walk import walk
from ebmkit.language.load import load_spec
from ebmkit.registry.loading import Plugins
from ebmkit.testing import Inapplicable, trials

PAGE = (Path(__file__).parents[2] / "docs/plugins.md").read_text()
EXAMPLES = [
    (kind, code, spec)
    for kind, section in re.findall(r"^### `(\w+)`\n(.*?)(?=^##)", PAGE, re.MULTILINE | re.DOTALL)
    for code, spec in re.findall(r"```python\n(.*?)```\n\n```yaml\n(.*?)```", section, re.DOTALL)
]
every = pytest.mark.parametrize(
    "example", EXAMPLES, ids=lambda example: re.search(r'@component\("(\w+)', example[1])[1]
)

#: A run of seconds.
SMALL = ["train.steps=3", "samples=50", "data.test_size=50", "evaluate.0.samples=50", "device=cpu"]


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Writes an example as the reader would; gives the spec and the plugin."""
    monkeypatch.chdir(tmp_path)

    def mine(code, spec):
        Path("mine.py").write_text(code)
        Path("spec.yaml").write_text(f"ebmkit: 1\nextends: quickstart\n{spec}")
        return Path("spec.yaml"), ["mine.py"]

    return mine


def test_every_kind_has_one():
    assert {kind for kind, *_ in EXAMPLES} == {kind.__name__ for kind in KINDS.values()}
    assert len(re.findall("```yaml", PAGE)) == len(EXAMPLES)  # none is left out by the pattern above


@every
def test_it_is_loaded_and_used_in_a_spec_that_validates(example, mine):
    kind, code, spec = example
    path, plugins = mine(code, spec)
    (offer,) = Plugins(plugins).load("mine").offers
    assert KINDS[offer.kind].__name__ == kind
    used = [component for _, component in walk(load_spec(path, plugins=plugins).spec)]
    assert [type(component).__name__ for component in used].count(offer.load().__name__) >= 1


@every
def test_a_short_run_with_it_ends_well(example, mine, undrawn):
    kind, code, spec = example
    path, plugins = mine(code, spec)
    sizes = [size for size in SMALL if not (kind == "Data" and "test_size" in size)]
    plan = load_spec(path, sets=sizes, unsets=["expect"], plugins=plugins)
    assert ebmkit.run(plan).status == "finished"


@every
def test_it_obeys_the_laws_of_its_kind(example, mine):
    _, code, spec = example
    _, plugins = mine(code, spec)
    for trial in trials(Plugins(plugins).load("mine").components, most=1):
        with suppress(Inapplicable):
            trial.run()
