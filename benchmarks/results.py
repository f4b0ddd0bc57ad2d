"""Results: a table for people, with the machine and the commit, and a picture."""

import os
import platform
import statistics
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "Budget",
    "Result",
    "at_least",
    "below",
    "describe_machine",
    "draw",
    "speed_now",
    "spread",
    "stated",
    "table",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limit of a figure; made by `at_least`, `below` and `stated`."""

    limit: float | None
    """None for a figure that is reported without a limit."""
    unit: str
    digits: int
    """Decimal places of figures."""
    is_floor: bool
    """Whether figures must reach the limit; else they must stay below it."""

    @property
    def text(self) -> str:
        """The budget as text of the table."""
        return "stated" if self.limit is None else f"{'≥' if self.is_floor else '<'} {self.limit:,.6g} {self.unit}"

    def format(self, figure: float) -> str:
        """Write a figure in the budget's unit."""
        return f"{figure:,.{self.digits}f} {self.unit}"

    def holds(self, figure: float) -> bool:
        """Return whether a figure is within the budget."""
        if self.limit is None:
            return True
        return figure >= self.limit if self.is_floor else figure < self.limit


def at_least(limit: float, unit: str, *, digits: int = 0) -> Budget:
    """Return a budget that figures must reach."""
    return Budget(limit=limit, unit=unit, digits=digits, is_floor=True)


def stated(unit: str, *, digits: int = 0) -> Budget:
    """Return a budget without a limit: the figure is reported."""
    return Budget(limit=None, unit=unit, digits=digits, is_floor=False)


def below(limit: float, unit: str, *, digits: int = 0) -> Budget:
    """Return a budget that figures must stay below."""
    return Budget(limit=limit, unit=unit, digits=digits, is_floor=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One budget, measured."""

    name: str
    work: str
    budget: Budget
    figure: float | None
    """Figure in the unit of the budget; None if it could not be measured."""
    fault: str = ""
    """Fault of the measured work; with a fault the budget is missed, regardless of the figure."""
    note: str = ""
    speed: float = 0.0
    """Speed of a plain loop at that time, million additions a second; see `speed_now`."""

    @property
    def measured(self) -> str:
        """The figure as text of the table."""
        return "not measured" if self.figure is None else self.budget.format(self.figure)

    @property
    def is_met(self) -> bool:
        """Whether the work was done, within the budget."""
        return self.figure is not None and not self.fault and self.budget.holds(self.figure)

    @property
    def verdict(self) -> str:
        """Met, or missed and by how much: the figure as a multiple of the budget, and what was wrong with the work."""
        if self.is_met:
            return "met" if self.budget.limit else "-"
        why = [self.fault] if self.fault else []
        if self.figure is not None and self.budget.limit and not self.budget.holds(self.figure):
            # Four digits: 0.9970 of a budget is not the whole of it.
            why.insert(0, f"{self.figure / self.budget.limit:.4g} times the budget")
        return f"missed: {', '.join(why)}"


def describe_machine() -> str:
    """Return the machine, the interpreter and the commit of the numbers."""
    model = "unknown processor"
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)  # noqa: S607
    cores = len(os.sched_getaffinity(0))
    return f"{model}, {cores} cores, Python {platform.python_version()}, commit {commit.stdout.strip() or 'unknown'}"


def speed_now() -> float:
    """Return how many million additions a second a plain Python loop does at this moment, best of three.

    Shared machines are two or three times slower at times: a figure means little without this one.
    """
    best = 0.0
    for _ in range(3):
        begun = time.perf_counter()
        total = 0
        for number in range(2_000_000):
            total += number
        best = max(best, 2.0 / (time.perf_counter() - begun))
    return best


def spread(values: Iterable[float], digits: int = 2) -> str:
    """Write the median of some values, and their range."""
    ordered = sorted(values)
    return f"{statistics.median(ordered):,.{digits}f} ({ordered[0]:,.{digits}f} to {ordered[-1]:,.{digits}f})"


def table(results: Sequence[Result]) -> str:
    """Return the results as a Markdown table."""
    rows = (
        f"| {each.name} | {each.work} | {each.measured} | {each.budget.text} | {each.verdict} |" for each in results
    )
    lines = ["| # | work | measured | budget | |", "|---|---|---|---|---|", *rows]
    notes = [f"{each.name}: {each.note} (plain loop: {each.speed:.0f} M additions/s)" for each in results]
    return "\n".join([*lines, "", *notes])


def draw(results: Sequence[Result], path: Path) -> None:
    """Draw the table as a picture, one row per budget."""
    import matplotlib as mpl  # noqa: PLC0415  # heavy, and only here

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(figsize=(11, 0.6 + 0.45 * len(results)))
    axes.axis("off")
    cells = [[each.name, each.work, each.measured, each.budget.text] for each in results]
    drawn = axes.table(
        cells,
        colLabels=["", "work", "measured", "budget"],
        loc="center",
        cellLoc="left",
        colWidths=[0.07, 0.58, 0.18, 0.17],
    )
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(9)
    for row, each in enumerate(results, start=1):
        drawn[row, 2].set_facecolor("#d9ead3" if each.is_met else "#f4cccc")
    axes.set_title(describe_machine(), fontsize=8)
    figure.savefig(path, dpi=150, bbox_inches="tight")
