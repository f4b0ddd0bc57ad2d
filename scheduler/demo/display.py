"""Display of the demonstration: a live table on a terminal, plain lines elsewhere."""

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from pyroclast.scheduler.demo.progress import Progress

__all__ = ["Picture", "histogram"]

_BAR_WIDTH: Final = 24
_PROGRESS_WIDTH: Final = 14
_PLAIN_WIDTH: Final = 120
_PLAIN_SECONDS: Final = 1.0
"""Interval between plain lines."""
_STEPS: Final = ("idle", "1-25 %", "26-50 %", "51-75 %", "76-100 %")


class Picture:
    """Shows the demonstration on one stream."""

    def __init__(self, stream: TextIO) -> None:
        """Use a live table if the stream is a terminal."""
        # A file or a pipe has no width: lines are not broken there.
        self._console = Console(file=stream, highlight=False, width=None if stream.isatty() else _PLAIN_WIDTH)
        self._live: Live | None = None
        self._last, self._last_line = 0.0, ""

    def say(self, text: str) -> None:
        """Print a line."""
        self._console.print(text, markup=False, soft_wrap=True)

    def headline(self, text: str) -> None:
        """Print the heading of a part."""
        self._console.print()
        self._console.print(text, style="bold", markup=False, soft_wrap=True)

    def live(self) -> AbstractContextManager[Any]:
        """Return the context in which `show` updates the table."""
        if not self._console.is_terminal:
            return nullcontext()
        self._live = Live(console=self._console, refresh_per_second=8, transient=True)
        return self._live

    def show(self, progress: Progress, seconds: float) -> None:
        """Show the progress."""
        if self._live is not None:
            self._live.update(Group(table(progress), f"{seconds:.1f} s"))
            return
        line = f"bound {progress.bound:>5} of {progress.pods}, running {progress.running:>5}"
        now = time.monotonic()
        if line != self._last_line and (now - self._last >= _PLAIN_SECONDS or progress.is_done):
            self._last, self._last_line = now, line
            self.say(f"  {seconds:5.1f} s  {line}")

    def finish(self, progress: Progress) -> None:
        """Print the final table."""
        self._live = None
        self._console.print(table(progress))

    def nodes(self, fractions: Sequence[float]) -> None:
        """Print the distribution of the nodes' CPU usage."""
        for step, count in histogram(fractions):
            bar = "█" * round(_BAR_WIDTH * count / max(len(fractions), 1))
            self.say(f"  {step:>9}  {count:>5} nodes  {bar}".rstrip())


def table(progress: Progress) -> Table:
    """Return a table with one row for each queue."""
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("queue", "weight", "pods", "bound", "running", "whole gangs", "broken", ""):
        drawn.add_column(column, justify="left" if column in {"queue", ""} else "right", no_wrap=True)
    for queue in progress.queues:
        drawn.add_row(
            queue.name,
            str(queue.weight),
            str(queue.pods),
            str(queue.bound),
            str(queue.running),
            f"{queue.whole}/{queue.gangs}",
            str(queue.broken),
            ProgressBar(total=max(queue.pods, 1), completed=queue.running, width=_PROGRESS_WIDTH),
        )
    return drawn


def histogram(fractions: Sequence[float]) -> list[tuple[str, int]]:
    """Count nodes by the requested fraction of their CPU, in quarters."""
    counts = [0] * len(_STEPS)
    for fraction in fractions:
        counts[0 if fraction == 0 else min(1 + int(fraction * 4 - 1e-9), len(_STEPS) - 1)] += 1
    return list(zip(_STEPS, counts, strict=True))
