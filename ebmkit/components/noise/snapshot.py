"""The model itself, as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge

from ebmkit.components.inits.replay import Replay
from ebmkit.components.samplers.langevin import Langevin
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Init, Noise, Sampler, Space

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.components.noise.nets.snapshot import SnapshotDensity


@component("snapshot")
class Snapshot(Noise):
    """A frozen copy of the model that is being trained, renewed every so many steps, and sampled by chains.

        p_m(x) = exp(-E_m(x)) / Z_m,    E_m <- E  before steps 1, K + 1, 2 K + 1, ...

    Its density is known up to Z_m, which no gradient of a ratio with fixed noise depends on but through a constant. The
    algorithm in the thesis renews it when `t + 1 % K` is zero and means `(t + 1) % K`, counting steps from t = 0.

    Parameters:
        interval: K, training steps between two copies; 1 copies before every step.
        sampler: draws from the copy; one chain per noise sample.
        init: where those chains begin.

    Reference: Xu, "Self-adapting noise-contrastive estimation for energy-based models", thesis, Tsinghua 2022,
    algorithm 3.1.

    Example: noise: {use: snapshot, interval: 5}
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real", "binary", "spin"})
    offers: ClassVar[frozenset[str]] = frozenset({"density"})

    interval: Annotated[int, Ge(1)] = 5
    sampler: Sampler = Langevin(steps=20, step_size=0.003)
    init: Init = Replay(rejuvenation=0.01)

    def build(self, event: Event, data: Tensor) -> SnapshotDensity:
        from ebmkit.components.noise.nets.snapshot import SnapshotDensity

        return SnapshotDensity(self.sampler, self.init.build(event), self.interval, event)
