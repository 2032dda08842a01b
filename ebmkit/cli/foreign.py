"""Verbs of plugins: `ebmkit NAMESPACE COMMAND`."""

from __future__ import annotations

import click


def plugin_commands(namespace: str) -> click.Group | None:
    """The commands of one plugin as a group, or None where no such plugin adds any."""
    from ebmkit.plugins import Plugins

    plugins = Plugins()
    if namespace not in plugins.found():
        return None
    loaded = plugins.load(namespace)
    commands = [command for offer in plugins.manager.hook.ebmkit_commands() for command in offer]
    if not commands:
        return None
    what = f"Commands of {loaded.plugin.distribution} {loaded.plugin.version}."
    return click.Group(namespace, {command.name: command for command in commands if command.name}, help=what)
