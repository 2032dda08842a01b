"""A judgement on samples: how far they are from held-out data. A metric that has one states it in addition to numbers.

Without torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from ebmkit.contracts.view import View

#: From the best to the worst; the numbers of a verdict are their positions.
Level: TypeAlias = Literal["match", "slight", "mismatch"]
LEVELS: tuple[Level, ...] = ("match", "slight", "mismatch")

Kind: TypeAlias = Literal["mean", "spread", "correlation", "apart", "missed", "recognised"]


class Difference(NamedTuple):
    """The largest significant difference of one kind, or the most significant one if none is.

    Kinds: `mean`, in spreads of the data; `spread`; `correlation`; `apart`, the share of samples that lie where there
    are no data; `missed`, the share of data that lie where there are no samples; `recognised`, the share of points that
    a classifier assigns to the right set.
    """

    kind: Kind
    #: Indices of flattened states; of their one-hot vectors if these are categorical.
    columns: tuple[int, ...]
    #: The statistic of the samples, and of the data or expected of them.
    samples: float
    data: float
    #: Zero without a difference; does not grow with the number of points.
    size: float
    #: Corrected for the number of comparisons of this kind (Bonferroni).
    p_value: float


class Judgement(NamedTuple):
    """The outcome of a comparison of samples with held-out data."""

    level: Level
    #: The largest difference in units of what is tolerated, among the significant ones if there are any.
    worst: Difference
    #: That of the most significant difference of any kind, corrected for all comparisons.
    p_value: float
    #: The numbers of independent samples and of held-out points that were compared.
    samples: int
    held_out: int
    #: The smallest shift of a mean, in spreads of the data, that these numbers of points reveal in most cases.
    visible: float

    def plain(self) -> dict[str, Any]:
        """For `run.json`."""
        worst = {**self.worst._asdict(), "columns": list(self.worst.columns)}
        return {**self._asdict(), "worst": worst}


@runtime_checkable
class Judges(Protocol):
    """A metric whose numbers are those of a judgement."""

    def judge(self, view: View) -> Judgement:
        """Compare the samples of a run with its held-out data."""

    def numbers(self, judgement: Judgement) -> dict[str, float]:
        """What `measure` returns for this judgement."""
