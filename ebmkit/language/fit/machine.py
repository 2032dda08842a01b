"""Whether this machine may have a GPU, as far as it can be known without torch."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

#: Present if a GPU can be used by torch: of NVIDIA, and of AMD.
_GPUS = (Path("/dev/nvidiactl"), Path("/dev/kfd"))


@cache
def may_have_gpu() -> bool:
    """Whether `device: auto` may mean something else than the CPU."""
    return sys.platform == "darwin" or any(path.exists() for path in _GPUS)
