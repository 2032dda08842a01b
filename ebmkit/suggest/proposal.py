"""Proposed noise levels for the data of a spec, compared with the spec's own."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ebmkit.contracts.kinds import Data, Schedule
from ebmkit.contracts.states import image_shape
from ebmkit.contracts.walk import walk
from ebmkit.engine.points import training_points
from ebmkit.language.plan import Plan
from ebmkit.maths.process import range_of
from ebmkit.suggest.levels import SHARE, Suggestion, overlap, published_ratio, suggest

#: The decay of the moving average in technique 5.
EMA = 0.999


@dataclass(frozen=True)
class Own:
    """A schedule of the spec: its range of noise over signal, and its levels, if any."""

    name: str
    most: float
    least: float
    levels: tuple[float, ...]
    #: For each pair of neighbours, the mass that they share.
    overlaps: tuple[float, ...]


@dataclass(frozen=True)
class Proposal:
    """The proposed schedule, and the schedules of the spec."""

    data: Data
    suited: Suggestion
    own: tuple[Own, ...]

    @property
    def levels(self) -> tuple[float, ...]:
        """The proposed levels."""
        s = self.suited
        return tuple(s.sigma_max * s.ratio**-i for i in range(s.count))

    def fragment(self) -> str:
        """A fragment to paste into a spec."""
        s = self.suited
        ends = f"sigma_max: {s.sigma_max:g}, sigma_min: {s.sigma_min:g}"
        chain = f"steps_per_level: {s.steps_per_level}, step_size: {s.step_size:g}"
        return (
            f"parts:\n  sigmas: {{use: geometric, {ends}, count: {s.count}}}\n"
            f"sampler: {{use: annealed_langevin, schedule: $sigmas, {chain}}}\n"
            "# model and objective also take 'schedule: $sigmas'"
        )

    def lines(self) -> list[str]:
        """The proposal as text."""
        s = self.suited
        published = published_ratio(s.coordinates)
        other = f"published: {published:.4g}" if published else "published: any"
        lines_of = {
            "data": f"{self.data.component_name}: {s.points:,} training points of {s.coordinates:,} "
            f"{'coordinate' if s.coordinates == 1 else 'coordinates'}",
            "sigma_max": f"{s.sigma_max:g}, the largest distance between two of them (technique 1 of arXiv:2006.09011)",
            "sigma_min": f"{s.sigma_min:g}, {s.rule}",
            "count": f"{s.count} levels in ratios of {s.ratio:.4g}; neighbours share {s.overlap:.2f} of their mass",
            "": f"with a ratio of {s.largest_ratio:.4g}, {SHARE:.0%} of a level's noise lies within the next level's "
            f"(technique 2; {other})",
            "steps": f"{s.steps_per_level} per level with step_size {s.step_size:g} (technique 4): samples of a "
            f"Gaussian as wide as the data have {s.width:.2f} of its variance; {s.count * s.steps_per_level:,} steps",
            "weights": "lambda = sigma^2, the objective's default; our networks have technique 3, 1 / sigma, built in",
            "mean": f"train: {{ema: {EMA}}} stabilises samples (technique 5); use less for short training",
            "ve": f"{{use: ve, sigma_max: {s.sigma_max:g}, sigma_min: {s.sigma_min:g}}} is the same in continuous time",
            "vp": self._vp(),
        }
        if s.far_from_zero:
            lines_of["warning"] = (
                f"chains start around 0, but the data lie {s.offset / s.sigma_max:.3g} sigma_max away: {self._centre()}"
            )
        lines = [f"{name:<10} {words}" for name, words in lines_of.items()]
        for own in self.own:
            first, *rest = self._comparison(own)
            lines += [f"{'the spec':<10} {first}", *(f"{'':<10} {line}" for line in rest)]
        return lines

    def to_json(self) -> dict[str, Any]:
        """The proposal as a JSON object."""
        s = self.suited
        return {
            "data": self.data.component_name,
            **dataclasses.asdict(s),
            "levels": list(self.levels),
            "published_ratio": published_ratio(s.coordinates),
            "ve": {"sigma_max": s.sigma_max, "sigma_min": s.sigma_min},
            "vp_fits": s.unit_variance,
            "far_from_zero": s.far_from_zero,
            "fragment": self.fragment(),
            "spec": [
                {**dataclasses.asdict(own), "differs": self._comparison(own)[1:] if self._differences(own) else []}
                for own in self.own
            ],
        }

    def _vp(self) -> str:
        s = self.suited
        are = f"for data of mean 0 and deviation 1; these data have mean {s.offset:.2g} and deviation {s.deviation:.2g}"
        return f"{are}, which is close enough" if s.unit_variance else f"{are}: {self._centre()}"

    def _centre(self) -> str:
        return "set 'scale: standardize'"

    def _comparison(self, own: Own) -> list[str]:
        head = f"{own.name}: {own.most:.3g} to {own.least:.3g}"
        if own.levels:
            head += f" in {len(own.levels)} level" + "s" * (len(own.levels) > 1)
        if own.overlaps:
            head += f"; neighbours share at least {min(own.overlaps):.2g} of their mass"
        return [head, *(self._differences(own) or ["close to the proposal"])]

    def _differences(self, own: Own) -> list[str]:
        s, found = self.suited, []
        if not own.levels and own.name in ("vp", "cosine") and not s.unit_variance:
            found.append(f"it is {self._vp()}")
        if own.most < s.sigma_max / 1.5:
            found.append(
                f"its highest noise is below the largest distance, {s.sigma_max:g}: far modes are not connected"
            )
        if own.levels and own.most > s.sigma_max * 10:
            found.append(f"its highest noise is far above the largest distance, {s.sigma_max:g}: steps are wasted")
        if own.least > s.sigma_min * 3:
            found.append(
                f"its lowest noise is {own.least / s.sigma_min:.2g} times the proposed one: samples are blurred"
            )
        if own.least < s.sigma_min / 3:
            found.append(
                f"its lowest noise is {own.least / s.sigma_min:.2g} times the proposed one: finer than the data resolve"
            )
        if own.overlaps and min(own.overlaps) < 0.8 * overlap(s.coordinates, s.largest_ratio):
            worst = own.overlaps.index(min(own.overlaps))
            found.append(
                f"levels {own.levels[worst]:.3g} and {own.levels[worst + 1]:.3g} are too far apart: chains from the "
                "first arrive where the second was not trained"
            )
        return found


def propose(plan: Plan) -> Proposal:
    """Noise levels for the training points of a plan, which has data."""
    data, points = plan.spec.data, training_points(plan)
    if data is None or points is None:
        raise ValueError("the spec has no data")
    suited = suggest(points, image=image_shape(plan.event) is not None)
    schedules = dict.fromkeys(part for _, part in walk(plan.spec) if isinstance(part, Schedule))
    return Proposal(data, suited, tuple(_own(schedule.fitted(points), suited) for schedule in schedules))


def _own(schedule: Schedule, suited: Suggestion) -> Own:
    name = schedule.component_name
    if schedule.conditioning == "sigma":
        levels = tuple(schedule.levels().tolist())
        overlaps = tuple(overlap(suited.coordinates, above / below) for above, below in pairwise(levels))
        return Own(name, levels[0], levels[-1], levels, overlaps)
    return Own(name, *range_of(schedule), (), ())
