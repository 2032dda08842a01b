"""A plugin from the future."""

EBMKIT_API = 99
