"""All kinds of mistakes by their codes, for `ebmkit explain` and the reference."""

from __future__ import annotations

from ebmkit.errors import fit, running, schema, text
from ebmkit.errors.base import EbmkitError

CATALOGUE: dict[str, type[EbmkitError]] = {
    error.code: error
    for module in (text, schema, fit, running)
    for error in vars(module).values()
    # Classes without a docstring of their own only group others.
    if isinstance(error, type) and issubclass(error, EbmkitError) and "code" in vars(error) and error.__doc__
}
