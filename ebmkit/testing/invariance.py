"""Whether chains that start at exact draws of a target keep its distribution.

A sampler that can reject is exact, whatever the size of its steps. One that follows a gradient without rejecting is
biased by the size of its steps, and right if the bias tends to zero with it: extrapolated from two sizes, it must
vanish. A mistake in the noise or the drift has a bias that remains. Chains are long enough to forget their start, and
with it a wrong initial momentum; their steps are so large that few are needed.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ebmkit.contracts.kinds import Sampler
from ebmkit.testing.law import require
from ebmkit.testing.oracles import DRAWS, FALSE_ALARM
from ebmkit.testing.pace import Pace, paced
from ebmkit.testing.target import CENTRE, Target

#: Exact draws that serve as reference.
REFERENCE = 5 * DRAWS
#: Ratio of the two sizes of steps.
RATIO = 4
#: A bias of order p >= 1 leaves at most a third of the difference of the two biases when it is extrapolated as if it
#: were of order one; the rest of this share is for higher orders.
LEFT = 0.4
#: Largest accepted bias, as a share of the spread of a statistic, where the size of steps cannot be changed.
COARSE = 0.05


class _Ends:
    """Statistics of the ends of chains: how far their means are from those of exact draws, in units of the spread of
    each statistic, and the squares of the errors."""

    def __init__(self, pace: Pace, target: Target, exact: Tensor, spread: Tensor) -> None:
        x, self.rejects = target.ended(pace.sampler, target.draws(DRAWS, 5), pace.steps, 2)
        values = target.statistics(x)
        self.off = (values.mean(0) - exact) / spread
        self.error = values.var(0) / spread**2 / DRAWS


def require_invariant(sampler: Sampler, target: Target) -> str:
    """Raise if chains leave the distribution of the target; otherwise say what would have been seen."""
    pace = paced(sampler, target)
    hot = f" at temperature {target.temperature:g}" if target.temperature != 1 else ""
    reference = target.draws(REFERENCE, 6)
    values = target.statistics(reference)
    exact, spread = values.mean(0), values.std(0)
    ends = _Ends(pace, target, exact, spread)
    if ends.rejects or not sampler.traits().needs & {"gradient", "score"}:
        bound = _chance(ends.error)
        _require_close(ends.off, bound, pace.words + hot)
        if pace.size is not None:  # where an acceptance is close to 1, a mistake in it does not show
            wide = pace.resized(RATIO)
            others = _Ends(wide, target, exact, spread)
            _require_close(others.off, _chance(others.error), wide.words + hot)
    elif pace.size is None:
        bound = _chance(ends.error) + COARSE
        _require_close(ends.off, bound, pace.words + hot)
    else:
        fine = _Ends(pace.resized(1 / RATIO), target, exact, spread)
        limit = (RATIO * fine.off - ends.off) / (RATIO - 1)
        bound = _chance((RATIO**2 * fine.error + ends.error) / (RATIO - 1) ** 2)
        bound = bound + LEFT * (ends.off - fine.off).abs()
        _require_close(limit, bound, f"{pace.words}{hot}, extrapolated to steps of size zero,")
    return _seen(target, reference, values, bound * spread)


def _chance(error: Tensor) -> Tensor:
    """How far chance takes a statistic; of two sets of statistics each has half of the false alarms."""
    rate = torch.tensor(1 - FALSE_ALARM / len(error) / 4, dtype=torch.float64)
    most: Tensor = torch.special.ndtri(rate) * (error + 1 / REFERENCE).sqrt() + 1e-9
    return most


def _require_close(off: Tensor, bound: Tensor, what: str) -> None:
    worst = int((off.abs() / bound).nan_to_num(torch.inf).argmax())
    require(
        bool((off.abs() <= bound).all()),
        f"{what} is off by {float(off[worst]):.3g} of its spread, but chance and the size of steps explain at most "
        f"{float(bound[worst]):.3g}",
    )


def _seen(target: Target, reference: Tensor, values: Tensor, bound: Tensor) -> str:
    """The smallest mistake that would have been seen: of the spread of a Gaussian, otherwise of a statistic."""
    if not target.is_gaussian:
        return f"would have seen a statistic that is wrong by {float((bound / values.std(0)).min()):.2g} of its spread"
    step = 0.02
    centre = reference.new_tensor(CENTRE)
    wider = target.statistics(centre + (1 + step) * (reference - centre))
    slope = (wider.mean(0) - values.mean(0)).abs() / step
    return f"would have seen a spread that is wrong by {100 * float((bound / slope).min()):.2g} %"
