"""One root seed, and a random stream of its own for every place that needs randomness."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Generator, Tensor


class Streams:
    """Generators that depend on the seed and a path, and on nothing that was drawn elsewhere.

    What happens at one path cannot move the numbers of another, so adding a metric leaves the training noise alone.
    Most streams are begun anew wherever they are needed. Those that go on from step to step are saved with the run.
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
        """A new generator that stands at the beginning of the stream `path`."""
        return Generator(device or self.device).manual_seed(self.seed_of(path))

    def ongoing(self, path: str) -> Generator:
        """The generator that goes on with the stream `path`, where it stands now."""
        if path not in self._ongoing:
            self._ongoing[path] = self.generator(path)
        return self._ongoing[path]

    def state(self) -> dict[str, Tensor]:
        """Where the ongoing streams stand."""
        return {path: generator.get_state() for path, generator in self._ongoing.items()}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Let the streams go on from there."""
        for path, position in state.items():
            self.ongoing(path).set_state(position)

    @contextmanager
    def lent_to_torch(self) -> Iterator[None]:
        """Layers such as dropout draw from torch's own generator: let that go on with a stream of ours."""
        cuda = self.device.type == "cuda"
        theirs = torch.cuda.default_generators[self.device.index or 0] if cuda else torch.default_generator
        before = theirs.get_state()
        theirs.set_state(self.ongoing("torch").get_state())
        self._ongoing["torch"] = theirs
        try:
            yield
        finally:
            theirs.set_state(before)
