"""Sampling an energy from Python: `ebmkit.sample`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ebmkit.contracts.component import Component
from ebmkit.engine.torch_needed import require_torch
from ebmkit.engine.world import require_one_process
from ebmkit.language.load import load_spec
from ebmkit.language.plan import Plan

if TYPE_CHECKING:
    import os

    from torch import Tensor

    from ebmkit.engine.mixing import Mixing
    from ebmkit.engine.run_view import RunView
    from ebmkit.engine.telling.progress import Progress
    from ebmkit.registry.given import PluginsGiven


def sample(
    energy: Callable[[Tensor], Tensor] | Component | Mapping[str, Any] | str,
    event: Sequence[int] | None = None,
    *,
    sampler: str | Mapping[str, Any] | Component = "nuts",
    chains: int = 4,
    samples: int = 4000,
    warmup: int | None = None,
    thin: int = 1,
    init: Any = None,
    seed: int = 0,
    device: str = "auto",
    dtype: str = "float32",
    folder: str | os.PathLike[str] | None = None,
    plugins: PluginsGiven = (),
    progress: Progress | None = None,
) -> EnergySamples:
    """Draw states with density proportional to `exp(-energy(x))` by a few long chains, and diagnose them.

    draws = ebmkit.sample(lambda x: 0.5 * (x**2).sum(-1), event=(2,))
    print(draws.summary())

    `energy` maps states `(B, *event)` to `(B,)`: a function or a torch module; or it is a model as a spec writes it.
    `sampler` is a name, a dictionary or a component. All chains together keep `samples` states, one out of `thin`.
    `warmup` is the number of steps that are discarded, which also tune a sampler that can be tuned; by default 500 of
    them tune it, and 500 follow. Chains start at standard Gaussian noise, or at `init`: an array `(chains, *event)`,
    one state for all chains, or an init as a spec writes it.

    With `folder`, a folder for runs, the chains are a run in it, which `ebmkit.resume` continues if it is interrupted:
    an energy at hand is passed to it again, `plugins=[energy]`. `progress` receives the progress, as that of a run. If
    the chains have not converged, a warning says so.
    """
    spec = _spec(energy, event, chains=chains, samples=samples, sampler=sampler, init=init)
    spec |= {"seed": seed, "device": device, "dtype": dtype}
    spec["chains"] |= {"thin": thin}
    plan = _plan(spec, plugins, warmup)

    from ebmkit.engine.energy_samples import draw  # imports torch

    drawn = EnergySamples(draw(plan, None if folder is None else Path(folder), progress))
    if drawn.warnings:
        warnings.warn("; ".join(drawn.warnings), stacklevel=2)
    return drawn


class EnergySamples:
    """Draws of long chains, and what is known about them."""

    def __init__(self, view: RunView) -> None:
        assert view.draws is not None
        self._view = view
        #: The states, `(chains, draws, *event)`, on the CPU.
        self.draws: Tensor = view.draws.x.cpu()
        #: Statistics of the draws, each `(chains, draws)`: `energy`, and `acceptance` and `divergence` of the steps.
        self.stats: dict[str, Tensor] = {name: of.cpu() for name, of in view.draws.seen.items()}
        #: Results of the warm-up, such as `step_size`.
        self.tuning: dict[str, Tensor] = {name: of.cpu() for name, of in view.draws.tuning.items()}

        from ebmkit.engine.mixing import findings

        #: The reasons to doubt the draws, one sentence each.
        self.warnings: list[str] = findings(view)

    @property
    def plan(self) -> Plan:
        """The experiment as a plan; `plan.resolved` is its spec."""
        return self._view.plan

    @property
    def folder(self) -> Path | None:
        """The folder of the run, if there is one."""
        return self._view.folder

    @cached_property
    def _mixing(self) -> Mixing:
        found = self._view.mixing
        assert found is not None
        return found

    @property
    def rhat(self) -> Tensor:
        """The rank-normalised R-hat of every coordinate, with the shape of a state; NaN for one that never moved."""
        return self._mixing.coordinates.rhat

    @property
    def ess_bulk(self) -> Tensor:
        """The effective number of draws for the centre of every coordinate's distribution."""
        return self._mixing.coordinates.ess_bulk

    @property
    def ess_tail(self) -> Tensor:
        """The effective number of draws for its tails."""
        return self._mixing.coordinates.ess_tail

    @property
    def divergences(self) -> int:
        """The number of draws before which a step diverged."""
        return int((self.stats["divergence"] > 0).sum()) if "divergence" in self.stats else 0

    @property
    def acceptance(self) -> float | None:
        """The mean acceptance probability, if the sampler has one."""
        return float(self.stats["acceptance"].double().mean()) if "acceptance" in self.stats else None

    @property
    def converged(self) -> bool:
        """Whether there is no reason to doubt the draws."""
        return not self.warnings

    def summary(self) -> Table:
        """Mean, spread, quantiles and diagnostics of every coordinate, as a table that can be printed."""
        from ebmkit.engine.energy_samples import rows

        return Table(*rows(self.draws, self._mixing))

    def to_arviz(self) -> Any:
        """The draws for ArviZ: a DataTree of ArviZ 1.0 and later, an InferenceData of earlier versions."""
        from ebmkit.storage.to_arviz import to_arviz

        return to_arviz(self.draws, self.stats)

    def __repr__(self) -> str:
        chains, draws, *event = self.draws.shape
        worst, where = self._mixing.largest("rhat")
        least, _ = self._mixing.largest("ess_bulk", -1)
        known = f"R-hat at most {worst:.3f} ({where}), ESS at least {least:,.0f}"
        doubt = "" if self.converged else f", {len(self.warnings)} warnings"
        return f"EnergySamples({chains} chains of {draws:,} draws of {tuple(event)}: {known}{doubt})"


class Table:
    """Numbers as text or HTML: `columns` are the names of the columns, `rows` the numbers of each row by its name."""

    def __init__(self, columns: tuple[str, ...], rows: dict[str, tuple[float, ...]], more: int) -> None:
        self.columns = columns
        self.rows = rows
        #: The number of coordinates that are not in the table.
        self.more = more

    def _cells(self) -> list[list[str]]:
        head = ["", *self.columns]
        return [head, *([name, *(f"{number:,.4g}" for number in numbers)] for name, numbers in self.rows.items())]

    def __str__(self) -> str:
        cells = self._cells()
        widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
        return "\n".join([*lines, *([f"and {self.more:,} more coordinates"] if self.more else [])])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from html import escape

        rows = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in self._cells()]
        more = f"<p>and {self.more:,} more coordinates</p>" if self.more else ""
        return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>{more}"


def _plan(spec: dict[str, Any], plugins: PluginsGiven, warmup: int | None) -> Plan:
    require_one_process()
    plan = load_spec(spec, plugins=plugins)
    if warmup is not None:
        tuned = plan.spec.sampler is not None and plan.spec.sampler.tunes()
        spec["chains"] |= {"warmup": warmup, "burn_in": 0} if tuned else {"burn_in": warmup}
        plan = load_spec(spec, plugins=plugins)
    require_torch(plan)
    return plan


def _spec(
    energy: Any, event: Sequence[int] | None, *, chains: int, samples: int, sampler: Any, init: Any
) -> dict[str, Any]:
    starts = None if init is None or isinstance(init, (str, Mapping, Component)) else _numbers(init)
    if event is None and starts is not None and len(starts[1]) > 1:
        event = starts[1][1:]
    if isinstance(event, int):
        raise ValueError(f"event={event} is a number, but the shape of a state is expected: event=({event},)")
    model = energy
    if callable(energy) and not isinstance(energy, type):
        if event is None:
            raise ValueError("the shape of a state is not known: pass event=, for example event=(2,)")
        model = {"use": energy, "shape": [*event]}
    spec: dict[str, Any] = {"ebmkit": 1, "name": "sample", "model": model, "sampler": sampler, "samples": samples}
    spec["chains"] = {"count": chains}
    if starts is not None:
        spec["init"] = {"use": "points", "at": _points(*starts, event, chains)}
    elif init is not None:
        spec["init"] = init
    return spec


def _numbers(init: Any) -> tuple[list[Any], tuple[int, ...]]:
    """The numbers of an array of starting points in one list, and its shape."""
    import numpy as np

    array = np.asarray(init.detach().cpu() if hasattr(init, "detach") else init, dtype=np.float64)
    return array.ravel().tolist(), array.shape


def _points(numbers: list[Any], shape: tuple[int, ...], event: Sequence[int] | None, chains: int) -> list[list[Any]]:
    """Rows of starting points: one for each chain, or one for all."""
    rows = 1 if event is not None and shape == tuple(event) else shape[0] if shape else 0
    if rows != 1 and (rows != chains or (event is not None and shape[1:] != tuple(event))):
        expected = f"({chains}, *event)" if event is None else f"{(chains, *event)} or {tuple(event)}"
        raise ValueError(f"init has shape {shape}, but {expected} is expected")
    width = len(numbers) // rows
    return [numbers[row * width : (row + 1) * width] for row in range(rows)]
