"""U-Nets conditioned on the noise level."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod, sqrt

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812, the usual name

from ebmkit.components.models.unet_layers import GROUPS
from ebmkit.maths.noise_embedding import NoiseEmbedding


class Block(nn.Module):
    """A residual block of two convolutions; noise level and label scale and shift the input of the second."""

    def __init__(self, before: int, after: int, embedded: int) -> None:
        super().__init__()
        self.first_norm = nn.GroupNorm(GROUPS, before)
        self.first = nn.Conv2d(before, after, 3, padding=1)
        self.modulation = nn.Linear(embedded, 2 * after)
        self.second_norm = nn.GroupNorm(GROUPS, after)
        self.second = nn.Conv2d(after, after, 3, padding=1)
        self.shortcut = nn.Conv2d(before, after, 1) if before != after else nn.Identity()
        for part in self.second.parameters():  # a block starts as its shortcut, so that deep networks train early
            nn.init.zeros_(part)

    def forward(self, x: Tensor, embedded: Tensor) -> Tensor:
        h = self.first(F.silu(self.first_norm(x)))
        scale, shift = self.modulation(embedded)[..., None, None].chunk(2, 1)
        h = self.second(F.silu(self.second_norm(h) * (1 + scale) + shift))
        out: Tensor = (h + self.shortcut(x)) / sqrt(2)  # keeps the scale of the sum of two parts
        return out


class UNet(nn.Module):
    """U-Net from images to images: coarser feature maps and back, with skip connections."""

    def __init__(
        self, event: tuple[int, ...], channels: int, multipliers: Sequence[int], blocks: int, classes: int | None
    ) -> None:
        super().__init__()
        widths = [channels * factor for factor in multipliers]
        embedded = 4 * channels
        self.embedding = NoiseEmbedding(embedded, classes)
        self.first = nn.Conv2d(event[0], widths[0], 3, padding=1)
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        seen, width = [widths[0]], widths[0]
        for wanted in widths:
            stage = nn.ModuleList()
            for _ in range(blocks):
                stage.append(Block(width, wanted, embedded))
                width = wanted
                seen.append(width)
            self.down.append(stage)
        self.middle = Block(width, width, embedded)
        for wanted in reversed(widths):
            stage = nn.ModuleList()
            for _ in range(blocks):
                stage.append(Block(width + seen.pop(), wanted, embedded))
                width = wanted
            self.up.append(stage)
        self.last_norm = nn.GroupNorm(GROUPS, width + seen.pop())
        self.last = nn.Conv2d(width + widths[0], event[0], 3, padding=1)
        for part in self.last.parameters():  # the whole network starts at zero
            nn.init.zeros_(part)

    def forward(self, x: Tensor, sigma: Tensor, labels: Tensor | None) -> Tensor:
        embedded = self.embedding(sigma, labels)
        h = self.first(x)
        seen = [h]
        for depth, stage in enumerate(self.down):
            h = F.avg_pool2d(h, 2) if depth else h
            for block in stage:  # type: ignore[attr-defined]  # a stage is a list of blocks
                h = block(h, embedded)
                seen.append(h)
        h = self.middle(h, embedded)
        for depth, stage in enumerate(self.up):
            h = F.interpolate(h, scale_factor=2.0, mode="nearest") if depth else h
            for block in stage:  # type: ignore[attr-defined]
                h = block(torch.cat([h, seen.pop()], 1), embedded)
        out: Tensor = self.last(F.silu(self.last_norm(torch.cat([h, seen.pop()], 1))))
        return out


class UNetPotential(UNet):
    """U-Net from images to numbers: the inner product of its input and output images, over sqrt(d)."""

    def forward(self, x: Tensor, sigma: Tensor, labels: Tensor | None) -> Tensor:
        return (x * super().forward(x, sigma, labels)).flatten(1).sum(1) / sqrt(prod(x.shape[1:]))
