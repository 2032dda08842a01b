"""What a run was made with, so that it can be made again."""

from __future__ import annotations

import io
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ruamel.yaml import YAML

from ebmkit.build import Parts
from ebmkit.plan import Plan


def lock(plan: Plan, parts: Parts) -> str:
    """The text of `lock.yaml`: versions, plugins with their hashes, and what else changes bits."""
    content: dict[str, Any] = {
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in ("ebmkit-core", "torch", "numpy", "safetensors")},
        "plugins": {
            loaded.plugin.namespace: {
                "distribution": loaded.plugin.distribution,
                "version": loaded.plugin.version,
                "sha256": loaded.sha256,
            }
            for loaded in plan.plugins
        },
        "platform": platform.platform(),
        "device": str(parts.device),
        "threads": parts.threads,
        "git": _git(),
    }
    text = io.StringIO()
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.dump(content, text)
    return text.getvalue()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _git() -> dict[str, Any] | None:
    """The commit of the folder in which the command was typed, where that is a repository."""
    try:
        commit = _ask_git("rev-parse", "HEAD")
        return {"commit": commit, "changed": bool(_ask_git("status", "--porcelain", "--untracked-files=no"))}
    except (OSError, subprocess.SubprocessError):
        return None


def _ask_git(*question: str) -> str:
    return subprocess.run(["git", *question], capture_output=True, text=True, check=True, timeout=5).stdout.strip()
