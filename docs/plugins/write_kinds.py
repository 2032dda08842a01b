"""Writes docs/plugins/kinds/: a page for each kind of component, from its contract, its laws and its smallest example.

.venv/bin/python docs/plugins/write_kinds.py
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from ebmkit.contracts.component import Component
from ebmkit.contracts.kinds import KINDS, noun
from ebmkit.registry.contract import Contract, Member, contract_of
from ebmkit.registry.spelling import a
from ebmkit.testing import laws_of

HERE = Path(__file__).parent
#: Where the smallest plugin of every kind stands, and is tested.
EXAMPLES = HERE.parent / "plugins.md"


def page(name: str, kind: type[Component]) -> str:
    """The page of a kind."""
    contract = contract_of(kind)
    parts = [
        f"# `{kind.__name__}`: how to write {a(noun(name))}",
        f"Written by `docs/plugins/write_kinds.py` from `{source(kind)}`; `ebmkit show {name}` prints the same.",
        contract.summary,
        contract.body,
        "## The smallest one",
        example(kind.__name__),
        *members("Methods", contract.methods),
        *members("Class variables", contract.attributes),
        *types(contract),
        "## Laws",
        "`ebmkit plugins check` and `ebmkit.testing.check_component` test these:",
        "\n".join(f"- `{law.__name__}`: {sentence(law)}" for law in laws_of(name)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def source(kind: type[Component]) -> str:
    return f"ebmkit/contracts/kinds/{Path(inspect.getfile(kind)).name}"


def example(kind: str) -> str:
    """What docs/plugins.md says of a kind."""
    found = re.search(rf"^### `{kind}`\n\n(.*?)(?=^##)", EXAMPLES.read_text(), re.MULTILINE | re.DOTALL)
    assert found, f"{EXAMPLES.name} has no section '{kind}'"
    return re.sub(r"(?<=\]\()(?!https?:)([^)]+)", _from_kinds, found[1].strip())


def _from_kinds(link: re.Match[str]) -> str:
    """A link of the page with the examples, as seen from the folder of these pages."""
    return f"../../{EXAMPLES.name if link[1].startswith('#') else ''}{link[1]}"


def members(title: str, of: tuple[Member, ...]) -> list[str]:
    if not of:
        return []
    rows = [
        f"`{member.declaration}`{' (required)' if member.required else ''}\n\n{quoted(member.meaning)}" for member in of
    ]
    return [f"## {title}", *(row.strip() for row in rows)]


def quoted(text: str) -> str:
    """An indented paragraph of a docstring is a formula, and stays one."""
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines()) if text else ""


def types(contract: Contract) -> list[str]:
    if not contract.types:
        return []
    return ["## Types", *(f"{member.meaning}\n\n```python\n{member.declaration}\n```" for member in contract.types)]


def sentence(law: object) -> str:
    return " ".join((inspect.getdoc(law) or "").partition("\n\n")[0].split())


def main() -> None:
    for name, kind in KINDS.items():
        (HERE / "kinds" / f"{name}.md").write_text(page(name, kind))


if __name__ == "__main__":
    main()
