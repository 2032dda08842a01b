"""The lock of a run: everything that its results depend on, so that it can be reproduced."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from ebmkit.engine.folder.commit import commit_of
from ebmkit.engine.folder.locked import data_files, packages, plugin_entry, read_lock
from ebmkit.engine.parts import Parts
from ebmkit.errors.running import Drifted
from ebmkit.language.diff import differences
from ebmkit.language.plan import Plan
from ebmkit.language.unpackaged import UNPACKAGED, unpackaged
from ebmkit.language.yaml_writer import yaml_text

#: What the results depend on, to the last bit. A run is only continued if these are the same.
BINDING = ("experiment", "packages", "plugins", "device", "cpu", "threads", "data")


def lock(plan: Plan, parts: Parts) -> dict[str, Any]:
    """Versions, plugins and data with their hashes, and what else the results depend on."""
    return {
        "experiment": plan.hash,
        "packages": packages(),
        "plugins": {loaded.plugin.namespace: plugin_entry(loaded) for loaded in plan.plugins},
        "data": data_files(plan),
        "device": _device(parts.device),
        "cpu": f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}",
        "threads": parts.threads,
        # The rest is for information only.
        "python": platform.python_version(),
        "platform": platform.platform(),
        UNPACKAGED: unpackaged(plan.plugins),
        "git": {"commit": commit} if (commit := commit_of(Path.cwd())) else None,
    }


def to_yaml(content: dict[str, Any]) -> str:
    """The text of `lock.yaml`."""
    return yaml_text(content, {})


def drift(folder: Path, now: dict[str, Any], keys: Sequence[str] = BINDING) -> list[str]:
    """The differences between `lock.yaml` in `folder` and the lock `now`, in words."""
    then = read_lock(folder)
    before, after = ({key: content.get(key) for key in keys} for content in (then, now))
    return [str(difference) for difference in differences(before, after)]


def _device(device: torch.device) -> str:
    return f"{device} {torch.cuda.get_device_name(device)}" if device.type == "cuda" else str(device)


def drifted(folder: Path, differing: list[str]) -> Drifted:
    """The error if a run is continued under other conditions."""
    return Drifted(
        f"{folder} was started under different conditions: " + "; ".join(differing),
        help="--allow-drift continues anyway; results may then differ from those of an uninterrupted run",
    )
