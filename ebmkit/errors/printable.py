"""Untrusted text as a terminal, a log or a page may show it."""

from __future__ import annotations


def printable(text: str, keep: str = "\n") -> str:
    r"""The text with every control or invisible character and every lone surrogate shown as an escape, such as `\x1b`.

    Names, values and file names come from untrusted specs, plugins and run folders. They must not control the terminal
    that shows them, reorder the text around them, or stop a program because they cannot be encoded. The characters in
    `keep` stay as they are; pass an empty `keep` where the text must stay on one line.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else repr(c)[1:-1] for c in text)
