"""`plugins:`, the distributions that a spec needs."""

from __future__ import annotations

from shlex import quote

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from ebmkit.errors.base import EbmkitError
from ebmkit.errors.schema import PluginMissing, WrongType
from ebmkit.language.text import show
from ebmkit.registry.registry import Registry

MAX_REQUIREMENT = 200


def unmet(registry: Registry, namespace: str, text: str) -> EbmkitError | None:
    """Load the plugin that a requirement asks for; why it cannot be used, without a place, or None."""
    requirement = _requirement(text)
    if requirement is None:
        return WrongType(f"{show(text)} is not a requirement", help="a distribution and versions: ebmkit-alpha>=0.2")
    plugin = registry.plugins.found().get(namespace)
    if plugin is None:
        return PluginMissing(f"plugin '{namespace}' is not installed", help=f"pip install {quote(text)}")
    if not plugin.trouble and canonicalize_name(requirement.name) != canonicalize_name(plugin.distribution):
        return PluginMissing(
            f"the namespace '{namespace}' belongs to '{plugin.distribution}', not to '{requirement.name}'"
        )
    if not plugin.trouble and not requirement.specifier.contains(plugin.version, prereleases=True):
        return PluginMissing(
            f"'{text}' is required, but {plugin.distribution} {plugin.version} is installed",
            help=f"pip install {quote(text)}",
        )
    try:
        registry.load(namespace)
    except EbmkitError as error:
        return error
    return None


def _requirement(text: str) -> Requirement | None:
    if len(text) > MAX_REQUIREMENT:  # parsing is recursive, and slow for long lists of versions
        return None
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return None
    # A spec does not say where code is fetched from.
    return None if requirement.url or requirement.marker else requirement
