"""One tree of errors. A class is one kind of mistake: it owns its code and exit status, and its docstring is what
`ebmkit explain CODE` prints."""

from ebmkit.errors.base import EbmkitError, Mistakes

__all__ = ["EbmkitError", "Mistakes"]
