"""ebmkit: a laboratory for energy-based models.

An experiment is one YAML file, a new method is one small class. The names here are for scripts and notebooks; plugin
authors import from `ebmkit.api`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ebmkit.contracts.version import __version__

if TYPE_CHECKING:
    from ebmkit.energy_samples import sample
    from ebmkit.experiment import open_run, resume, run
    from ebmkit.language.load import load_spec

__all__ = ["__version__", "load_spec", "open_run", "resume", "run", "sample"]

_HOMES = {
    "load_spec": "ebmkit.language.load",
    "open_run": "ebmkit.experiment",
    "resume": "ebmkit.experiment",
    "run": "ebmkit.experiment",
    "sample": "ebmkit.energy_samples",
}


def __getattr__(name: str) -> Any:
    """Public names load when first used: `import ebmkit` alone imports neither torch nor pydantic."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ebmkit' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
