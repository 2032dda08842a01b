"""Writes the last section of docs/plugins/checking.md: every law in a sentence.

.venv/bin/python docs/plugins/write_checking.py
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from pathlib import Path

from ebmkit.contracts.kinds import KINDS, noun
from ebmkit.testing.law import Law
from ebmkit.testing.laws import laws_of, own_laws_of

PAGE = Path(__file__).parent / "checking.md"
TITLE = "## Every law"


def section() -> str:
    """The list of all laws, from the title of the section to the end of the page."""
    of_all = [law for law in laws_of("data") if law not in own_laws_of("data")]
    parts = [
        TITLE,
        "Written by `docs/plugins/write_checking.py`. A component is tested by the first laws and those of its kind.",
        "### Every kind",
        rows(of_all),
    ]
    for kind in KINDS:
        parts += [f"### {noun(kind)[0].upper()}{noun(kind)[1:]}", rows(own_laws_of(kind))]
    return "\n\n".join(parts) + "\n"


def rows(laws: Iterable[Law]) -> str:
    """A table of laws."""
    return "\n".join(
        ["| law | what it states |", "|---|---|", *(f"| `{law.__name__}` | {sentence(law)} |" for law in laws)]
    )


def sentence(law: Law) -> str:
    """The statement of a law, as `ebmkit plugins check` prints it."""
    words = " ".join((inspect.getdoc(law) or "").partition("\n\n")[0].split())
    return words.replace("|", "\\|")


if __name__ == "__main__":
    before = PAGE.read_text().partition(TITLE)[0]
    PAGE.write_text(before + section())
