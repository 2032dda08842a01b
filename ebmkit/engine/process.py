"""Settings of the whole process: device, threads, determinism, default precision and global seed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from ebmkit.chains.private_torch import compiler_is_imported
from ebmkit.engine.rng import Streams
from ebmkit.errors.running import EnvironmentLacks
from ebmkit.language.plan import Plan

#: Below this number of parameters a second thread costs more time than it saves.
SMALL = 1_000_000


def find_device(plan: Plan) -> torch.device:
    """The device that the spec names, or an error that lists those of this machine."""
    wanted = plan.spec.device
    cuda, mps = torch.cuda.is_available(), torch.backends.mps.is_available()
    precise = plan.spec.dtype == "float64"  # which mps does not have
    if wanted == "auto":
        return torch.device("cuda" if cuda else "mps" if mps and not precise else "cpu")
    if wanted == "mps" and precise:
        raise EnvironmentLacks(
            "device 'mps' has no numbers of type float64",
            plan.place(("device",)),
            help="use dtype: float32, or device: cpu",
        )
    device = torch.device(wanted)
    count = {"cuda": torch.cuda.device_count() if cuda else 0, "mps": int(mps), "cpu": 1}[device.type]
    if (device.index or 0) >= count:
        there = [
            *(f"cuda:{n}" for n in range(torch.cuda.device_count() if cuda else 0)),
            *(["mps"] if mps else []),
            "cpu",
        ]
        raise EnvironmentLacks(
            f"device {wanted!r} is not available here",
            plan.place(("device",)),
            label="this machine has " + ", ".join(there),
            help="'auto' selects the best available device",
        )
    return device


def set_threads(plan: Plan, model: nn.Module) -> int:
    """Set the number of threads of this process, and return it."""
    threads = plan.spec.threads
    if threads == "auto":
        small = sum(parameter.numel() for parameter in model.parameters()) < SMALL
        threads = (
            1 if small else len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        )
    torch.set_num_threads(threads)
    return threads


def insist_on_determinism(wanted: bool, *, compiled: bool) -> None:
    """Refuse operations whose results vary between executions, or allow them."""
    if wanted:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS asks for it
    _set_determinism("error" if wanted else "default", compiled=compiled)
    # This mode would fill new memory with NaN, which costs time and changes nothing: it is written before it is read.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]


def _set_determinism(mode: str | int, *, compiled: bool) -> None:
    """A mode of `torch.set_deterministic_debug_mode`, for compiled code too if there is any."""
    torch.set_deterministic_debug_mode(mode)
    if compiled:  # importing the compiler to configure it takes as long as importing torch
        now = torch.get_deterministic_debug_mode()
        torch.use_deterministic_algorithms(now > 0, warn_only=now == 1)


@contextmanager
def settings_kept() -> Iterator[None]:
    """Around a run: restore what `build` sets for the whole process, for code that follows the run."""
    threads, strict = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    filled = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        _set_determinism(strict, compiled=compiler_is_imported())
        torch.utils.deterministic.fill_uninitialized_memory = filled  # type: ignore[attr-defined]


@contextmanager
def fitting_precision(dtype: torch.dtype) -> Iterator[None]:
    """Fits to data are done in float64 for a run in float64, and in float32 otherwise."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64 if dtype == torch.float64 else torch.float32)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextmanager
def seeded(streams: Streams, path: str) -> Iterator[None]:
    """Seed torch's global generator, from which layers are initialised, and restore it afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(streams.seed_of(path))
        yield
