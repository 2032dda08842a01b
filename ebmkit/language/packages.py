"""The check that the optional packages of a plan are installed, which also reads no file and imports no torch.

It is not part of `load_spec`: a run that wrote TensorBoard events can be opened where TensorBoard is not installed.
"""

from __future__ import annotations

from ebmkit.contracts.packages import lacking, package_missing
from ebmkit.errors.base import EbmkitError, Mistakes
from ebmkit.language.plan import Plan


def require_packages(plan: Plan) -> None:
    """Raise all missing packages of a plan at once, each at the line of the component that needs it."""
    found: list[EbmkitError] = []
    for path, component, package in lacking(plan.spec):
        error = package_missing(component, package, plan.name_at(path))
        error.place = plan.place(path)
        found.append(error)
    if found:
        raise Mistakes(found)
