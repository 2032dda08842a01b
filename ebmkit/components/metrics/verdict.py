"""The verdict on the samples of a run."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge

from ebmkit.components.metrics.enough import too_few
from ebmkit.contracts.component import component
from ebmkit.contracts.judgement import LEVELS, Difference, Judgement, Kind, Level
from ebmkit.contracts.kinds import Metric, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import MetricTraits
from ebmkit.contracts.unmeasurable import Unmeasurable
from ebmkit.diagnostics.ess import ess_bulk
from ebmkit.maths.two_sample import differences, in_units_of_data, smallest_visible

if TYPE_CHECKING:
    from ebmkit.contracts.view import View

#: Sizes above which a difference is slight, and above which samples do not match the data.
BOUNDS: dict[Kind, tuple[float, float]] = {
    "mean": (0.1, 0.2),  # in spreads of the data
    "spread": (0.1, 0.2),  # of the logarithm
    "correlation": (0.1, 0.2),  # of Fisher's transform
    "apart": (0.15, 0.4),
    "missed": (0.15, 0.4),
    "recognised": (0.06, 0.15),
}
#: Differences with a larger p-value, corrected for all comparisons, may be chance.
CHANCE = 0.01
#: The fewest held-out points for a verdict: one has no spread.
FEWEST = 2
#: Long chains that have not mixed count as this many independent samples: they may be few, but they are what there is.
UNMIXED = 20
#: The most numbers of one-hot vectors: with many categories fewer samples are compared.
NUMBERS = 1 << 25
#: The number of coordinates of long chains whose effective number of draws is computed.
COORDINATES = 16


@component("verdict")
class Verdict(Metric):
    """Verdict on the samples: whether they match held-out data, by statistics that need no choice.

        verdict = 0 (match), 1 (differ slightly), 2 (do not match)

    Compared are means, spreads and correlations of columns in units of the data; the share of samples that lie where
    there are no data, and of data that lie where there are no samples; and a classifier that is asked which points are
    samples, by the larger of two kernel sums (MMD) and by nearest neighbours. A difference counts if it is significant
    (p < 0.01 after Bonferroni for all of them) and not small: with many samples everything is significant, and with few
    held-out points nothing is. The verdict is that on the largest one. It does not depend on the units of columns.
    Those of categorical states are their one-hot vectors, and share a unit.

    Every run with data and a sampler is judged, without this metric being listed. The first line of the report states
    the verdict and the largest difference in words; samples that do not match the data are a warning, and
    `expect: [{metric: verdict, below: 2}]` makes them a claim that is not met.

    Results:
        verdict: 0 if the samples match held-out data, 1 if they differ slightly, 2 if they do not match.
        verdict_p_value: p-value of the most significant difference, corrected for all comparisons.

    Parameters:
        samples: model samples, at most as many as are used for means, spreads and correlations.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Gretton et al., "A kernel two-sample test", JMLR 13, 2012; Lopez-Paz and Oquab, "Revisiting classifier
    two-sample tests", arXiv:1610.06545.

    Example: evaluate: [{use: verdict, samples: 2000}]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real", "binary", "spin", "categorical"})
    needs: ClassVar[frozenset[str]] = frozenset({"samples", "data"})

    samples: Annotated[int, Ge(FEWEST)] = 4_000

    def traits(self) -> MetricTraits:
        return super().traits()._replace(samples=self.samples)

    def refusal(self, question: Question) -> str | None:
        return too_few(question, test=FEWEST)

    def results(self) -> tuple[str, ...]:
        return ("verdict", "verdict_p_value")

    def measure(self, view: View) -> dict[str, float]:
        return self.numbers(self.judge(view))

    def numbers(self, judgement: Judgement) -> dict[str, float]:
        """The numbers of a judgement."""
        level = LEVELS.index(judgement.level)
        return dict(zip(self.results(), (float(level), judgement.p_value), strict=True))

    def judge(self, view: View) -> Judgement:
        """Compare the samples of a run with its held-out data."""
        test = view.data("test")
        if test is None:
            raise ValueError("a verdict needs a spec with data")
        if len(test) < FEWEST:
            raise Unmeasurable(f"there are fewer than {FEWEST} held-out points to compare with")
        categories = view.spec.model.traits().categories or 0
        width = prod(view.event) * max(1, categories)
        most = min(self.samples, max(FEWEST, NUMBERS // width)) if categories else self.samples
        x = view.samples(most)
        if len(test) > most:  # a random subset, because files are often sorted by class
            rows = torch.randperm(len(test), generator=view.rng, device=x.device)[:most]
            test = test[rows.to(test.device)]
        independent = _independent(view, len(x))
        # On the host, since not every device has float64, with a generator that follows from that of this metric.
        host = torch.device("cpu")
        seed = int(torch.randint(2**62, (1,), generator=view.rng, device=x.device))
        rng = torch.Generator(host).manual_seed(seed)
        x, y = (points.to(host, torch.float64).flatten(1) for points in (x, test))
        if categories:
            from ebmkit.chains.one_hot import one_hot

            x, y = (one_hot(points, categories).flatten(1) for points in (x, y))
        columns = in_units_of_data(x, y, independent, image=len(view.event) > 1 or categories > 0)
        found = differences(columns, rng, spreads=view.spec.model.traits().space == "real")
        return judgement_of(found, independent, len(y))


def judgement_of(found: list[Difference], independent: int, held_out: int) -> Judgement:
    """The judgement on the differences of all kinds."""
    limit = CHANCE / len(found)
    significant = [each for each in found if each.p_value < limit]
    worst = max(significant or found, key=_severity)
    level: Level = LEVELS[_severity(worst)[0]] if significant else "match"
    p_value = min(1.0, len(found) * min(each.p_value for each in found))
    return Judgement(level, worst, p_value, independent, held_out, smallest_visible(independent, held_out, limit))


def _severity(found: Difference) -> tuple[int, bool, float]:
    """The position of its level; among those of a level, a classifier explains least; then the size."""
    bounds = BOUNDS[found.kind]
    return sum(found.size > bound for bound in bounds), found.kind != "recognised", found.size / bounds[1]


def _independent(view: View, n: int) -> int:
    """The number of independent samples: all, unless they are states of a few long chains."""
    if view.draws is None:
        return n
    chains, draws = view.draws.x.shape[:2]
    some = view.draws.x.reshape(chains, draws, -1)
    some = some[:, :, :: max(1, -(-some.shape[2] // COORDINATES))]
    figures = ess_bulk(some)
    known = figures[~figures.isnan()]  # a coordinate that never moves has none
    fewest = float(known.min()) if len(known) else 0.0
    return max(min(n, UNMIXED), min(n, int(fewest)))
