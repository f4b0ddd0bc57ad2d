"""Inputs: clusters to measure with, each under its configuration, in the order that a seed draws.

Each input can be written as a case of `pyroclast simulate --batch`. The seed determines the order of the objects, the
ages of the groups and the names of the nodes; sizes stay. With seed 0 everything is as generated.
"""

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from benchmarks.clusters import HOSTNAME, Object

__all__ = ["NOW", "Input", "drawn", "write_cases"]

NOW = 1_800_000_000.0
"""The moment of each cycle: long after everything was made."""
_LISTS = {"Queue": "queues", "Node": "nodes", "HyperNode": "hyperNodes", "PodGroup": "podGroups", "Pod": "pods"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """A cluster, and the configuration that it is measured under."""

    make: Callable[..., Iterator[Object]]
    """Makes the objects; without arguments, as many as the budget speaks of."""
    config: str
    small: Mapping[str, int] = field(default_factory=dict)
    """Arguments of `make` for a cluster of the same shape that is looked through in a moment."""

    def objects(self, seed: int = 0, *, is_small: bool = False) -> Iterator[Object]:
        """Return the cluster in the order that a seed draws."""
        return drawn(self.make(**(self.small if is_small else {})), seed)


def drawn(objects: Iterable[Object], seed: int) -> Iterator[Object]:
    """Return a cluster of the same sizes, in an order drawn from a seed; 0 leaves all as it is."""
    if seed == 0:
        yield from objects
        return
    chance, made = random.Random(seed), list(objects)
    _rename_nodes(made, chance)
    _deal_ages(made, chance)
    chance.shuffle(made)
    yield from made


def _rename_nodes(objects: list[Object], chance: random.Random) -> None:
    """Let each node have another's name, wherever it is named."""
    old = [each["metadata"]["name"] for each in objects if each["kind"] == "Node"]
    new = dict(zip(old, chance.sample(old, len(old)), strict=True))
    for each in objects:
        match each["kind"]:
            case "Node":
                name = new[each["metadata"]["name"]]
                each["metadata"] |= {"name": name, "uid": name}
                each["metadata"]["labels"] |= {HOSTNAME: name}
            case "Pod" if "nodeName" in each["spec"]:
                each["spec"]["nodeName"] = new[each["spec"]["nodeName"]]
            case "HyperNode":
                for member in each["spec"]["members"]:
                    if member["type"] == "Node":
                        exact = member["selector"]["exactMatch"]
                        exact["name"] = new[exact["name"]]


def _deal_ages(objects: list[Object], chance: random.Random) -> None:
    """Deal out the creation times of groups anew, among groups of one phase."""
    by_phase: dict[str, list[Object]] = {}
    for each in objects:
        if each["kind"] == "PodGroup":
            by_phase.setdefault(each["status"]["phase"], []).append(each["metadata"])
    for groups in by_phase.values():
        times = [each["creationTimestamp"] for each in groups]
        chance.shuffle(times)
        for each, time in zip(groups, times, strict=True):
            each["creationTimestamp"] = time


def write_cases(inputs: Mapping[str, Input], path: Path, seed: int = 0, *, is_small: bool = False) -> None:
    """Write inputs as cases of `pyroclast simulate --batch`, one a line."""
    with path.open("w") as file:
        for name, each in inputs.items():
            _write_case(file, name, each.config, each.objects(seed, is_small=is_small))


def _write_case(file: TextIO, name: str, config: str, objects: Iterable[Object]) -> None:
    lists: dict[str, list[Any]] = {each: [] for each in _LISTS.values()}
    for each in objects:
        lists[_LISTS[each["kind"]]].append(each)
    file.write(json.dumps({"id": name, "config": config, "now": NOW, "objects": lists}) + "\n")
