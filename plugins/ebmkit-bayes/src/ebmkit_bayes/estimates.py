"""Means and standard deviations of named quantities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar

from ebmkit.api import Ge, Metric, MetricTraits, MinLen, Model, Question, component, torch
from ebmkit_bayes.posterior import Posterior

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.api import View


@component("estimates")
class Estimates(Metric):
    """Estimates of quantities by name: mean and standard deviation over samples of the posterior.

        mean(tau) = 1/S sum_s tau(x_s),    std(tau)^2 = 1/(S - 1) sum_s (tau(x_s) - mean(tau))^2

    With long chains all of their draws are used. Quantities are those of the models of this package; of other models,
    the coordinates by their names, or as x0, x1, ... where they have none.

    Results:
        mean: mean of the quantity.
        std: its standard deviation.

    Parameters:
        of: the names of quantities.
        samples: model samples, where there are no long chains.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Gelman et al., "Bayesian data analysis", 3rd ed., 2013, section 10.5.

    Example: evaluate: [{use: bayes.estimates, of: [mu, tau, "theta[1]"]}]
    """

    needs: ClassVar[frozenset[str]] = frozenset({"samples"})

    of: Annotated[tuple[str, ...], MinLen(1)] = ("x0",)
    samples: Annotated[int, Ge(2)] = 10_000

    def __post_init__(self) -> None:
        if len(set(self.of)) < len(self.of):
            raise ValueError("'of' contains a name twice")

    def traits(self) -> MetricTraits:
        return super().traits()._replace(samples=self.samples)

    def refusal(self, question: Question) -> str | None:
        known = names_of(question.model, question.event)
        if wrong := [name for name in self.of if name not in known]:
            return f"knows no quantity '{wrong[0]}' of model '{question.model.component_name}': {', '.join(known)}"
        return None

    def results(self) -> tuple[str, ...]:
        return tuple(f"{word}({name})" for name in self.of for word in ("mean", "std"))

    def measure(self, view: View) -> dict[str, float]:
        view.samples(self.samples)  # draws them, unless another metric has
        known = names_of(view.spec.model, view.event)
        chosen = [known.index(name) for name in self.of]
        rows = torch.cat([block.flatten(0, 1).cpu().double() for block in quantities_of(view, self.samples)])[:, chosen]
        mean, std = rows.mean(0).tolist(), rows.std(0).tolist()
        return dict(zip(self.results(), [value for pair in zip(mean, std, strict=True) for value in pair], strict=True))


def names_of(model: Model, event: tuple[int, ...]) -> tuple[str, ...]:
    """The names of the quantities of a model on states of a shape."""
    if isinstance(model, Posterior):
        return model.quantity_names()
    size = 1
    for side in event:
        size *= side
    return model.coordinate_names() or tuple(f"x{k}" for k in range(size))


def quantities_of(view: View, samples: int) -> Iterator[Tensor]:
    """Quantities `(chains, draws, Q)` of the draws, a block at a time; samples without long chains are one block of
    chains with one draw each."""
    blocks = view.draws.blocks() if view.draws is not None else iter([view.samples(samples).unsqueeze(1)])
    for block in blocks:
        states = block.flatten(0, 1)
        if isinstance(view.spec.model, Posterior):
            with torch.no_grad():
                found = view.module.quantities(states.to(view.device, view.dtype))  # type: ignore[operator]
        else:
            found = states.flatten(1)
        yield found.view(*block.shape[:2], -1)
