"""Reasons why samples do not match the data, as far as the run shows them, each with what to try.

None of them means anything by itself: a loss need not fall if the first weights are good, and a buffer need not change
if chains start at the right distribution. They are given only with a verdict that is not a match.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import TYPE_CHECKING

import torch

from ebmkit.components.metrics.verdict import judgement_of
from ebmkit.contracts.modules.starts import Starts
from ebmkit.contracts.training_chains import training_init
from ebmkit.engine.telling.advice import learning_rate, one_of, parameter, step_length, training_sampler
from ebmkit.maths.two_sample import differences, in_units_of_data

if TYPE_CHECKING:
    from ebmkit.engine.run_view import RunView

#: The fewest recorded losses that say anything, and the share of them at either end that is compared.
FEWEST, SHARE = 40, 10
#: The number of states of a replay buffer that are compared with its start.
STATES = 1_000
#: The mean energy of chains still changes if in their second half it does by this share of its standard deviation over
#: samples, or by the smaller share if it only falls or only rises; chains with fewer steps are not judged.
DRIFT, STEADY, SHORTEST = 0.2, 0.03, 20


def reasons(view: RunView) -> list[str]:
    """The reasons, in the order of their causes."""
    if view.judgement is None or view.judgement.level == "match":
        return []
    return [*_loss(view), *_buffer(view), *_unmixed(view), *_local(view)]


def _local(view: RunView) -> Iterator[str]:
    """An objective that cannot know how much of the data is in each of several separated modes."""
    if (objective := view.spec.final_objective) and objective.traits().local and view.plan.spec.stages:
        yield (
            f"objective '{objective.component_name}' sees the slope of the energy near the data only, so it does not "
            "learn the weights of separated modes; try objective 'nce', or a network of scores (model 'mlp_score' with "
            "objective 'noise_conditional_score_matching')"
        )


def _loss(view: RunView) -> Iterator[str]:
    """A loss that never fell. Those of two players, and of chains, do not fall in a good training either."""
    if not all(map(view.spec.is_shared, range(len(view.spec.stages)))):
        return  # losses of different stages cannot be compared
    objective, series = view.spec.objective, view.series
    losses = [value for _, value in series.get("loss", ())]
    if objective is None or objective.traits().sampler or "rival_loss" in series or len(losses) < FEWEST:
        return
    count = len(losses) // SHARE
    first, last = losses[:count], losses[-count:]
    center = median(last)
    # The standard error of a difference of two medians: 1.48 1.25 sqrt(2) = 2.6 median deviations.
    error = 2.6 * median(abs(value - center) for value in last) / count**0.5
    if center < median(first) - 3 * error:
        return
    rate = learning_rate(view.plan)
    options = f"another {rate}, or more training steps" if rate else "more training steps"
    yield f"the loss never fell: it was {median(first):.4g} at first and {center:.4g} at the end; try {options}"


def _buffer(view: RunView) -> Iterator[str]:
    """Chains of training that are still where they started."""
    found = training_init(view.spec.objective)
    if found is None or found[1].first().needs_data or view.parts.extras is None:
        return
    path, _ = found
    if not any(_unmoved(view, starts) for starts in view.parts.extras.modules() if isinstance(starts, Starts)):
        return
    plan, sampler = view.plan, training_sampler(view.plan) or ("objective",)
    options = one_of(
        f"a larger {of}" if (of := step_length(plan, sampler)) else "",
        f"a larger {of}" if (of := parameter(plan, sampler, "steps")) else "",
        f"a smaller {of}" if (of := parameter(plan, path, "size")) else "",
    )
    yield f"the chains of training never left their start: their states are as they were drawn; try {options}"


def _unmoved(view: RunView, starts: Starts) -> bool:
    """Whether kept states of chains are like new draws of the start."""
    kept = starts.kept()
    if kept is None or len(kept) < FEWEST:
        return False
    kept, rng = kept[:STATES], view.generator("health/buffer")
    fresh = starts.new().draw(torch.empty_like(kept), rng)
    x, y = (points.to("cpu", torch.float64).flatten(1) for points in (kept, fresh))
    columns = in_units_of_data(x, y, len(x), image=len(view.event) > 1)
    compared = differences(columns, view.generator("health/compared", torch.device("cpu")))
    return judgement_of(compared, len(x), len(y)).level == "match"


def _unmixed(view: RunView) -> Iterator[str]:
    """Chains whose mean energy still changes when they end. Long chains have R-hat."""
    energy, sampler = view.traces.get("energy"), view.plan.chain_sampler
    if view.draws is not None or energy is None or sampler is None or len(energy) < SHORTEST:
        return
    if sampler.traits().from_noise or not view.has_energy or view.sample_labels is not None:
        return
    tenths = torch.stack([part.mean() for part in energy.cpu().double().tensor_split(10)[4:]])
    change, ways = float(tenths[-1] - tenths[0]), tenths.diff().sign()
    spread = float(view.energy(view.samples(STATES)).double().std())
    if abs(change) <= (STEADY if bool((ways == ways[0]).all()) else DRIFT) * spread:
        return
    plan, path = view.plan, view.spec.chain_sampler_path
    options = one_of(
        f"a larger {of}" if (of := parameter(plan, path, "steps")) else "",
        f"another {of}" if (of := step_length(plan, path)) else "",
    )
    way = "fell" if change < 0 else "rose"
    yield (
        f"the chains have not mixed: in their second half their mean energy {way} by {abs(change):.3g}, where samples "
        f"have a standard deviation of {spread:.3g}; try {options}"
    )
