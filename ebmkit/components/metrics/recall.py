"""Recall of stored patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, cast

from annotated_types import Ge, Le

from ebmkit.contracts.abilities import Patterns
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric, Space
from ebmkit.contracts.question import Question
from ebmkit.maths.corruption import corrupted
from ebmkit.maths.enumeration import VALUES

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.contracts.view import View

Share = Annotated[float, Ge(0), Le(1)]


@component("recall")
class Recall(Metric):
    """Recall: share of the stored patterns that the sampler of the spec recovers from a corrupted start.

        overlap = mean over units of s_i p_i = 1 - 2 (share of wrong units),    p the pattern, s the end of its chain

    With the sampler `icm` this is the recall of a Hopfield network. A pattern that is forgotten has an overlap between
    that of its start and that of an unrelated pattern, which is 0 on average.

    Results:
        recall: share of the chains that end at their pattern, up to `errors`.
        recall_overlap: mean overlap of the ends of chains with their patterns.
        recall_start: mean overlap of their starts.

    Parameters:
        flip: share of the units of a pattern that start at their other value.
        mask: share of the units that start at a random value; no unit is both flipped and masked.
        errors: share of the units that may be wrong in a pattern that counts as recovered.
        trials: number of corrupted starts of each pattern.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Amit, Gutfreund and Sompolinsky, "Storing infinite numbers of patterns in a spin-glass model of neural
    networks", Phys. Rev. Lett. 55, 1985.

    Example: evaluate: [{use: recall, flip: 0.2}]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"binary", "spin"})
    needs: ClassVar[frozenset[str]] = frozenset({"energy", "patterns"})

    flip: Share = 0.1
    mask: Share = 0.0
    errors: Share = 0.0
    trials: Annotated[int, Ge(1)] = 1

    def __post_init__(self) -> None:
        if self.flip + self.mask > 1:
            raise ValueError(f"'flip' and 'mask' are {self.flip + self.mask:g} of the units together, but at most all")

    def refusal(self, question: Question) -> str | None:
        return None if question.sampler else "needs a 'sampler:' that recalls, such as 'icm'"

    def results(self) -> tuple[str, ...]:
        return ("recall", "recall_overlap", "recall_start")

    def measure(self, view: View) -> dict[str, float]:
        from ebmkit.chains.chain import run_chain

        sampler = view.spec.chain_sampler
        if sampler is None:
            raise ValueError("recall needs a spec with a sampler")
        patterns = cast("Patterns", view.module).patterns
        patterns = patterns.repeat(self.trials, *[1] * len(view.event)).to(view.device, view.dtype)
        start = corrupted(patterns, self.flip, self.mask, VALUES[view.spec.model.traits().space], view.rng)
        wrong = _wrong(run_chain(sampler, view.module, start, view.rng).x, patterns)
        return {
            "recall": float((wrong <= self.errors).double().mean()),
            "recall_overlap": float(1 - 2 * wrong.mean()),
            "recall_start": float(1 - 2 * _wrong(start, patterns).mean()),
        }


def _wrong(x: Tensor, patterns: Tensor) -> Tensor:
    """The share of wrong units of each state, on the host; NaN, which differs from every pattern, is kept."""
    return ((x != patterns) + 0 * x).flatten(1).cpu().double().mean(1)
