"""The law that no case of a batch is beyond an answer: any value in any field, and the next case is decided."""

from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.cycles import built_in, everything
from pyroclast.scheduler.simulation.batch import answer_lines
from tests.drawing import examples
from tests.laws.junk import JUNK, Path, paths, planted

REGISTRY = built_in()
NODES = [
    {"metadata": {"name": name}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}}
    for name in ("n1", "n2")
]
GANG = {"metadata": {"name": "g", "namespace": "ns"}, "spec": {"minMember": 1, "queue": "q"}}
POD = {
    "metadata": {"name": "p", "namespace": "ns", "annotations": {"scheduling.k8s.io/group-name": "g"}},
    "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
    "status": {"phase": "Pending"},
}
CASE: dict[str, Any] = {
    "id": "c",
    "config": {
        "actions": ["enqueue", "allocate", "backfill"],
        "tiers": [{"plugins": [{"name": "priority"}, {"name": "gang", "enableJobOrder": True, "arguments": {}}]}],
        "configurations": [{"name": "allocate", "arguments": {}}],
        "absentFlags": "on",
    },
    "objects": {
        "nodes": NODES,
        "queues": [{"metadata": {"name": "q"}, "spec": {"weight": 1}}],
        "podGroups": [GANG],
        "pods": [POD],
        "hyperNodes": [{"metadata": {"name": "h"}, "spec": {"tier": 1, "members": []}}],
    },
    "hyperNodes": {
        "objects": [{"metadata": {"name": "s2"}, "spec": {"tier": 2, "tierName": "block"}}],
        "byTier": {"1": ["s0", "s1"], "2": ["s2"]},
        "realNodes": {"s0": ["n1"], "s1": ["n2"], "s2": ["n1", "n2"]},
        "objectsIncomplete": True,
    },
    "shard": {"mode": "soft", "name": "volcano", "nodes": ["n1"]},
    "ignoredProvisioners": ["example.com/p"],
    "recreateEvicted": False,
    "seed": 1,
    "now": "2027-01-01T00:00:00Z",
}
SOUND = {"objects": {"nodes": NODES, "queues": [{"metadata": {"name": "q"}}], "podGroups": [GANG], "pods": [POD]}}
PLACES = [(0, path) for path in paths(CASE)]


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(PLACES), JUNK), max_size=4))
def test_no_value_in_any_field_stops_a_batch(changes: list[tuple[tuple[int, Path], Any]]) -> None:
    """A case is decided, or answered with a fault of its own; it is never a fault of ours."""
    lines = map(msgspec.json.encode, (*planted([CASE], changes), SOUND))
    odd, sound = map(msgspec.json.decode, answer_lines(lines, REGISTRY, default_config=everything()))

    assert odd.get("error", {}).get("kind") in (None, "case", "config", "objects")
    assert sound["rounds"][0]["binds"].keys() == {"ns/p"}
