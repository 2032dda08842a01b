"""The elliptical slice sampler."""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

from ebmkit.api import Ge, Sampler, SamplerTraits, StepInfo, component, torch
from ebmkit_samplers_extra.abilities import GaussianPrior, along

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.api import Energy


class SliceState(NamedTuple):
    """Positions of the chains, and their misfits."""

    x: Tensor
    misfit: Tensor


@component("elliptical_slice")
class EllipticalSlice(Sampler):
    """Elliptical slice sampling of a Gaussian prior times a likelihood: exact, without a step size and a gradient.

        E(x) = (x - m)' C^-1 (x - m) / 2 + L(x),    nu ~ N(0, C),    level = L(x) - log u
        x* = m + (x - m) cos(t) + nu sin(t),    t uniform in a bracket of length 2 pi around 0
        x' = x* if L(x*) <= level, else the bracket shrinks to t, and t is drawn again

    Where the prior dominates, as for Gaussian processes, it mixes well, and slowly where the likelihood does. A step
    evaluates L until every chain has found a state on its slice, about 3 to 10 times; a chain that has not after
    `max_shrinks` stays where it is, which keeps the target, too.

    Parameters:
        steps: number of steps of a chain.
        max_shrinks: most states that a step tries.

    Reference: Murray, Adams and MacKay, "Elliptical slice sampling", AISTATS 2010, arXiv:1001.0175.

    Example: sampler: {use: samplers_extra.elliptical_slice, steps: 500}
    """

    needs: ClassVar[frozenset[str]] = frozenset({"gaussian_prior"})
    traces: ClassVar[frozenset[str]] = frozenset()

    steps: Annotated[int, Ge(1)] = 500
    max_shrinks: Annotated[int, Ge(1)] = 30

    def traits(self) -> SamplerTraits:
        # The host waits after each try, to see whether some chain needs another one.
        return super().traits()._replace(host_syncs=self.max_shrinks, evaluations=self.max_shrinks)

    def init(self, energy: Energy, x: Tensor, rng: Generator) -> SliceState:
        return SliceState(x, _misfit(energy, x))

    def step(self, energy: Energy, state: SliceState, rng: Generator) -> tuple[SliceState, StepInfo]:
        x, misfit = state
        prior = energy.ask(GaussianPrior)
        center, nu = prior.prior_center(x), prior.prior_noise(x, rng)
        level = misfit + torch.empty_like(misfit).exponential_(generator=rng)
        # All random numbers at once: how many are used by some chain must not change those of the others.
        shares = misfit.new_empty(self.max_shrinks, len(misfit)).uniform_(generator=rng)
        high = 2 * pi * shares[0]
        t, low = high, high - 2 * pi
        found, done = state, torch.zeros_like(misfit, dtype=torch.bool)
        for share in (*shares[1:], None):
            proposal = center + (x - center) * along(t.cos(), x) + nu * along(t.sin(), x)
            proposed = _misfit(energy, proposal)
            fits = (proposed <= level) & ~done
            found = SliceState(
                torch.where(along(fits, x), proposal, found.x), torch.where(fits, proposed, found.misfit)
            )
            done = done | fits
            if share is None or bool(done.all()):
                break
            low, high = torch.where(t < 0, t, low), torch.where(t < 0, high, t)
            t = low + share * (high - low)
        return found, StepInfo()


def _misfit(energy: Energy, x: Tensor) -> Tensor:
    energy.evaluations += 1
    return energy.ask(GaussianPrior).misfit(x)
