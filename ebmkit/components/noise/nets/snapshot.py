"""A frozen copy of the model as a noise density."""

from __future__ import annotations

import copy

import torch
from torch import Generator, Tensor, nn

from ebmkit.chains.chain import run_chain
from ebmkit.contracts.context import Context
from ebmkit.contracts.kinds import Sampler
from ebmkit.contracts.modules.density import Density
from ebmkit.contracts.modules.starts import Starts
from ebmkit.contracts.setting import Setting


class SnapshotDensity(Density):
    """`exp(-E_m)`, unnormalised, with the weights of the model at the last copy."""

    #: The copy, created by `prepare`.
    model: nn.Module
    #: A state, for its shape, device and dtype.
    origin: Tensor

    def __init__(self, sampler: Sampler, starts: Starts, interval: int, event: tuple[int, ...]) -> None:
        super().__init__()
        self.sampler = sampler
        self.starts = starts
        self.interval = interval
        self.register_buffer("origin", torch.zeros(event), persistent=False)

    def prepare(self, setting: Setting) -> None:
        self.model = copy.deepcopy(setting.model).eval().requires_grad_(False)

    def log_prob(self, x: Tensor) -> Tensor:
        energy: Tensor = self.model(x)
        return -energy

    def sample(self, n: int, rng: Generator) -> Tensor:
        start = self.starts.draw(self.origin.expand(n, *self.origin.shape), rng)
        return run_chain(self.sampler, self.model, start, rng, starts=self.starts).x

    def draw(self, model: nn.Module, batch: Tensor, count: int, context: Context) -> Tensor:
        like = batch if count == len(batch) else batch[torch.arange(count, device=batch.device) % len(batch)]
        start = self.starts.draw(like, context.rng)
        # If a copy is due, the model itself is used. It is copied after its forward pass: an interrupted chain has then
        # changed nothing, and the copy has the spectral norms of that pass.
        source = model if self._is_due(context.step) else self.model
        return context.chain(self.sampler, source, start, starts=self.starts, traced=True)

    @property
    def age(self) -> Tensor | None:
        """Number of draws since the chains drawn last were kept, for starts that keep chains."""
        return self.starts.age

    @torch.no_grad()
    def follow(self, model: nn.Module, step: int) -> None:
        if self._is_due(step):
            for mine, theirs in zip(self.model.state_dict().values(), model.state_dict().values(), strict=True):
                mine.copy_(theirs)

    def _is_due(self, step: int) -> bool:
        return (step - 1) % self.interval == 0
