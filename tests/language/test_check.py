"""The words next to the place of a mistake."""

import pytest

from tests.cli.typed import ebmkit
from tests.language.specs import SMALL, TRAINED


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
