"""Noise schedules: one per file."""

from ebmkit.registry.classes import by_name

__getattr__, __dir__ = by_name(__name__)
