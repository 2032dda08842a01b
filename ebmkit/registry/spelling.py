"""Spelling in messages: "did you mean ...?", `a` or `an`."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`did you mean 'step_size'?` for the nearest known word; empty if none is near."""
    near = nearest(word, known)
    return f"did you mean '{near}'?" if near else ""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was most likely meant by `word`."""
    from difflib import get_close_matches

    if len(word) > 100:  # not a typing error, and slow to compare
        return None
    by_lower = {candidate.lower().replace("-", "_"): candidate for candidate in known}
    typed = word.lower().replace("-", "_")
    found = get_close_matches(typed, by_lower, n=10, cutoff=0.6)
    return by_lower[min(found, key=lambda candidate: _edits(typed, candidate))] if found else None


def _edits(one: str, other: str) -> int:
    """The number of typing errors between two words: a letter missing, added or wrong, or two letters exchanged.

    The distance of Damerau and Levenshtein, without edits inside exchanged letters.
    """
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one):
        earlier, before, row = before, row, [i + 1]
        for j, wanted in enumerate(other):
            row.append(min(before[j] + (letter != wanted), before[j + 1] + 1, row[j] + 1))
            if i and j and letter == other[j - 1] and one[i - 1] == wanted:
                row[-1] = min(row[-1], earlier[j - 1] + 1)
    return row[-1]


def a(noun: str) -> str:
    """`a sampler`, `an objective`."""
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
