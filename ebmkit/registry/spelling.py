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
    found = get_close_matches(word.lower().replace("-", "_"), by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None


def a(noun: str) -> str:
    """`a sampler`, `an objective`."""
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
