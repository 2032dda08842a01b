"""A small plugin to plant, for tests that need one."""

GENERATOR = """
from ebmkit.api import Bregman, component, hookimpl, torch

@component("square")
class Square(Bregman):
    \"\"\"psi(u) = u^2.\"\"\"

    def psi(self, u):
        return u * u
"""
