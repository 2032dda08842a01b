"""Parallel tempering, also called replica exchange."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

from annotated_types import Ge, MinLen

from ebmkit.components.samplers.metropolis import Metropolis
from ebmkit.contracts.abilities import ABILITIES, info_of
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Sampler, StepInfo
from ebmkit.contracts.kinds.sampler import State
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import SamplerTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.contracts.energy import Energy


class ParallelTemperingState(NamedTuple):
    """Where the cold chains stand, and R replicas of each, all of a temperature behind one another."""

    x: Tensor  # (B, *event)
    #: What the inner sampler remembers of R B chains, in units of their own.
    replicas: State
    temperature: Tensor  # (R B,)
    unit: Tensor  # (R B, 1, ..., 1)


class Swap(NamedTuple):
    """Replicas after exchanges."""

    x: Tensor  # (R B, *event)
    acceptance: Tensor  # (B,), of the exchanges that were tried
    broken: Tensor  # (R B,), 1 where the energy was not finite


@component("parallel_tempering")
class ParallelTempering(Sampler):
    """Chains at several temperatures exchange states, so that the hot ones carry the cold one across barriers.

        x_r is moved by an inner sampler, whose target is exp(-E/T_r),    1 = T_1 < ... < T_R
        x_r and x_{r+1} are exchanged with probability min(1, exp((1/T_r - 1/T_{r+1}) (E(x_r) - E(x_{r+1}))))

    The product of all exp(-E/T_r) is stationary, and the chain at T = 1 is the one that is kept. A step makes half of
    the inner sampler's steps, tries an exchange, and makes the other half. Either the pairs (1, 2), (3, 4), ... are
    tried or the pairs (2, 3), (4, 5), ..., as a coin of each chain says. Where the inner sampler has an even number of
    steps and is reversible, the whole step is.

    On real states a replica is moved in units of sqrt(T_r): `step_size` of Langevin becomes T_r times as large, `scale`
    of Metropolis sqrt(T_r) times, as wide as a Gaussian becomes. On a Gaussian all replicas then accept alike, and a
    step that is right for T = 1 is right for all; where the energy grows faster than a square, hot replicas want a
    smaller one. A constant factor leaves an exact sampler exact.

    All replicas begin where the chain begins, so that the first exchanges are to be thrown away. The acceptance that a
    step reports is that of the exchanges, averaged over the pairs tried; 0.2 to 0.5 is good. On a Gaussian in d
    dimensions it is 0.234 at a ratio of 1 + 2.4 / sqrt(d), and 2 / (1 + ratio) in two. The hottest temperature has to
    be of the height of the barriers. A step costs R times the inner sampler's steps and one evaluation more, and once
    what the inner sampler needs to begin. A replica whose energy is not finite is not exchanged, and counted.

    Parameters:
        steps: how many exchanges a chain tries.
        sampler: moves the replicas; its `steps` lie between two exchanges. A warm-up does not tune it.
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
            raise ValueError(f"'temperatures' begin at {self.temperatures[0]}, and the chain that is kept has 1")
        for lower, higher in zip(self.temperatures, self.temperatures[1:], strict=False):
            if higher <= lower:
                raise ValueError(f"'temperatures' increase, and {higher} follows on {lower}")
        self._check_inner()

    def traits(self) -> SamplerTraits:
        inner = self.sampler.traits()
        return inner._replace(
            needs=inner.needs | {"energy"},
            traces=inner.traces & {"energy", "gradient_norm"} | {"acceptance", "divergence"},
            host_syncs=self.sampler.steps * inner.host_syncs,
        )

    def _check_inner(self) -> None:
        inner, called = self.sampler.traits(), f"sampler '{self.sampler.component_name}'"
        if isinstance(self.sampler, ParallelTempering):
            raise ValueError("replicas of replicas: give all temperatures in one list")
        if inner.conditioning is not None:
            raise ValueError(f"{called} passes a {inner.conditioning} to the model, but replicas differ in temperature")
        for name in sorted(inner.needs & ABILITIES.keys()):  # those of plugins are asked when the chain begins
            info = info_of(ABILITIES[name])
            if info.heated is None and not info.by_energy:
                raise ValueError(f"{called} needs '{name}', which is not defined at other temperatures than 1")
        if inner.temperature != 1:
            raise ValueError(f"{called} has a temperature of its own, but exchanges follow 'temperatures' alone")
        if inner.fixed_scale:
            raise ValueError(f"{called} {inner.fixed_scale}, but replicas are moved in units that differ")

    @property
    def _rescales(self) -> bool:
        """Whether replicas of real states move in units of sqrt(T): only where the energy is all that a step uses."""
        inner = self.sampler.traits()
        return inner.spaces == {"real"} and inner.needs <= {"energy", "gradient"}

    def inner(self) -> Sampler:
        return self.sampler

    def init(self, energy: Energy, x: Tensor, rng: Generator) -> ParallelTemperingState:
        return self.begin(energy, x.expand(len(self.temperatures), *x.shape), rng)

    def begin(self, energy: Energy, x: Tensor, rng: Generator) -> ParallelTemperingState:
        """The state of replicas that stand at `x (R, B, *event)`."""
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
        replicas = self.sampler.init(heated, swapped / unit, rng)  # what it remembers is of other states
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
        """Of replicas in their units."""
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
        """Exchange neighbours among replicas `(R B, *event)`."""
        count = len(self.temperatures)
        height, beta = energy(x).view(count, -1), temperature.reciprocal().view(count, -1)
        finite = height.isfinite()
        log_ratio = (beta[:-1] - beta[1:]) * (height[:-1] - height[1:])
        probability = torch.where(finite[:-1] & finite[1:], log_ratio, -torch.inf).exp().clamp(max=1)
        # A coin of each chain, so that chains stay independent. Two replicas are one pair, which is always tried.
        even = (torch.empty_like(height[0]).uniform_(generator=rng) < 0.5) | (count == 2)
        rank = torch.arange(count, device=x.device).unsqueeze(1)
        tried = (rank[:-1] % 2 == 0) == even
        swapped = tried & (torch.empty_like(probability).uniform_(generator=rng) < probability)
        # Of the pairs tried no two share a replica: the lower one takes the state above, the upper one that below.
        pad, up = torch.nn.functional.pad, swapped.long()
        row = torch.arange(len(x), device=x.device).view_as(height)
        source = row + height.shape[1] * (pad(up, (0, 0, 0, 1)) - pad(up, (0, 0, 1, 0)))
        acceptance = torch.where(tried, probability, 0).sum(0) / tried.sum(0)
        return Swap(x.index_select(0, source.flatten()), acceptance, (~finite).to(height.dtype).flatten())
