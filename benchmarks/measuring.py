"""Clocks, tables and aims that all benchmarks share."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import torch
from peers import enter_the_environment


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """CPU and wall."""
    processor, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - processor, time.perf_counter() - wall


def take_turns(works: dict[str, Callable[[], object]], turns: int, units: int) -> dict[str, dict[str, float]]:
    """By contender, the CPU and wall time of one of the `units` of its turn, in microseconds and in multiples of those
    of `limit` and `ours`, turn by turn. Everybody has to be warm."""
    taken: dict[str, list[tuple[float, ...]]] = {name: [] for name in works}
    order = list(works)
    for _ in range(turns):
        order = order[1:] + order[:1]
        for name in order:
            taken[name].append(tuple(1e6 * value / units for value in seconds(works[name])))
    found: dict[str, dict[str, float]] = {}
    for name in works:
        found[name] = {}
        for clock, word in enumerate(("cpu", "wall")):
            found[name][f"{word}_us"] = median(turn[clock] for turn in taken[name])
            for other in ("limit", "ours"):
                pairs = zip(taken[name], taken[other], strict=True)
                found[name][f"{word}_x_{other}"] = median(turn[clock] / beside[clock] for turn, beside in pairs)
    return found


@contextmanager
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@dataclass
class Report:
    """What was found, and whether it is what was aimed at."""

    found: dict[str, Any] = field(default_factory=dict)
    aims: list[dict[str, Any]] = field(default_factory=list)

    def aim(self, what: str, figure: float, *, at_most: float | None = None, at_least: float | None = None) -> None:
        met = (at_most is None or figure <= at_most) and (at_least is None or figure >= at_least)
        bound = f"at most {at_most:g}" if at_most is not None else f"at least {at_least:g}"
        self.aims.append({"what": what, "figure": figure, "aim": bound, "met": met})

    def table(self, section: str, rows: dict[str, dict[str, dict[str, float]]], extra: str | None = None) -> None:
        """Contenders side by side, in multiples of the limit."""
        names = [name for name in max(rows.values(), key=len) if name != "limit"]
        print(f"\n### {section}, x limit\n\n| | {' | '.join(names)} | limit, us |\n|---|{'---:|' * (len(names) + 1)}")
        for title, row in rows.items():
            figures = [cell(row[name], extra) if name in row else "-" for name in names]
            print(f"| {title} | {' | '.join(figures)} | {row['limit']['cpu_us']:.0f} |", flush=True)
        self.found[section] = rows

    def close(self, file: Path | None) -> None:
        """Print the aims, and write all figures to a file if there is to be one."""
        print("\n### Aims\n\n| | found | aim | |\n|---|---:|---|---|")
        for aim in self.aims:
            print(f"| {aim['what']} | {aim['figure']:.2f} | {aim['aim']} | {'' if aim['met'] else 'MISSED'} |")
        if file:
            file.write_text(json.dumps({"torch": torch.__version__, **self.found, "aims": self.aims}, indent=1))


def cell(figures: dict[str, float], extra: str | None) -> str:
    return f"{figures['cpu_x_limit']:.2f}" + (f" ({figures[extra]:.0f} {extra})" if extra else "")


def run_sections(description: str, sections: dict[str, Callable[[Report], None]]) -> None:
    """What a benchmark does when it is called: the sections that were asked for, in an environment with the peers."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("section", nargs="*", choices=[*sections, []], help="some of it; all without")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there, too")
    words = parser.parse_args()
    enter_the_environment()
    report = Report()
    with one_thread():
        for name in words.section or sections:
            sections[name](report)
    report.close(words.json)
