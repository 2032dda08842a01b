"""Long chains on an energy, without a run folder or as a run, and the table of their draws."""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ebmkit.diagnostics.mcse import mcse_mean
from ebmkit.engine import session
from ebmkit.engine.assemble import assemble
from ebmkit.engine.build import build
from ebmkit.engine.chain_starts import ChainStarts
from ebmkit.engine.energy_check import check_energy
from ebmkit.engine.mixing import Mixing, coordinate
from ebmkit.engine.process import settings_kept
from ebmkit.engine.run_view import RunView
from ebmkit.engine.sampling import give_kept_samples, view_of
from ebmkit.engine.telling.error_site import ErrorSite
from ebmkit.engine.telling.progress import Progress, Silent
from ebmkit.language.packages import require_packages
from ebmkit.language.plan import Plan

#: The columns of the table of draws.
COLUMNS = ("mean", "sd", "mcse", "5%", "50%", "95%", "ess_bulk", "ess_tail", "rhat")
#: The number of coordinates in this table.
MOST = 50


def draw(plan: Plan, runs_dir: Path | None, progress: Progress | None) -> RunView:
    """The view of a plan with long chains that have been run; as a run in `runs_dir`, if that is given."""
    require_packages(plan)
    progress = progress or Silent()
    with settings_kept():
        view = assemble(plan, build(plan))
        _check(view)
        if runs_dir is None:
            progress.follow("sampling", view.chain_length(plan.spec.samples), view.chain_position)
            view.draw(plan.spec.samples)
            return view
        record = session.run(plan, runs_dir=runs_dir, progress=progress)
        view = view_of(plan, record.folder)
        give_kept_samples(view, record.folder)
        view.draw(plan.spec.samples)
        return view


def _check(view: RunView) -> None:
    """Evaluate the energy once where the chains start."""
    plan, sampler = view.plan, view.plan.spec.sampler
    assert sampler is not None
    assert plan.spec.chains is not None
    with ErrorSite(plan, ("init",)):
        starts = ChainStarts(view.evaluated)
        x = starts.draw(min(plan.spec.chains.count, starts.rows), view.generator("energy check"))
    check_energy(view.parts.evaluated, x, plan.name_at(("sampler",)), gradient="gradient" in sampler.traits().needs)


def rows(x: Tensor, found: Mixing) -> tuple[tuple[str, ...], dict[str, tuple[float, ...]], int]:
    """The columns and rows of the table of draws `(chains, draws, *event)`, and the number of further coordinates."""
    event = tuple(x.shape[2:])
    some = x.flatten(2)[..., :MOST].double()
    flat = some.flatten(0, 1)
    # torch.quantile takes at most 2^24 numbers.
    quantiles = torch.as_tensor(np.quantile(flat.numpy(), [0.05, 0.5, 0.95], axis=0))
    figures = (found.coordinates.ess_bulk, found.coordinates.ess_tail, found.coordinates.rhat)
    columns = [flat.mean(0), flat.std(0), mcse_mean(some), *quantiles, *(of.flatten()[:MOST] for of in figures)]
    table = torch.stack([column.double().cpu() for column in columns], 1).tolist()
    named = {coordinate(event, index, found.names): tuple(row) for index, row in enumerate(table)}
    return COLUMNS, named, max(0, prod(event) - MOST)
