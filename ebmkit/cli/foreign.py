"""Commands of plugins: `ebmkit NAMESPACE COMMAND`."""

from __future__ import annotations

from typing import Any

import click

from ebmkit.errors.base import EbmkitError, Mistakes
from ebmkit.errors.describe import describe_error, type_name
from ebmkit.errors.running import ComponentFailed
from ebmkit.errors.schema import PluginBroken


def plugin_commands(namespace: str) -> click.Group | None:
    """The commands of a plugin as a group, or None if it has none."""
    from ebmkit.registry.loading import Plugins

    plugins = Plugins()
    if namespace not in plugins.found():
        return None
    plugin = plugins.load(namespace).plugin
    try:
        commands = [command for offer in plugins.manager.hook.ebmkit_commands() for command in offer]
    except (Exception, SystemExit) as error:
        raise PluginBroken(f"the commands of {plugin.label} raised {describe_error(error)}") from error
    for command in commands:
        if not (isinstance(command, click.Command) and isinstance(command.name, str)):
            raise PluginBroken(f"{plugin.label} offers an object of type {type_name(command)} as a command")
    if not commands:
        return None
    help = f"Commands of {plugin.distribution} {plugin.version}."
    return _Commands(plugin.label, name=namespace, commands={command.name: command for command in commands}, help=help)


class _Commands(click.Group):
    """Commands whose exceptions are reported with the name of the plugin."""

    def __init__(self, label: str, **options: Any) -> None:
        super().__init__(**options)
        self.label = label

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except (click.ClickException, click.exceptions.Exit, click.Abort, EbmkitError, Mistakes, OSError):
            raise
        except Exception as error:
            raise ComponentFailed(f"a command of {self.label} raised {describe_error(error)}") from error
