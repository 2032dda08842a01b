"""The interface of a run for metrics, hooks and panels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ebmkit.contracts.kinds.data import Data, Split
from ebmkit.contracts.kinds.model import Model
from ebmkit.contracts.kinds.sampler import Sampler
from ebmkit.contracts.kinds.schedule import Schedule
from ebmkit.contracts.states import Event

if TYPE_CHECKING:
    import torch
    from torch import Generator, Tensor, nn

    from ebmkit.contracts.draws import Draws
    from ebmkit.contracts.extractor import Trained
    from ebmkit.contracts.units import DataUnits


class ViewedSpec(Protocol):
    """The components and numbers of the spec, with all defaults filled in."""

    @property
    def name(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def samples(self) -> int: ...  # the number kept in the run folder
    @property
    def model(self) -> Model: ...
    @property
    def data(self) -> Data | None: ...
    @property
    def chain_sampler(self) -> Sampler | None: ...  # draws the samples of this run


class View(Protocol):
    """A run at one step, read-only: samples and data are shared, and what changes them in place ends the run.

    The weights are the exponential moving average if the spec asks for one.
    """

    rng: Generator  # used by this metric or hook only, so that its draws affect no other number
    results: dict[str, float]  # of the last evaluation
    traces: dict[str, Tensor]  # means over the chains that drew the last samples, by name, each `(steps,)`
    draws: Draws | None  # states of long chains, if the spec has `chains:`
    sample_labels: Tensor | None  # of the last samples, for models that take labels

    @property
    def spec(self) -> ViewedSpec: ...
    @property
    def event(self) -> Event: ...  # the shape of one state
    @property
    def step(self) -> int: ...  # number of completed training steps
    @property
    def folder(self) -> Path | None: ...  # of the run, if it has one
    @property
    def series(self) -> Mapping[str, Sequence[tuple[int, float]]]: ...  # all recorded numbers: (step, value) by name
    @property
    def units(self) -> DataUnits: ...  # those of points, samples, energies and scores of this view
    @property
    def scaled(self) -> View: ...  # the same run as its network sees it, in the space of `scale`
    @property
    def module(self) -> nn.Module: ...  # the model, with the weights used for sampling and metrics
    @property
    def schedule(self) -> Schedule | None: ...  # the noise schedule of a conditioned model, fitted to the data
    @property
    def device(self) -> torch.device: ...
    @property
    def dtype(self) -> torch.dtype: ...
    @property
    def can_sample(self) -> bool: ...
    @property
    def has_energy(self) -> bool: ...  # a function of the state only, without a noise level

    def data(self, split: Split) -> Tensor | None:
        """The points of a split; None in a spec without data. Large data stay on the host."""

    def labels(self, split: Split) -> Tensor | None:
        """Integers, one for each point of a split; None for data without labels."""

    def samples(self, n: int) -> Tensor:
        """`n` model samples `(n, *event)`, shared by all users at this step; fewer if long chains kept fewer, and for a
        metric at most the `samples` of the spec, or those in its traits."""

    def energy(self, x: Tensor, level: float | None = None) -> Tensor:
        """Energies `(B,)` without a graph; for a conditioned model at a noise level or time, by default the lowest."""

    def score(self, x: Tensor, level: float | None = None, labels: Tensor | None = None) -> Tensor:
        """`-dE/dx`, `(B, *event)`, without a graph; level as in `energy`, labels for models that take them."""

    def inpainted(self, known: Tensor, mask: Tensor, rng: Generator, labels: Tensor | None = None) -> Tensor:
        """States equal to `known` where the mask is true, and elsewhere drawn by the spec's sampler."""

    def generator(self, path: str, device: torch.device | None = None) -> Generator:
        """A new generator at the start of the random stream `path` of this run."""

    def warn(self, doubt: str) -> None:
        """State a reason to doubt what a metric measured: a warning of the run, which the report repeats."""

    def trained(self, spec: str) -> Trained:
        """The network of a packaged spec, from the cache or trained now."""
