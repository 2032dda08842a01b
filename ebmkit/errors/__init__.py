"""The hierarchy of errors. Each class is one kind of mistake, with its code and exit status; its docstring is what
`ebmkit explain CODE` prints."""

from ebmkit.errors.base import EbmkitError, Mistakes

__all__ = ["EbmkitError", "Mistakes"]
