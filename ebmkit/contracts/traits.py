"""Traits: the properties, requirements and abilities of a component, as values that may depend on its parameters.

A class declares them as class variables of the same names. `traits()` returns them for an instance; a component whose
parameters decide overrides it: `return super().traits()._replace(space=self.values)`. The engine reads traits only
through `traits()`.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

from ebmkit.contracts.states import Conditioning, Space, Variation, unit_values

if TYPE_CHECKING:
    from ebmkit.contracts.kinds import Sampler, Schedule


class DataTraits(NamedTuple):
    """Traits of data."""

    space: Space
    #: Whether `load` also returns labels.
    labelled: bool
    #: Whether `log_prob` gives the exact density of the points.
    known: bool
    variation: Variation = "full"
    #: Whether the points are near unit scale by construction, so that `scale: auto` leaves them in their units.
    unit_scale: bool = False
    #: Whether that density is zero in some regions.
    bounded: bool = False


class ModelTraits(NamedTuple):
    """Traits of a model."""

    space: Space
    #: Names of abilities (see `contracts/abilities.py`).
    offers: frozenset[str]
    #: The noise schedule of a model whose network takes a noise level or a time.
    schedule: Schedule | None = None
    #: Whether it also takes a label, which the data must then provide.
    labelled: bool = False
    #: The number of labels that it distinguishes: labels are 0 to one less.
    classes: int | None = None
    #: Whether second derivatives of the energy in x are informative; they are not between the kinks of `relu`.
    smooth: bool = True
    #: Whether parameters of the spec are in the units of states, such as a mean. A network has none.
    own_units: bool = False
    #: The learning rate of Adam if the spec has no optimizer.
    learning_rate: float = 1e-3
    #: Whether it is trained part by part only; a single stage of training then stands for one of each part.
    by_parts: bool = False
    #: Whether it is trained as a whole after its parts, with which it starts better; a single stage then stands for one
    #: of each part and one of the whole.
    pretrained: bool = False
    #: The number of categories of a unit; of categorical states only.
    categories: int | None = None

    @property
    def unit_values(self) -> tuple[float, ...]:
        """All values of a unit of discrete states, the lowest first; none of real states."""
        return unit_values(self.space, self.categories)

    @property
    def conditioning(self) -> Conditioning:
        """What the network takes in addition to x."""
        return self.schedule.conditioning if self.schedule else None


class SamplerTraits(NamedTuple):
    """Traits of a sampler."""

    spaces: frozenset[Space]
    needs: frozenset[str]
    conditioning: Conditioning
    traces: frozenset[str]
    from_noise: bool
    host_syncs: int
    #: The temperature T of its target exp(-E/T).
    temperature: float = 1.0
    #: The noise schedule that it follows, which must be that of the model.
    schedule: Schedule | None = None
    #: Why its chains cannot be replicas at other temperatures, in words that follow its name; empty if they can.
    fixed_scale: str = ""
    #: Number of evaluations of the model per step of a chain, at most; if `by_unit`, per unit of a state.
    evaluations: int = 1
    by_unit: bool = False
    #: Whether steps have many sizes, large and small. No acceptance rate is then too low or too high.
    step_sizes_vary: bool = False
    #: Whether its chains move visible and hidden units together, if the model has hidden ones.
    joint: bool = False
    #: Whether it searches for a state of low energy instead of sampling exp(-E/T).
    searches: bool = False
    #: Whether its chains move each other. They are then no independent samples: R-hat, ESS and estimates that weight
    #: independent chains are refused, and so are chains at different temperatures.
    interacting: bool = False


class ObjectiveTraits(NamedTuple):
    """Traits of an objective."""

    spaces: frozenset[Space]
    needs: frozenset[str]
    conditioning: Conditioning
    noise_needs: frozenset[str]
    needs_labels: bool
    #: The noise schedule that it trains for, which must be that of the model.
    schedule: Schedule | None = None
    #: Its sampler, which is also used for evaluation unless the spec has one.
    sampler: Sampler | None = None
    #: The cost of a step per data point, at least: number of evaluations of the energy and its gradient in x. One with
    #: the gradient of the weights counts 1.5. Previews may cost a tenth of it.
    evaluations: float = 1.5
    #: The number of noise samples per data point, for an objective with noise among its parameters.
    noise_ratio: float = 1.0
    #: The loss of a model that is the noise, and so cannot tell data from it; infinite without such a model.
    blind_loss: float = inf
    #: Whether it sees the slope of the energy near the data only, and so not the weights of separated modes.
    local: bool = False
    #: The factor of the model's default learning rate.
    rate_factor: float = 1.0
    #: Whether it trains an adversary, to which `train.rival` applies.
    adversary: bool = False


class NoiseTraits(NamedTuple):
    """Traits of a noise distribution."""

    offers: frozenset[str]
    spaces: frozenset[Space]
    #: Whether parameters of the spec are in the units of states, such as a mean that is not fitted.
    own_units: bool = False


class MetricTraits(NamedTuple):
    """Traits of a metric."""

    spaces: frozenset[Space]
    needs: frozenset[str]
    traces: frozenset[str]
    least_chains: int
    #: The number of model samples it needs.
    samples: int = 0
    #: Minimum number of states that each long chain keeps, for a metric that needs them.
    least_draws: int = 1
    #: Whether it works on joint states of visible and hidden units, if the energy of visible ones is not tractable.
    joint: bool = False


def offered_to(component: SamplerTraits | MetricTraits | ObjectiveTraits, model: ModelTraits) -> frozenset[str]:
    """The abilities of a model as a component finds them: joint states have an energy if there are hidden units, also
    where the sum over these, the energy of visible states, is not tractable."""
    joint = not isinstance(component, ObjectiveTraits) and component.joint
    return model.offers | {"energy"} if joint and "hidden" in model.offers else model.offers
