"""Bayesian logistic regression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ebmkit.api import Data, Event, Gt, ModelTraits, Question, component, torch
from ebmkit_bayes.posterior import Posterior

if TYPE_CHECKING:
    from ebmkit_bayes.logistic_energy import LogisticEnergy


@component("logistic_regression")
class LogisticRegression(Posterior):
    """Bayesian logistic regression: the posterior of an intercept and a slope per column of a table with two classes.

        a, b_j ~ N(0, prior_scale^2),    P(y_n = 1) = sigmoid(a + sum_j b_j (t_nj - mean_j) / std_j)

    The coordinates are a and b, of standardised columns; the quantities are the coefficients in the units of the table.
    With one column their exact moments and the evidence are known by quadrature.

    Parameters:
        table: data with labels 0 and 1, whose training points are the rows; by default the mortality of 481 beetles by
            the logarithm of the dose of a poison (Bliss 1935).
        prior_scale: standard deviation of the prior of every coefficient.

    Reference: Gelman, Jakulin, Pittau and Su, "A weakly informative default prior distribution for logistic and other
    regression models", Annals of Applied Statistics 2, 2008.

    Example: model: {use: bayes.logistic_regression, prior_scale: 2.5}
    """

    table: Data | None = None
    prior_scale: Annotated[float, Gt(0)] = 2.5

    def traits(self) -> ModelTraits:
        traits = super().traits()
        known = len(self._columns()) == 1
        return traits if known else traits._replace(offers=traits.offers - {"reference", "log_z"})

    def refusal(self, question: Question) -> str | None:
        if self.table is None:
            return None
        if not self.table.traits().labelled or self.table.class_count() not in (None, 2):
            return f"needs a table with the labels 0 and 1, which data '{self.table.component_name}' has not"
        return None

    def coordinate_names(self) -> tuple[str, ...]:
        return ("a", *(f"b[{column}]" for column in self._columns()))

    def quantity_names(self) -> tuple[str, ...]:
        return ("intercept", *self._columns())

    def _columns(self) -> tuple[str, ...]:
        if self.table is None:
            return ("log_dose",)
        return self.table.coordinate_names() or tuple(f"t{k}" for k in range(1, self.table.event()[0] + 1))

    def build(self, event: Event) -> LogisticEnergy:
        from ebmkit_bayes.beetles import DIED, DOSES
        from ebmkit_bayes.logistic_energy import LogisticEnergy

        if self.table is None:
            return LogisticEnergy(torch.tensor(DOSES)[:, None], torch.tensor(DIED), self.prior_scale)
        points = self.table.load("train", torch.Generator().manual_seed(0))
        if points.y is None or int(points.y.max()) > 1:
            raise ValueError("the labels of its table are not 0 and 1")
        return LogisticEnergy(points.x.flatten(1), points.y.bool(), self.prior_scale)
