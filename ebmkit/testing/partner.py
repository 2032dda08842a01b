"""Counterparts for tests: a model for a sampler or an objective, states for a model, data to fit."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import cast

import torch
from torch import Generator, Tensor, nn

from ebmkit.components.models.boltzmann import Boltzmann
from ebmkit.components.models.categorical_boltzmann import CategoricalBoltzmann
from ebmkit.components.models.couplings import Values
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.mlp import MLP
from ebmkit.components.models.mlp_potential import MLPPotential
from ebmkit.components.models.mlp_score import MLPScore
from ebmkit.components.models.noised_mixture import NoisedMixtureModel
from ebmkit.components.models.potts import Potts
from ebmkit.components.models.rbm import RBM
from ebmkit.contracts.component import Component
from ebmkit.contracts.kinds import Event, Model, Objective, Sampler, Space
from ebmkit.contracts.modules.live import prepare_modules
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import offered_to
from ebmkit.registry.loading import Plugins
from ebmkit.registry.registry import Registry
from ebmkit.testing.example import from_example, instance
from ebmkit.testing.law import Inapplicable
from ebmkit.testing.oracles import VALUES, generator, values_of
from ebmkit.testing.plugin_models import models_near
from ebmkit.testing.setting import small_setting


def gaussian(event: Event) -> Model:
    """A Gaussian with a nonzero mean and different coordinates."""
    variances = torch.linspace(0.5, 1.5, math.prod(event), dtype=torch.float64)
    return Gaussian(mean=(0.5,) * len(variances), covariance=tuple(variances.tolist()), shape=event)


def network(event: Event) -> Model:
    """A small network without symmetries that could hide a mistake."""
    return MLP(hidden=(8,))


def machine(event: Event, values: Values) -> Model:
    """A Boltzmann machine with different units and interactions of both signs."""
    d, rng = math.prod(event), generator(8)
    upper = (torch.randn(d, d, generator=rng, dtype=torch.float64) / math.sqrt(d)).triu(1)
    biases = torch.linspace(-0.5, 1, d, dtype=torch.float64)
    rows = tuple(map(tuple, (upper + upper.T).tolist()))
    return Boltzmann(weights=rows, biases=tuple(biases.tolist()), shape=event, values=values)


def potts(event: Event) -> Model:
    """A Potts model of three categories with couplings of both signs and different fields."""
    d, rng = math.prod(event), generator(8)
    upper = (torch.randn(d, d, generator=rng, dtype=torch.float64) / math.sqrt(d)).triu(1)
    field = torch.linspace(-0.5, 1, 3 * d, dtype=torch.float64).view(d, 3)
    rows, fields = (tuple(map(tuple, matrix.tolist())) for matrix in (upper + upper.T, field))
    return Potts(shape=event, coupling=rows, field=fields)


def categorical_machine(event: Event) -> Model:
    """A trainable model of three categories."""
    fields = torch.linspace(-0.5, 1, 3 * math.prod(event), dtype=torch.float64).view(-1, 3)
    return CategoricalBoltzmann(shape=event, biases=tuple(map(tuple, fields.tolist())))


def noised_networks(component: Sampler | Objective, event: Event) -> list[Model]:
    """Models under the noise that a component works with: a mixture with an exact score, and both types of networks."""
    schedule = component.traits().schedule
    if schedule is None:
        return []
    d = math.prod(event)
    mixture = NoisedMixtureModel(schedule=schedule, means=((-1.0,) * d, (1.0,) * d), covariances=(0.2,), shape=event)
    networks = [MLPScore(schedule=schedule, hidden=(8,)), MLPPotential(schedule=schedule, hidden=(8,))]
    return [mixture, *networks] if isinstance(component, Sampler) else networks


def model_for(component: Sampler | Objective, event: Event, partners: Sequence[Model] = ()) -> tuple[Model, Event]:
    """A model that the component can work with, and the shape of its states: `event`, unless the model fixes another.

    Samplers get the Gaussian, because it has exact draws; objectives a network; both, if units are discrete, a
    Boltzmann machine, of spins in most cases and of 0 and 1 in images, or a restricted one if hidden units are needed.
    Under noise samplers get a mixture, objectives a network. Those that need more get the first registered model that
    offers it, or the first of their own plugin. `partners` take precedence over all of these.
    """
    failed: list[str] = []
    for model in _candidates(component, event, partners, failed):
        fixed = model.event() or event
        if _fits(component, model, fixed):
            return model, fixed
    needed = ", ".join(sorted(component.traits().needs))
    reasons = "; ".join([f"no registered model and none of its plugin offers {needed} as required", *failed])
    raise Inapplicable(f"{reasons}; pass one as partners=[...]")


def trainable_models(objective: Objective, event: Event, partners: Sequence[Model] = ()) -> Iterator[Model]:
    """Small families that an objective can work with."""
    machines = [machine(event, values) for values in ("binary", "spin")]
    small = [*partners, gaussian(event), *machines, categorical_machine(event), RBM(hidden=2, values="spin")]
    yield from (model for model in small if (model.event() or event) == event and _fits(objective, model, event))


def _candidates(
    component: Sampler | Objective, event: Event, partners: Sequence[Model], failed: list[str]
) -> Iterator[Model]:
    """Models in order of preference. The reasons why models could not be created are added to `failed`."""
    yield from partners
    first = [gaussian(event), network(event)]
    both: tuple[Values, Values] = ("binary", "spin") if len(event) > 1 else ("spin", "binary")
    machines = [machine(event, values) for values in both]
    yield from first if isinstance(component, Sampler) else reversed(first)
    yield from noised_networks(component, event)
    yield from machines
    yield from (RBM(hidden=2, values=values) for values in both)  # for what needs hidden units
    for entry in Registry(Plugins()).entries("model"):
        registered = instance(entry.cls)
        assert isinstance(registered, Model)
        if isinstance(component, Sampler) and "sample_exact" not in registered.traits().offers:
            small = _as_in_its_example(cast("Hashable", entry.cls))
            if "sample_exact" in small.traits().offers:
                yield small
        yield registered
    own, reasons = models_near(component)
    failed += reasons
    # Laws that need exact draws are then applicable.
    yield from sorted(own, key=lambda model: "sample_exact" not in model.traits().offers)


@cache  # reading and checking the examples of all models takes a second, for every law
def _as_in_its_example(cls: Hashable) -> Model:
    """A model that may be small enough for exact draws, which most laws of samplers need."""
    small = from_example(cast("type[Component]", cls))
    assert isinstance(small, Model)
    return small


def _fits(component: Sampler | Objective, model: Model, event: Event) -> bool:
    return (
        component.traits().needs <= offered_to(component.traits(), model.traits())
        and model.traits().space in component.traits().spaces
        and model.traits().conditioning == component.traits().conditioning
        and model.refusal(Question(event, model)) is None
        and not (isinstance(component, Objective) and component.refusal(Question(event, model)))
    )


def build(model: Model, event: Event, *, seed: int = 0, dtype: torch.dtype = torch.float64) -> nn.Module:
    """The module, initialised from `seed`, in eval mode."""
    with seeded(seed), default_dtype(dtype):
        try:
            module = model.build(event)
        except ValueError as refusal:
            raise Inapplicable(f"it refuses states of shape {event}: {refusal}") from refusal
    module = module.to(dtype)
    space = model.traits().space
    # A memory holds few patterns.
    points = data(event) if space == "real" else states(model, 3, event, generator(0))
    prepare_modules(module, small_setting(module, event, space, points))
    return module.eval()


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's global generator, which initialises layers, and restore it afterwards, as the engine does."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Set the default dtype: references are compared to many digits, so constants need that precision."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def states(of: Model | Space, n: int, event: Event, rng: Generator, dtype: torch.dtype = torch.float64) -> Tensor:
    """Random states of a model, or of a space whose units have two values, `(n, *event)`."""
    if of == "categorical":
        raise ValueError("the number of categories is that of a model: pass it")
    values = VALUES.get(of, ()) if isinstance(of, str) else values_of(of)
    if not values:
        return 1.5 * torch.randn(n, *event, generator=rng, dtype=dtype)
    digits = torch.randint(len(values), (n, *event), generator=rng).to(dtype)
    return values[0] + (values[1] - values[0]) * digits


def data(event: Event, dtype: torch.dtype = torch.float64) -> Tensor:
    """Two hundred correlated points with a nonzero mean, `(200, *event)`."""
    d, rng = math.prod(event), generator(0)
    mixing = torch.randn(d, d, generator=rng, dtype=dtype) / math.sqrt(d) + torch.eye(d, dtype=dtype)
    return (torch.randn(200, d, generator=rng, dtype=dtype) @ mixing + 0.5).view(-1, *event)
