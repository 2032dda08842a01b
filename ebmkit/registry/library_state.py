"""State of libraries that importing a plugin must not change: logging, generators, numpy, torch."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from ebmkit.registry.restoring import Restore, all_of, objects, plain
from ebmkit.registry.torch_functions import forget_replacements, functions_of_torch, is_foreign


def logging_settings() -> Restore:
    def read() -> list[Any]:
        logging: Any = sys.modules.get("logging")
        if logging is None:
            return [0, 30]  # as it will be when it is imported
        return [logging.root.manager.disable, logging.root.level, *logging.root.handlers]

    def write(before: list[Any]) -> None:
        import logging

        logging.disable(before[0])
        logging.root.setLevel(before[1])
        logging.root.handlers[:] = before[2:]

    return objects(read, write)


def generators() -> Restore:
    """The global generators, where something may have seeded them; those that are imported later are not seeded."""
    parts = []
    python, numpy = sys.modules.get("random"), sys.modules.get("numpy.random")
    if python:
        parts.append(plain(python.getstate, python.setstate))
    if numpy:
        state = numpy.get_state()

        def position() -> tuple[Any, ...]:
            name, key, *rest = numpy.get_state()
            return name, key.tobytes(), *rest

        parts.append(plain(position, lambda before: numpy.set_state(state)))
    return all_of(parts)


def numpy_settings() -> Restore:
    """What numpy does at overflows and divisions by zero."""
    usual = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}

    def read() -> dict[str, str]:
        numpy: Any = sys.modules.get("numpy")
        return numpy.geterr() if hasattr(numpy, "geterr") else usual

    return plain(read, lambda before: sys.modules["numpy"].seterr(**before))


def torch_settings() -> Restore:
    """Types, device, determinism, gradients, precision; if torch was imported before, also threads and generator."""
    imported = "torch" in sys.modules

    def read() -> list[Any]:
        torch: Any = sys.modules.get("torch")
        if torch is None:
            precision = "high" if os.environ.get("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE") == "1" else "highest"
            return ["float32", "cpu", False, True, False, precision]  # as it will be when it is imported
        numbers = [torch.get_num_threads(), torch.default_generator.get_state().tolist()]
        return [
            str(torch.get_default_dtype()).removeprefix("torch."),
            str(torch.get_default_device()),
            torch.are_deterministic_algorithms_enabled(),
            torch.is_grad_enabled(),
            torch.is_anomaly_enabled(),
            torch.get_float32_matmul_precision(),
            *(numbers if imported else ()),
        ]

    def write(before: list[Any]) -> None:
        for change, old, new in zip(_torch_setters(), before, read(), strict=False):
            if old != new:  # to set determinism imports a compiler, which takes longer than everything else here
                change(old)

    return plain(read, write)


def torch_names() -> Restore:
    """The functions of torch, if it was imported before: otherwise `import_plugin` notices what was replaced."""
    before = functions_of_torch()

    def restore() -> bool:
        changed = forget_replacements()
        for names, name, function in before:
            if names.get(name) is not function and is_foreign(names.get(name)):
                names[name] = function
                changed = True
        return changed

    return restore


def _torch_setters() -> list[Callable[[Any], Any]]:
    """In the order in which `torch_settings` reads them."""
    import torch

    return [
        lambda name: torch.set_default_dtype(getattr(torch, name)),
        lambda name: torch.set_default_device(None if name == "cpu" else name),
        torch.use_deterministic_algorithms,
        torch.set_grad_enabled,
        torch.autograd.set_detect_anomaly,
        torch.set_float32_matmul_precision,
        torch.set_num_threads,
        lambda state: torch.default_generator.set_state(torch.tensor(state, dtype=torch.uint8, device="cpu")),
    ]
