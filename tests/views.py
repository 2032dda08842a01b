"""Views made by hand: as much of a run as a test gives them."""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from ebmkit.contracts.extractor import Trained
from ebmkit.contracts.traits import ModelTraits
from ebmkit.contracts.view import View, ViewedSpec
from ebmkit.engine.trained import trained
from ebmkit.maths.units import Units

#: What every view has.
PROMISED = {*dir(View), *View.__annotations__}
#: What the report reads of a run beyond that.
OF_THE_RUN = {"plan", "history", "mixing", "names", "no_samples", "starts", "streams", "condition", "shared"}
OF_THE_SPEC = {*dir(ViewedSpec), *ViewedSpec.__annotations__}


class FakeView:
    """Samples, the points of both splits and their labels, and whatever else is given by name.

    What is not given is not there. What no view has cannot be given, so that no test passes with something that a run
    does not offer.
    """

    def __init__(
        self,
        samples: Tensor | None = None,
        test: Tensor | None = None,
        train: Tensor | None = None,
        seed: int = 0,
        *,
        labels: Tensor | None = None,
        train_labels: Tensor | None = None,
        **known: Any,
    ) -> None:
        strange = known.keys() - PROMISED - OF_THE_RUN
        assert not strange, f"no view has {', '.join(sorted(strange))}"
        self._samples = samples
        self._data = {"test": test, "train": train}
        self._labels = {"test": labels, "train": train_labels}
        self.rng = torch.Generator().manual_seed(seed)
        self.device, self.schedule = torch.device("cpu"), None
        self.units, self.scaled = Units(), self
        if test is not None:
            self.event = tuple(test.shape[1:])
        vars(self).update(known)

    def samples(self, n: int) -> Tensor:
        assert self._samples is not None
        return self._samples[:n]

    def data(self, split: str) -> Tensor | None:
        return self._data[split]

    def labels(self, split: str) -> Tensor | None:
        return self._labels[split]

    def trained(self, spec: str) -> Trained:
        return trained(spec)


def viewed_spec(**known: Any) -> SimpleNamespace:
    """As much of a spec as a test gives."""
    strange = known.keys() - OF_THE_SPEC
    assert not strange, f"no view shows {', '.join(sorted(strange))} of a spec"
    return SimpleNamespace(**known)


def model_for(labels: Tensor | None = None, offers: Iterable[str] = ()) -> SimpleNamespace:
    """A component that takes labels, where there are some."""
    traits = ModelTraits("real", frozenset(offers), labelled=labels is not None)
    return SimpleNamespace(traits=lambda: traits)
