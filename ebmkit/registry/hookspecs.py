"""The hooks. A plugin implements those it needs; none is called in the inner loop of a sampler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from pathlib import Path

    import click

    from ebmkit.contracts.component import Component
    from ebmkit.contracts.panel import Panel
    from ebmkit.contracts.view import View
    from ebmkit.registry.offer import Offer

#: Version of everything in `ebmkit.api`. A plugin may state the one it was written for as `EBMKIT_API = 1`.
API_VERSION = 1

hookspec = pluggy.HookspecMarker("ebmkit")
hookimpl = pluggy.HookimplMarker("ebmkit")


@hookspec
def ebmkit_components() -> Sequence[type[Component] | Offer]:  # type: ignore[empty-body]
    """The components of this plugin: classes, or an `Offer` for each that is imported only when a spec names it.

    A module without this hook offers every `@component` class of its package.
    """


@hookspec
def ebmkit_run_started(view: View, folder: Path) -> None:
    """Called when the parts are built and the folder exists, before the first step."""


@hookspec
def ebmkit_step_ended(view: View, step: int) -> None:
    """Called after every training step."""


@hookspec
def ebmkit_checkpoint_saved(view: View, path: Path) -> None:
    """Called after a checkpoint is saved."""


@hookspec
def ebmkit_run_finished(view: View, results: dict[str, float]) -> None:
    """Called after the evaluation, before the report."""


@hookspec
def ebmkit_commands() -> Sequence[click.Command]:  # type: ignore[empty-body]
    """Commands of this plugin, called as `ebmkit NAMESPACE COMMAND`."""


@hookspec
def ebmkit_report_panels(view: View) -> Sequence[Panel]:  # type: ignore[empty-body]
    """Panels to add to the report of this run."""
