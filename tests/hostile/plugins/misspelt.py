"""A plugin that misspells a hook."""

from ebmkit.api import hookimpl


@hookimpl
def ebmkit_component():
    return ()
