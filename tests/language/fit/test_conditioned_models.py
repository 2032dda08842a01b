"""What does not fit a model that is told the noise is refused before anything runs."""

import pytest

import ebmkit
from ebmkit.errors import Mistakes
from tests.language.specs import score_spec


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"init": "data"}, "E209", "starts from its own noise"),
        ({"compile": True}, "E209", "'compile' applies to energies"),
        (
            {"evaluate": [{"use": "score_error", "target": {"use": "noised_mixture"}}]},
            "E108",
            "takes a time in addition to x",
        ),
    ],
)
def test_what_would_have_no_effect_or_fail_late_is_refused(changes, code, words):
    with pytest.raises(Mistakes) as refused:
        ebmkit.load_spec(score_spec(**changes))
    assert code in str(refused.value)
    assert words in str(refused.value)


def test_a_resolved_spec_with_a_default_start_is_not_refused(tmp_path):
    folder = ebmkit.run(score_spec(), runs_dir=tmp_path).folder
    assert ebmkit.load_spec(folder / "resolved.yaml").spec.init is not None
