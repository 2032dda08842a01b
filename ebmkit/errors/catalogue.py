"""All error classes by code, for `ebmkit explain` and the reference."""

from __future__ import annotations

from ebmkit.errors import fit, running, schema, text
from ebmkit.errors.base import EbmkitError

CATALOGUE: dict[str, type[EbmkitError]] = {
    error.code: error
    for module in (text, schema, fit, running)
    for error in vars(module).values()
    # Classes without a docstring only group other classes.
    if isinstance(error, type) and issubclass(error, EbmkitError) and "code" in vars(error) and error.__doc__
}
