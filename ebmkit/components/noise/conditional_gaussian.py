"""Conditional Gaussian noise."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Gt, MinLen

from ebmkit.components.noise.fitted import fit_refusal
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Noise
from ebmkit.contracts.question import Question

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.components.noise.nets.conditional_gaussian import ConditionalGaussian

#: Widths from a fifth of the data's standard deviation to twice it: no single one suits all data.
RELATIVE = (0.2, 0.5, 1.0, 2.0)

Widths = Annotated[tuple[Annotated[float, Gt(0)], ...], MinLen(1)]


@component("conditional_gaussian")
class ConditionalGaussianNoise(Noise):
    """Conditional Gaussian noise: a Gaussian, or a mixture of several widths, centred at each data point.

        p(y | x) = 1/K sum_k N(y; x, sigma_k^2 I)

    Very wide and very narrow noise are little informative: distant points are easy to distinguish, and between close
    points the model hardly changes. Which is which depends on the data: narrow noise shows details, wide noise the
    weights of separated modes. Hence several widths by default.

    Parameters:
        sigma: standard deviation, one number or several; without it, that of the data times `relative`.
        relative: factors of the data's standard deviation, the root of their mean variance.

    Reference: Ceylan and Gutmann, "Conditional noise-contrastive estimation of unnormalised models", arXiv:1806.03664.

    Example: objective: {use: conditional_nce, noise: {use: conditional_gaussian, sigma: [0.1, 0.3, 1.0]}}
    """

    offers: ClassVar[frozenset[str]] = frozenset({"conditional", "normalised"})

    sigma: Annotated[float, Gt(0)] | Widths | None = None
    relative: Annotated[float, Gt(0)] | Widths = RELATIVE

    def __post_init__(self) -> None:
        if self.sigma is not None and self.relative != RELATIVE:
            raise ValueError("'sigma' and 'relative' both set the width of the noise: give one of them")

    def refusal(self, question: Question) -> str | None:
        if self.sigma is not None:
            return None
        return fit_refusal(question, 2, "give 'sigma', or more points", without=())

    def build(self, event: Event, data: Tensor) -> ConditionalGaussian:
        from ebmkit.components.noise.nets.conditional_gaussian import ConditionalGaussian

        if self.sigma is not None:
            return ConditionalGaussian(_each(self.sigma))
        spread = sqrt(float(data.flatten(1).double().var(0).mean()))
        if not spread > 0:
            raise ValueError("the data do not vary, so their standard deviation cannot set the width: give 'sigma'")
        return ConditionalGaussian([factor * spread for factor in _each(self.relative)])


def _each(widths: float | tuple[float, ...]) -> tuple[float, ...]:
    return widths if isinstance(widths, tuple) else (widths,)
