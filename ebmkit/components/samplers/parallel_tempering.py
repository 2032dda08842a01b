"""Parallel tempering (replica exchange)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

from annotated_types import Ge, MinLen

from ebmkit.components.samplers.heatable import check_heatable
from ebmkit.components.samplers.metropolis import Metropolis
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Sampler, StepInfo
from ebmkit.contracts.kinds.sampler import State
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import SamplerTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.contracts.energy import Energy


class ParallelTemperingState(NamedTuple):
    """Positions of the cold chains, and R replicas of each, ordered by temperature."""

    x: Tensor  # (B, *event)
    #: The inner sampler's state of R B chains, in units of their own.
    replicas: State
    temperature: Tensor  # (R B,)
    unit: Tensor  # (R B, 1, ..., 1)


class Swap(NamedTuple):
    """Replicas after exchanges."""

    x: Tensor  # (R B, *event)
    acceptance: Tensor  # (B,), of the proposed exchanges
    broken: Tensor  # (R B,), 1 where the energy was not finite


@component("parallel_tempering")
class ParallelTempering(Sampler):
    """Parallel tempering (replica exchange): chains at several temperatures that exchange states.

        x_r is moved by an inner sampler, whose target is exp(-E/T_r),    1 = T_1 < ... < T_R
        x_r and x_{r+1} are exchanged with probability min(1, exp((1/T_r - 1/T_{r+1}) (E(x_r) - E(x_{r+1}))))

    Hot chains carry the cold one across barriers. The product of all exp(-E/T_r) is stationary, and the chain at T = 1
    is kept. A step makes half of the inner sampler's steps, proposes an exchange, and makes the other half. Exchanges
    are proposed for the pairs (1, 2), (3, 4), ... or for (2, 3), (4, 5), ..., with equal probability in each chain. If
    the inner sampler is reversible and has an even number of steps, the whole step is reversible.

    On real states a replica moves in units of sqrt(T_r): `step_size` of Langevin is multiplied by T_r, `scale` of
    Metropolis by sqrt(T_r), like the width of a Gaussian. On a Gaussian all replicas then have the same acceptance, and
    a step size tuned at T = 1 suits all; if the energy grows faster than quadratically, hot replicas need a smaller
    one. A constant factor leaves an exact sampler exact.

    All replicas start at the same state, so the first exchanges should be discarded. The acceptance of a step is that
    of the exchanges, averaged over the proposed pairs; 0.2 to 0.5 is good. On a Gaussian in d dimensions it is
    0.234 at a ratio of 1 + 2.4 / sqrt(d), and 2 / (1 + ratio) in two. The highest temperature must be comparable to the
    height of the barriers. A step costs R times the inner sampler's steps, one more evaluation, and one initialisation
    of the inner sampler. A replica whose energy is not finite is not exchanged, and is counted.

    Parameters:
        steps: number of exchanges that a chain proposes.
        sampler: moves the replicas, with `steps` steps between two exchanges. A warm-up does not tune it.
        temperatures: T_1 = 1 to T_R, increasing.

    Reference: Geyer, "Markov chain Monte Carlo maximum likelihood", 1991; Hukushima and Nemoto, "Exchange Monte Carlo
    method and application to spin glass simulations", J. Phys. Soc. Jpn. 65, 1996.

    Example: sampler: {use: parallel_tempering, sampler: {use: mala, steps: 10}, temperatures: [1, 3, 9, 27]}
    """

    steps: Annotated[int, Ge(1)] = 100
    sampler: Sampler = Metropolis(steps=10)
    temperatures: Annotated[tuple[float, ...], MinLen(2)] = (1.0, 2.0, 4.0, 8.0)

    def __post_init__(self) -> None:
        if self.temperatures[0] != 1:
            raise ValueError(f"'temperatures' must start at 1, not {self.temperatures[0]}")
        for lower, higher in zip(self.temperatures, self.temperatures[1:], strict=False):
            if higher <= lower:
                raise ValueError(f"'temperatures' must increase, but {higher} follows {lower}")
        self._check_inner()

    def traits(self) -> SamplerTraits:
        inner = self.sampler.traits()
        return inner._replace(
            needs=inner.needs | {"energy"},
            traces=inner.traces & {"energy", "gradient_norm"} | {"acceptance", "divergence"},
            host_syncs=self.sampler.steps * inner.host_syncs,
            evaluations=len(self.temperatures) * (self.sampler.steps * inner.evaluations + 2),
        )

    def _check_inner(self) -> None:
        inner, called = self.sampler.traits(), f"sampler '{self.sampler.component_name}'"
        if isinstance(self.sampler, ParallelTempering):
            raise ValueError("the inner sampler is itself parallel tempering: give all temperatures in one list")
        check_heatable(self.sampler, "temperatures")
        if inner.interacting:
            raise ValueError(f"{called} lets its chains move each other, but replicas differ in temperature")
        if inner.fixed_scale:
            raise ValueError(f"{called} {inner.fixed_scale}, but replicas are moved in units that differ")

    @property
    def _rescales(self) -> bool:
        """Whether replicas of real states move in units of sqrt(T): only if a step uses nothing but the energy."""
        inner = self.sampler.traits()
        return inner.spaces == {"real"} and inner.needs <= {"energy", "gradient"}

    def inner(self) -> Sampler:
        return self.sampler

    def init(self, energy: Energy, x: Tensor, rng: Generator) -> ParallelTemperingState:
        return self.begin(energy, x.expand(len(self.temperatures), *x.shape), rng)

    def begin(self, energy: Energy, x: Tensor, rng: Generator) -> ParallelTemperingState:
        """The state of replicas at `x (R, B, *event)`."""
        temperature = torch.cat([x.new_full((x.shape[1],), level) for level in self.temperatures])
        root = temperature.sqrt() if self._rescales else torch.ones_like(temperature)
        unit = root.view(-1, *[1] * (x.dim() - 2))
        replicas = self.sampler.init(self._heated(energy, temperature, unit), x.flatten(0, 1) / unit, rng)
        return ParallelTemperingState(x[0], replicas, temperature, unit)

    def step(
        self, energy: Energy, state: ParallelTemperingState, rng: Generator
    ) -> tuple[ParallelTemperingState, StepInfo]:
        x, replicas, temperature, unit = state
        asked, later = energy.evaluations, self.sampler.steps // 2
        heated = self._heated(energy, temperature, unit)
        replicas, seen = self._move(heated, replicas, self.sampler.steps - later, rng)
        swapped, acceptance, broken = self._swap(energy, replicas.x * unit, temperature, rng)
        replicas = self.sampler.init(heated, swapped / unit, rng)  # its state is that before the exchange
        replicas, also_seen = self._move(heated, replicas, later, rng)
        energy.evaluations += (len(self.temperatures) - 1) * (energy.evaluations - asked)  # of every replica
        failed = [info.divergence for info in [*seen, *also_seen] if info.divergence is not None]
        info = StepInfo(
            energy=None if seen[0].energy is None else seen[0].energy[: len(x)],
            gradient=None if seen[0].gradient is None else seen[0].gradient[: len(x)],
            acceptance=acceptance,
            divergence=torch.stack([broken, *failed]).view(-1, len(x)).amax(0),
        )
        return ParallelTemperingState(replicas.x[: len(x)], replicas, temperature, unit), info

    def _heated(self, energy: Energy, temperature: Tensor, unit: Tensor) -> Energy:
        """The energy of replicas at their temperatures, in their units."""
        from ebmkit.chains.rescaled import RescaledEnergy

        heated = energy.at(temperature)
        return RescaledEnergy(heated, unit) if self._rescales else heated

    def _move(self, heated: Energy, replicas: State, steps: int, rng: Generator) -> tuple[State, list[StepInfo]]:
        seen = []
        for _ in range(steps):
            replicas, info = self.sampler.step(heated, replicas, rng)
            seen.append(info)
        return replicas, seen

    def _swap(self, energy: Energy, x: Tensor, temperature: Tensor, rng: Generator) -> Swap:
        """Exchange neighbouring replicas `(R B, *event)`."""
        count = len(self.temperatures)
        height, beta = energy(x).view(count, -1), temperature.reciprocal().view(count, -1)
        finite = height.isfinite()
        log_ratio = (beta[:-1] - beta[1:]) * (height[:-1] - height[1:])
        probability = torch.where(finite[:-1] & finite[1:], log_ratio, -torch.inf).exp().clamp(max=1)
        # One coin per chain, so that chains stay independent. Two replicas form one pair, which is always proposed.
        even = (torch.empty_like(height[0]).uniform_(generator=rng) < 0.5) | (count == 2)
        rank = torch.arange(count, device=x.device).unsqueeze(1)
        tried = (rank[:-1] % 2 == 0) == even
        swapped = tried & (torch.empty_like(probability).uniform_(generator=rng) < probability)
        # The proposed pairs are disjoint: the lower replica takes the state above it, the upper one the state below.
        pad, up = torch.nn.functional.pad, swapped.long()
        row = torch.arange(len(x), device=x.device).view_as(height)
        source = row + height.shape[1] * (pad(up, (0, 0, 0, 1)) - pad(up, (0, 0, 1, 0)))
        acceptance = torch.where(tried, probability, 0).sum(0) / tried.sum(0)
        return Swap(x.index_select(0, source.flatten()), acceptance, (~finite).to(height.dtype).flatten())
