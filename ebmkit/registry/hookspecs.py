"""The hooks. A plugin implements those it needs; none of them is called inside a sampler's inner loop."""

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
    """The components of this plugin: classes, or an `Offer` for each that is to be imported when a spec names it.

    A module without this hook offers every `@component` class of its package.
    """


@hookspec
def ebmkit_run_started(view: View, folder: Path) -> None:
    """The parts are built and the folder exists; the first step comes next."""


@hookspec
def ebmkit_step_ended(view: View, step: int) -> None:
    """A training step is done."""


@hookspec
def ebmkit_checkpoint_saved(view: View, path: Path) -> None:
    """Weights are on the disk."""


@hookspec
def ebmkit_run_finished(view: View, results: dict[str, float]) -> None:
    """Everything was measured; the report comes next."""


@hookspec
def ebmkit_commands() -> Sequence[click.Command]:  # type: ignore[empty-body]
    """Commands of this plugin, reached as `ebmkit NAMESPACE COMMAND`."""


@hookspec
def ebmkit_report_panels(view: View) -> Sequence[Panel]:  # type: ignore[empty-body]
    """Pictures to add to the report of this run."""
