"""The text of `lock.yaml` is read back as what was written, whatever its hashes look like."""

import pytest

from ebmkit.engine.folder.lockfile import to_yaml
from ebmkit.errors.source import Source
from ebmkit.language.text import parse

#: The beginnings of hashes that a reader may take for numbers.
HASHES = ["0bee2969c9", "0b101", "0x12ab", "0o17", "12e4", "1e999", "0123", "99", "1_000", "null", "~", "2024-01-01"]


@pytest.mark.parametrize("text", HASHES)
def test_a_hash_stays_text(text):
    content = {"experiment": text, "data": {"points.npz": text, "empty": {}}, "argv": [text], "git": None}
    assert parse(Source("lock.yaml", to_yaml(content))).plain() == content
