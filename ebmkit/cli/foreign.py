"""Commands of plugins: `ebmkit NAMESPACE COMMAND`."""

from __future__ import annotations

import click

from ebmkit.errors.schema import PluginBroken


def plugin_commands(namespace: str) -> click.Group | None:
    """The commands of a plugin as a group, or None if it has none."""
    from ebmkit.registry.loading import Plugins

    plugins = Plugins()
    if namespace not in plugins.found():
        return None
    loaded = plugins.load(namespace)
    try:
        commands = [command for offer in plugins.manager.hook.ebmkit_commands() for command in offer]
    except Exception as error:
        raise PluginBroken(f"the commands of plugin '{namespace}' raised {type(error).__name__}: {error}") from error
    if not commands:
        return None
    what = f"Commands of {loaded.plugin.distribution} {loaded.plugin.version}."
    return click.Group(namespace, {command.name: command for command in commands if command.name}, help=what)
