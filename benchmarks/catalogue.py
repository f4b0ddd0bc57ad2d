"""All benchmarks with a budget, and the clusters they are measured on."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from benchmarks import cycles, disturbed, emulator, endtoend, evictions, reaction, snapshot, tenants
from benchmarks.inputs import Input
from benchmarks.results import Result

__all__ = ["BENCHMARKS", "INPUTS"]

_ON_CLUSTERS: Final = (cycles, evictions, snapshot, endtoend, tenants)

_BENCHMARKS: Final = {
    name: measure
    for module in (*_ON_CLUSTERS, emulator, reaction, disturbed)
    for name, measure in module.BENCHMARKS.items()
}
BENCHMARKS: Final[Mapping[str, Callable[[int, int], Iterator[Result]]]] = dict(sorted(_BENCHMARKS.items()))
"""Benchmarks by name: functions of a number of runs, of which the median counts, and a seed for their inputs."""

_INPUTS: Final = {name: each for module in _ON_CLUSTERS for name, each in module.INPUTS.items()}
INPUTS: Final[Mapping[str, Input]] = dict(sorted(_INPUTS.items()))
"""Inputs by name of the benchmark, with the part for a benchmark on two clusters."""
