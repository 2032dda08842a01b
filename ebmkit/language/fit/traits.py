"""Do the traits of all components name abilities that exist?"""

from __future__ import annotations

from collections.abc import Iterator

from ebmkit.contracts.walk import walk
from ebmkit.errors.base import EbmkitError
from ebmkit.errors.schema import Refused
from ebmkit.language.check import Checked
from ebmkit.language.fit.places import Places, label_of
from ebmkit.registry.abilities import trait_of, unknown_ability


def trait_misfits(checked: Checked, here: Places) -> Iterator[EbmkitError]:
    """What parameters decide was not known when the class was registered; a plugin may also raise anything here."""
    for path, component in walk(checked.spec):
        try:
            wrong = unknown_ability(type(component), trait_of(component))
        except Exception as error:
            wrong = f"'traits' raised {type(error).__name__}: {error}"
        if wrong:
            yield Refused(f"{label_of(component)}: {wrong}", here(*path))
