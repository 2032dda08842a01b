"""Random streams: one root seed, and a separate generator for every use of randomness."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Generator, Tensor


class Streams:
    """Generators that depend on the seed and a path, and on nothing that was drawn elsewhere.

    Draws at one path do not change those at another, so adding a metric leaves the noise of training unchanged.
    Most streams start from their beginning wherever they are needed. Those that continue from step to step are saved
    with the run.
    """

    def __init__(self, seed: int, device: torch.device) -> None:
        self.seed = seed
        self.device = device
        self._ongoing: dict[str, Generator] = {}

    def seed_of(self, path: str) -> int:
        """63 bits of SHA-256 over seed and path. Python's own hash differs between processes."""
        digest = hashlib.sha256(f"{self.seed}/{path}".encode()).digest()
        return int.from_bytes(digest[:8], "big") >> 1

    def generator(self, path: str, device: torch.device | None = None) -> Generator:
        """A new generator at the beginning of the stream `path`."""
        return Generator(device or self.device).manual_seed(self.seed_of(path))

    def ongoing(self, path: str) -> Generator:
        """The generator that continues the stream `path` from its current position."""
        if path not in self._ongoing:
            self._ongoing[path] = self.generator(path)
        return self._ongoing[path]

    def state(self) -> dict[str, Tensor]:
        """The positions of the ongoing streams."""
        return {path: generator.get_state() for path, generator in self._ongoing.items()}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Continue the streams from saved positions."""
        for path, position in state.items():
            self.ongoing(path).set_state(position)

    @contextmanager
    def lent_to_torch(self) -> Iterator[None]:
        """Let torch's global generator, which layers such as dropout use, continue a stream of the run."""
        cuda = self.device.type == "cuda"
        theirs = torch.cuda.default_generators[self.device.index or 0] if cuda else torch.default_generator
        before = theirs.get_state()
        theirs.set_state(self.ongoing("torch").get_state())
        self._ongoing["torch"] = theirs
        try:
            yield
        finally:
            theirs.set_state(before)
