"""A resolved spec means what the spec meant, and the hash sees the meaning and not the spelling."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ebmkit.language import packaged
from ebmkit.language.load import load_spec
from ebmkit.language.plan import resolved_yaml

from .table import HERE

RIGHT = [*sorted((HERE / "corpus").glob("*.yaml")), *sorted(packaged.folder().rglob("*.yaml"))]


@pytest.mark.parametrize("path", RIGHT, ids=lambda path: path.stem)
def test_a_resolved_spec_is_the_same_experiment(path: Path, tmp_path: Path) -> None:
    plan = load_spec(path)
    again = tmp_path / "resolved.yaml"
    again.write_text(resolved_yaml(plan), encoding="utf-8")
    second = load_spec(again)
    assert second.hash == plan.hash
    assert second.resolved == plan.resolved


@pytest.mark.parametrize("path", RIGHT, ids=lambda path: path.stem)
def test_a_resolved_spec_resolves_to_itself(path: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text(resolved_yaml(load_spec(path)), encoding="utf-8")
    second.write_text(resolved_yaml(load_spec(first)), encoding="utf-8")
    assert load_spec(second).resolved == load_spec(first).resolved


@pytest.mark.parametrize("path", RIGHT, ids=lambda path: path.stem)
def test_every_value_has_an_origin(path: Path) -> None:
    plan = load_spec(path)

    def leaves(value: object, at: tuple[str | int, ...]) -> list[tuple[str | int, ...]]:
        children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        inside = [leaf for key, child in children for leaf in leaves(child, (*at, key))]
        return inside or [at]

    without = [leaf for leaf in leaves(plan.resolved, ()) if leaf not in plan.origins and leaf[0] != "plugins"]
    assert without == []


REFERENCE = """\
ebmkit: 1
seed: 3
data: {use: two_moons, noise: 0.5}
model: {use: mlp, hidden: [8, 8]}
objective:
  use: mle
  sampler: {use: langevin, steps: 5, step_size: 1.0}
  init: {use: replay, size: 500}
train: {steps: 10, optimizer: {use: sgd, lr: 0.01}}
sampler: langevin
evaluate: [mmd]
"""

SAME = {
    "comments and empty lines": ("seed: 3\n", "\n# lucky\nseed: 3   # a number\n\n"),
    "the order of sections": ("seed: 3\n", "", "evaluate: [mmd]\n", "evaluate: [mmd]\nseed: 3\n"),
    "the order of parameters": ("{use: two_moons, noise: 0.5}", "{noise: 0.5, use: two_moons}"),
    "quotes": ("use: mle", "'use': \"mle\""),
    "block instead of flow": ("{use: mlp, hidden: [8, 8]}", "\n  use: mlp\n  hidden:\n  - 8\n  - 8"),
    "a whole number for a float": ("step_size: 1.0", "step_size: 1"),
    "another spelling of a float": ("lr: 0.01", "lr: 1.0e-2"),
    "a plus sign": ("seed: 3", "seed: +3"),
    "a mapping for a bare name": ("sampler: langevin", "sampler: {use: langevin}"),
    "a default written out": ("{use: langevin, steps: 5,", "{use: langevin, temperature: 1.0, steps: 5,"),
    "a default component written out": ("size: 500}", "size: 500, restart: {use: noise, scale: 1.0}}"),
    "a default section written out": ("seed: 3", "seed: 3\nsamples: 10000\ndevice: auto"),
    "null for an optional section": ("seed: 3", "seed: 3\nexpect: []"),
    "an anchor instead of a copy": ("steps: 5,", "steps: &n 5,", "train:", "parts:\ntrain:"),
    "a part that is used once": (
        "{use: replay, size: 500}",
        "$buffer",
        "seed: 3",
        "seed: 3\nparts: {buffer: {use: replay, size: 500}}",
    ),
    "the name of the run": ("seed: 3", "seed: 3\nname: something-else"),
    "a document mark": ("ebmkit: 1\n", "---\nebmkit: 1\n"),
    "line ends of Windows": ("\n", "\r\n"),
}

OTHER = {
    "the seed": ("seed: 3", "seed: 4"),
    "the device": ("seed: 3", "seed: 3\ndevice: cpu"),
    "a float": ("noise: 0.5", "noise: 0.50001"),
    "a count": ("steps: 5", "steps: 6"),
    "an entry of a list": ("[8, 8]", "[8, 9]"),
    "the length of a list": ("[8, 8]", "[8]"),
    "the component": ("use: sgd", "use: adam"),
    "a bare name": ("sampler: langevin", "sampler: null"),
    "one metric more": ("[mmd]", "[mmd, sliced_wasserstein]"),
    "an expectation": ("seed: 3", "seed: 3\nexpect: [{metric: mmd, below: 1}]"),
    "null for a default": ("hidden: [8, 8]", "hidden: [8, 8], base_scale: null"),
}


def hash_of(folder: Path, *changes: str) -> str:
    text = REFERENCE
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    spec = folder / "spec.yaml"
    spec.write_bytes(text.encode())
    return load_spec(spec).hash


@pytest.mark.parametrize("change", SAME)
def test_spelling_does_not_move_the_hash(change: str, tmp_path: Path) -> None:
    assert hash_of(tmp_path, *SAME[change]) == hash_of(tmp_path)


@pytest.mark.parametrize("change", OTHER)
def test_meaning_moves_the_hash(change: str, tmp_path: Path) -> None:
    assert hash_of(tmp_path, *OTHER[change]) != hash_of(tmp_path)


def test_two_changes_have_two_hashes(tmp_path: Path) -> None:
    assert len({hash_of(tmp_path, *change) for change in OTHER.values()}) == len(OTHER)


def shared(folder: Path, name: str) -> str:
    chain = "{use: langevin, steps: 5, step_size: 1.0}"
    return hash_of(
        folder, chain, f"${name}", ": langevin", f": ${name}", "seed: 3", f"seed: 3\nparts: {{{name}: {chain}}}"
    )


def test_what_a_part_is_called_does_not_matter_but_sharing_does(tmp_path: Path) -> None:
    copied = hash_of(tmp_path, "sampler: langevin", "sampler: {use: langevin, steps: 5, step_size: 1.0}")
    assert shared(tmp_path, "chain") == shared(tmp_path, "walk") != copied


def test_extends_and_flags_are_spelling_too(tmp_path: Path) -> None:
    reference = hash_of(tmp_path)
    shutil.copy(tmp_path / "spec.yaml", tmp_path / "base.yaml")
    child = tmp_path / "child.yaml"
    child.write_text("ebmkit: 1\nextends: base.yaml\nseed: 4\n")
    assert load_spec(child).hash == hash_of(tmp_path, "seed: 3", "seed: 4") != reference
    assert load_spec(child, sets=["seed=3"]).hash == reference
    assert load_spec(tmp_path / "base.yaml", unsets=["seed"]).hash == load_spec(child, sets=["seed=0"]).hash
