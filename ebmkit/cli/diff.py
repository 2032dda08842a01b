"""`ebmkit diff RUN RUN`: compare two runs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ebmkit.cli.common import error_options, run_argument
from ebmkit.cli.output import echo_json
from ebmkit.engine.folder.run_summary import read_summary
from ebmkit.errors.running import StorageFailed
from ebmkit.language.diff import differences
from ebmkit.storage.atomic import storing

if TYPE_CHECKING:
    from rich.table import Table

    from ebmkit.language.diff import Difference


@click.command("diff")
@run_argument("one")
@run_argument("other")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@error_options
def command(one: Path, other: Path, as_json: bool) -> None:
    """Compare two runs: specs, environments and results."""
    found = {
        "spec": [*differences(_yaml(one / "resolved.yaml"), _yaml(other / "resolved.yaml"))],
        "lock": [*differences(_yaml(one / "lock.yaml"), _yaml(other / "lock.yaml"))],
        "results": [*differences(read_summary(one)["results"], read_summary(other)["results"])],
    }
    if as_json:
        rows = {
            what: [{"path": each.where, "one": _plain(each.before), "other": _plain(each.after)} for each in several]
            for what, several in found.items()
        }
        echo_json(rows, indent=None)
        return
    from ebmkit.cli.tables import print_table  # rich, which --json does not need

    names = (one.name, other.name) if one.name != other.name else (str(one), str(other))
    print_table(partial(_table, found, names))


def _table(found: dict[str, list[Difference]], names: tuple[str, str], compact: bool) -> Table:
    from ebmkit.cli.tables import cell, plain_table

    table = plain_table(("", *names))
    for what, several in found.items():
        table.add_row(cell(f"{what}:" if several else f"{what}: the same", "bold"))
        for each in several:
            table.add_row(cell(f"  {each.where}"), cell(_shown(each.before)), cell(_shown(each.after)))
    return table


def _shown(value: Any) -> str:
    return value if isinstance(value, str) and value.isprintable() else repr(value)


def _yaml(path: Path) -> Any:
    from ebmkit.errors import EbmkitError, Mistakes
    from ebmkit.language.text import parse, read

    with storing(path):
        path.stat()
    try:
        return parse(read(str(path))).plain()
    except (EbmkitError, Mistakes) as error:
        raise StorageFailed(f"{path}: damaged: {error}") from error


def _plain(value: Any) -> Any:
    from ebmkit.language.diff import ABSENT

    return None if value is ABSENT else value
