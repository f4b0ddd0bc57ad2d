"""CPU sets: CPUs of a machine as the bits of one integer; bit n is CPU n.

Union is `|`, intersection is `&`, difference is `& ~`, and `bit_count()` counts; so sets compare, hash and copy as
fast as numbers. Texts are lists as Linux writes them (cpuset(7)): `0,2-4` is CPU 0 and CPUs 2 to 4, an empty text is no
CPU.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from pyroclast.model.texts import quoted

__all__ = ["LARGEST_CPU", "CpuSet", "as_text", "cpu_set", "members", "read_cpu", "read_cpu_set"]

CpuSet = int
"""A set of CPUs; never negative."""

LARGEST_CPU: Final = 8191
"""The most that Linux can be built for is 8192 CPUs; a greater number is a slip, and would cost its size in bits."""


_RANGE: Final = re.compile(r"([0-9]+)(?:-([0-9]+))?", re.ASCII)


def cpu_set(cpus: Iterable[int]) -> CpuSet:
    """Return the set of some CPUs."""
    bits = 0
    for cpu in cpus:
        bits |= 1 << cpu
    return bits


def members(cpus: CpuSet) -> Iterator[int]:
    """Iterate over the CPUs of a set, ascending."""
    while cpus:
        lowest = cpus & -cpus
        yield lowest.bit_length() - 1
        cpus ^= lowest


def as_text(cpus: CpuSet) -> str:
    """Format a set as Linux does, with ranges."""
    ranges: list[list[int]] = []
    for cpu in members(cpus):
        if ranges and ranges[-1][1] == cpu - 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def read_cpu(text: str) -> int:
    """Read the number of one CPU.

    Raises:
        ValueError: The text is not a number, or the number is above `LARGEST_CPU`.
    """
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"{quoted(text)} is not the number of a CPU")
    digits = text.lstrip("0") or "0"
    if len(digits) > len(str(LARGEST_CPU)) or int(digits) > LARGEST_CPU:
        raise ValueError(f"CPU {digits[:20]} is beyond {LARGEST_CPU}, the last one that a machine can have")
    return int(digits)


def read_cpu_set(text: str) -> CpuSet:
    """Read a set as Linux writes it.

    Raises:
        ValueError: Some part of the text is neither a CPU nor a range of them, lowest first.
    """
    cpus = 0
    for part in text.split(",") if text else ():
        found = _RANGE.fullmatch(part)
        if found is None:
            raise ValueError(f"{quoted(part)} is neither a CPU nor a range of CPUs such as 2-4")
        first, last = read_cpu(found[1]), read_cpu(found[2] or found[1])
        if first > last:
            raise ValueError(f"the range {quoted(part)} ends before it begins")
        cpus |= (1 << last + 1) - (1 << first)
    return cpus
