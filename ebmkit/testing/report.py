"""The results of the laws for a component."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Report:
    """The results of the laws for a component, by the names of the laws."""

    obeyed: list[str] = field(default_factory=list)
    broken: dict[str, str] = field(default_factory=dict)
    inapplicable: dict[str, str] = field(default_factory=dict)
    #: Broken, as the author expects.
    expected: dict[str, str] = field(default_factory=dict)
    #: What some of the obeyed laws say about their own precision.
    remarks: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        counted = [f"{_count(len(self.obeyed))} obeyed"]
        if self.broken:
            counted.append(f"{len(self.broken)} broken")
        if self.expected:
            counted.append(f"{len(self.expected)} broken as expected")
        if self.inapplicable:
            counted.append(f"{len(self.inapplicable)} not applicable")
        others = {**self.expected, **self.inapplicable, **self.remarks}
        details = [*self.broken.values(), *(f"{name}: {reason}" for name, reason in others.items())]
        return "\n  ".join([", ".join(counted) + (":" if details else ""), *details])


def _count(laws: int) -> str:
    return f"{laws} law" + ("" if laws == 1 else "s")
