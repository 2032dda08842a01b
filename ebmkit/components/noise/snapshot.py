"""A copy of the model as noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge

from ebmkit.components.inits.replay import Replay
from ebmkit.components.samplers.mixed_mala import MixedMALA
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Init, Noise, Sampler, Space

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.components.noise.nets.snapshot import SnapshotDensity


@component("snapshot")
class Snapshot(Noise):
    """Snapshot of the model as noise: a frozen copy, updated every K training steps and sampled by MCMC.

        p_m(x) = exp(-E_m(x)) / Z_m,    E_m <- E  before steps 1, K + 1, 2 K + 1, ...

    Its density is known up to Z_m, which enters the gradient of a ratio with fixed noise only through a constant. The
    algorithm in the thesis updates it when `t + 1 % K` is zero, meaning `(t + 1) % K`, with steps counted from t = 0.

    Parameters:
        interval: K, number of training steps between two copies; 1 copies before every step.
        sampler: draws from the copy, with one chain per noise sample.
        init: initial states of these chains.

    Reference: Xu, "Self-adapting noise-contrastive estimation for energy-based models", thesis, Tsinghua 2022,
    algorithm 3.1.

    Example: noise: {use: snapshot, interval: 5}
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real", "binary", "spin"})
    offers: ClassVar[frozenset[str]] = frozenset({"density"})

    interval: Annotated[int, Ge(1)] = 5
    sampler: Sampler = MixedMALA(steps=20)
    init: Init = Replay()

    def build(self, event: Event, data: Tensor) -> SnapshotDensity:
        from ebmkit.components.noise.nets.snapshot import SnapshotDensity

        return SnapshotDensity(self.sampler, self.init.build(event), self.interval, event)
