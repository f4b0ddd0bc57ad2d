"""Processes that are measured: what they spend and what they hold."""

import os
from pathlib import Path

__all__ = ["cpu_seconds", "resident_megabytes"]


def cpu_seconds(process: int) -> float:
    """Read how much processor time a process has had."""
    # The name of the process, in brackets, may contain any character; the times are the 14th and 15th field of proc(5).
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_megabytes(process: int) -> float:
    """Read the resident memory of a process."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
