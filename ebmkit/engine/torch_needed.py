"""The check that torch can be imported, made before anything that imports it."""

from __future__ import annotations

import importlib

from ebmkit.errors.running import EnvironmentLacks
from ebmkit.language.plan import Plan


def require_torch(plan: Plan) -> None:
    """Raise `EnvironmentLacks` at the model of the plan if torch is missing or broken: every model needs it."""
    try:
        importlib.import_module("torch")
    except Exception as error:  # a broken torch may fail in any way: a missing library, a version of numpy
        missing = isinstance(error, ModuleNotFoundError) and error.name == "torch"
        reason = "which is not installed" if missing else f"which cannot be imported: {type(error).__name__}: {error}"
        raise EnvironmentLacks(
            f"this spec needs the package 'torch', {reason}",
            plan.place(("model",) if "model" in plan.resolved else ()),
            help="pip install torch; https://pytorch.org/get-started lists builds for your device",
        ) from error
