"""Results: a table for people, with the machine and the commit, and a picture."""

import os
import platform
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Result", "describe_machine", "draw", "speed_now", "table"]


@dataclass(frozen=True, slots=True)
class Result:
    """One budget, measured."""

    name: str
    work: str
    measured: str
    budget: str
    is_met: bool
    note: str = ""
    speed: float = 0.0
    """What a plain loop did beside it, million additions a second; see `speed_now`."""


def describe_machine() -> str:
    """Say what machine, interpreter and commit the numbers are of."""
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

    Shared machines are two or three times slower at times: a figure says little without this one beside it.
    """
    best = 0.0
    for _ in range(3):
        begun = time.perf_counter()
        total = 0
        for number in range(2_000_000):
            total += number
        best = max(best, 2.0 / (time.perf_counter() - begun))
    return best


def table(results: list[Result]) -> str:
    """Return the results as a Markdown table."""
    rows = (
        f"| {each.name} | {each.work} | {each.measured} | {each.budget} | {'met' if each.is_met else 'missed'} |"
        for each in results
    )
    lines = ["| # | work | measured | budget | |", "|---|---|---|---|---|", *rows]
    notes = [f"{each.name}: {each.note} (plain loop: {each.speed:.0f} M additions/s)" for each in results]
    return "\n".join([*lines, "", *notes])


def draw(results: list[Result], path: Path) -> None:
    """Draw the table as a picture, one row per budget."""
    import matplotlib as mpl  # noqa: PLC0415  # heavy, and only here

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(figsize=(11, 0.6 + 0.45 * len(results)))
    axes.axis("off")
    cells = [[each.name, each.work, each.measured, each.budget] for each in results]
    drawn = axes.table(
        cells,
        colLabels=["", "work", "measured", "budget"],
        loc="center",
        cellLoc="left",
        colWidths=[0.05, 0.6, 0.18, 0.17],
    )
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(9)
    for row, each in enumerate(results, start=1):
        drawn[row, 2].set_facecolor("#d9ead3" if each.is_met else "#f4cccc")
    axes.set_title(describe_machine(), fontsize=8)
    figure.savefig(path, dpi=150, bbox_inches="tight")
