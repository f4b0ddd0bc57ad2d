"""The cluster of a test, created from the objects of a scenario."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pyroclast.cache.options import StateOptions
from pyroclast.model.queues import ROOT_QUEUE
from pyroclast.model.watched import WatchedKind
from pyroclast.scheduler.simulation.cluster import SimulatedCluster

__all__ = ["cluster_of"]


def cluster_of(
    objects: Sequence[Mapping[str, Any]],
    *,
    watched: Collection[WatchedKind] = (),
    shard_mode: str,
    shard: str,
    warnings: list[str],
) -> SimulatedCluster:
    """Return a cluster of objects; missing queues of groups, and a missing root that queues name, are created.

    Args:
        objects: Kubernetes objects.
        watched: Kinds that plugins watch.
        shard_mode: Mode of sharding.
        shard: NodeShard of this scheduler.
        warnings: List to which warnings about objects are appended.
    """
    known = {each["metadata"]["name"] for each in objects if each.get("kind") == "Queue"}
    named = {each.get("spec", {}).get("queue", "default") for each in objects if each.get("kind") == "PodGroup"}
    parents = {(each.get("spec") or {}).get("parent") for each in objects if each.get("kind") == "Queue"}
    named |= parents & {ROOT_QUEUE}  # a running scheduler makes it, but no other parent
    missing = [
        {"kind": "Queue", "metadata": {"name": name}, "spec": {"weight": 1}, "status": {"state": "Open"}}
        for name in sorted(named - known)
    ]
    return SimulatedCluster(
        [*objects, *missing],
        StateOptions(shard_mode=shard_mode, shard_name=shard),
        watched=watched,
        report=lambda fault: warnings.append(str(fault)),
        note=warnings.append,
    )
