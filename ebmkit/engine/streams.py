"""One root seed, and a random stream of its own for every place that needs randomness."""

from __future__ import annotations

import hashlib

import torch
from torch import Generator


class Streams:
    """Generators that depend on the seed and a path, and on nothing that was drawn elsewhere.

    What happens at one path cannot move the numbers of another, so adding a metric leaves the training noise alone.
    """

    def __init__(self, seed: int, device: torch.device) -> None:
        self.seed = seed
        self.device = device

    def seed_of(self, path: str) -> int:
        """63 bits of SHA-256 over seed and path. Python's own hash differs between processes."""
        digest = hashlib.sha256(f"{self.seed}/{path}".encode()).digest()
        return int.from_bytes(digest[:8], "big") >> 1

    def generator(self, path: str, device: torch.device | None = None) -> Generator:
        """A new generator that stands at the beginning of the stream `path`."""
        return Generator(device or self.device).manual_seed(self.seed_of(path))
