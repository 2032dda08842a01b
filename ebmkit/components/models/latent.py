"""Real states with latent ones and a prior."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, Gt, MinLen

from ebmkit.components.models.layers import (
    LARGEST_LAYER,
    Count,
    Numbers,
    Rows,
    Shape,
    as_tensor,
    check_layers,
    visible_shape,
)
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import ModelTraits

if TYPE_CHECKING:
    from ebmkit.components.models.nets.latent import LatentEnergy

#: Latent units of a model whose spec says nothing about their number.
LATENT = 2
#: What a prior has to offer.
NEEDED = frozenset({"energy", "conditionals"})


@component("latent")
class Latent(Model):
    """Latent-variable model: real states with Gaussian noise around a linear map of latent ones, which have a prior.

        E(x, z) = E_prior(z) + sum_i (x_i - b_i - (Wz)_i)^2 / (2 std_i^2)
        p(x | z) = N(b + Wz, std^2),    p(z | x) ~ exp(-E(x, z))

    Without `prior` z is N(0, I): factor analysis, or probabilistic PCA if all std are equal, with
    x ~ N(b, WW' + std^2), and z given x is drawn at once. A prior is a model of units with two values, such as `ising`,
    `boltzmann` or `rbm`, whose parameters are trained, too. Given x its units are drawn one by one, because those that
    share a visible unit compete to explain it. The energy -log sum_z exp(-E(x, z)) is offered for at most 20 units of
    two values, by enumeration, as are log Z and exact samples; for more only if the prior has these. Gradients of
    `variational_mle` enumerate up to 12 units, and for more draw z given x by sweeps of Gibbs sampling, which is exact
    as far as these converge.

    Parameters:
        hidden: number of latent units; by default as many as `weights` has columns or `prior` has units, or 2.
        prior: model of the latent units; by default N(0, I).
        weights: W, a row per visible unit and a column per latent unit; by default small and random.
        visible_biases: b, one number per visible unit; by default zero.
        std: standard deviation of a visible unit given the latent ones, one number for all or one each.
        learn_std: whether the standard deviations are trained, one per visible unit.
        shape: shape of a visible state, such as [1, 8, 8]. Without it a state is a flat list as long as `weights`,
            `visible_biases` or `std`, or has the shape of the data.
        sweeps: sweeps over more than 12 latent units of two values given x, of each draw of them.

    Reference: Tipping and Bishop, "Probabilistic principal component analysis", J. Royal Stat. Soc. B 61, 1999; Neal,
    "Connectionist learning of belief networks", Artificial Intelligence 56, 1992.

    Example: model: {use: latent, weights: [[1, 0], [1, 1], [0, -2]], std: 0.5}
    """

    offers: ClassVar[frozenset[str]] = frozenset({"blocks", "hidden", "posterior"})
    learning_rate: ClassVar[float] = 1e-2

    hidden: Count | None = None
    prior: Model | None = None
    weights: Rows | None = None
    visible_biases: Numbers | None = None
    std: Annotated[float, Gt(0)] | Annotated[tuple[Annotated[float, Gt(0)], ...], MinLen(1)] = 1.0
    learn_std: bool = False
    shape: Shape | None = None
    sweeps: Annotated[int, Ge(1)] = 20

    def __post_init__(self) -> None:
        biases, units = self.visible_biases, self.hidden_units
        check_layers(self.event(), units, self.weights, visible_biases=(0, biases), std=(0, self.std))
        if self.prior is None:
            return
        traits, fixed = self.prior.traits(), self.prior.event()
        called = f"'prior' is model '{self.prior.component_name}', which"
        if traits.space not in ("binary", "spin"):
            raise ValueError(f"{called} has {traits.space} states, but units of two values are needed")
        if lacking := sorted(NEEDED - traits.offers):
            raise ValueError(f"{called} does not offer '{', '.join(lacking)}'")
        if fixed is not None and prod(fixed) != units:
            raise ValueError(f"{called} has {prod(fixed)} units, but there are {units} latent ones")

    @property
    def hidden_units(self) -> int:
        """The number of latent units."""
        columns = len(self.weights[0]) if self.weights else 0
        of_prior = prod((self.prior.event() if self.prior else None) or (0,))
        return self.hidden or columns or of_prior or LATENT

    @property
    def _prior_event(self) -> Event:
        return (self.prior.event() if self.prior else None) or (self.hidden_units,)

    def traits(self) -> ModelTraits:
        traits = super().traits()
        few = self.hidden_units <= LARGEST_LAYER
        exact, energies = {"log_z", "sample_exact"}, {"energy", "gradient"}
        if self.prior is None:
            offers, rate = exact | energies, traits.learning_rate
        else:
            offers = exact | energies if few else exact & self.prior.traits().offers
            rate = min(traits.learning_rate, self.prior.traits().learning_rate)
        own_units = self.event() is not None or self.std != 1
        return traits._replace(offers=traits.offers | offers, own_units=own_units, learning_rate=rate)

    def event(self) -> Event | None:
        return visible_shape(self.shape, self.weights, self.visible_biases, self.std)

    def refusal(self, question: Question) -> str | None:
        if self.prior is None:
            return None
        inner = replace(question, event=self._prior_event, model=self.prior, data=None)
        reason = self.prior.refusal(inner)
        return f"has model '{self.prior.component_name}' as its prior, which {reason}" if reason else None

    def parameter_count(self, event: Event) -> int | None:
        of_prior = self.prior.parameter_count(self._prior_event) if self.prior else 0
        visible = prod(event)
        own = visible * self.hidden_units + visible + (visible if self.learn_std else 0)
        return None if of_prior is None else own + of_prior

    def build(self, event: Event) -> LatentEnergy:
        from ebmkit.components.models.nets.discrete_latent import DiscreteLatentEnergy
        from ebmkit.components.models.nets.factor_analysis import FactorAnalysisEnergy
        from ebmkit.maths.enumeration import VALUES

        std = torch.tensor(self.std, dtype=torch.float64).expand(prod(event)).clone()
        weights, biases = as_tensor(self.weights), as_tensor(self.visible_biases)
        if self.prior is None:
            return FactorAnalysisEnergy(event, self.hidden_units, weights, biases, std, self.learn_std)
        return DiscreteLatentEnergy(
            event,
            self.prior.build(self._prior_event),
            self._prior_event,
            self.hidden_units,
            VALUES[self.prior.traits().space],
            weights,
            biases,
            std,
            self.learn_std,
            self.sweeps,
        )
