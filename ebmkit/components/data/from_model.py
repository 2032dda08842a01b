"""Exact samples from a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from annotated_types import Ge

from ebmkit.components.models.gaussian_mixture import GaussianMixture
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Data, Dataset, Event, Model
from ebmkit.contracts.kinds.data import Split
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import DataTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor


@component("from_model")
class FromModel(Data):
    """Independent exact samples from a known model, with which a learned one can be compared.

        x ~ exp(-E(x)) / Z

    A model with random initial parameters is the same in every run and for both splits. The density is known if the
    model offers `log_z`.

    Parameters:
        model: the true model, which offers `sample_exact` and whose parameters fix the shape of a state.
        size: number of training points.
        test_size: number of held-out points.

    Reference: Gutmann and Hyvarinen, JMLR 13, 2012, which compares estimators on data of a known model.

    Example: data: {use: from_model, model: {use: gaussian, mean: [1.0, -1.0], covariance: [0.5, 2.0]}, size: 5000}
    """

    unit_scale: ClassVar[bool] = True

    model: Model = GaussianMixture()
    size: Annotated[int, Ge(1)] = 10_000
    test_size: Annotated[int, Ge(1)] = 10_000

    def __post_init__(self) -> None:
        name = self.model.component_name
        if "sample_exact" not in self.model.traits().offers:
            raise ValueError(f"model '{name}' cannot be sampled exactly: give one that offers 'sample_exact'")
        if self.model.event() is None:
            raise ValueError(f"model '{name}' takes its shape from data, but here it has to generate them")

    def traits(self) -> DataTraits:
        traits = self.model.traits()
        return super().traits()._replace(space=traits.space, known="log_z" in traits.offers)

    def category_count(self) -> int | None:
        return self.model.traits().categories

    def event(self) -> Event:
        event = self.model.event()
        assert event is not None  # refused above
        return event

    def point_count(self, split: Split) -> int:
        return self.size if split == "train" else self.test_size

    def load(self, split: Split, rng: Generator) -> Dataset:
        module = self._module()
        with torch.no_grad():
            return Dataset(module.sample_exact(self.point_count(split), rng))

    def log_prob(self, x: Tensor) -> Tensor:
        module = self._module().to(x.device, torch.float64)
        with torch.no_grad():
            log_p: Tensor = -module(x.double()) - module.log_z()
        return log_p

    def _module(self) -> Any:
        # Initialisers draw from torch's global generator: seed it temporarily, always with the same seed.
        with torch.random.fork_rng(devices=[]), torch.device("cpu"):
            torch.default_generator.manual_seed(0)
            return self.model.build(self.event())
