"""Rescheduling moves the pod that was meant, and measures nodes by what they report as allocatable throughout."""

import msgspec

from pyroclast.model.usage import NodeUsage
from pyroclast.plugins.rescheduling.arguments import Marks, Params, Strategy
from pyroclast.plugins.rescheduling.plugin import loads_of, moves_of
from tests.unit.plugins.policies import World, group, node, opened, pod

NOW = 1_800_000_000.0
STRATEGY = Strategy(
    name="lowNodeUtilization",
    params=Params(thresholds=Marks(cpu=30, memory=30), target_thresholds=Marks(cpu=60, memory=60)),
)


def world(capacity: str = "10") -> World:
    """Two pods of one name in two namespaces on a busy node, beside an idle one; nodes allocate 10 CPU."""
    twins, groups = [], []
    for namespace in ("a", "b"):
        twin = pod("twin", namespace=namespace, on="n1", cpu="2", memory="")
        twins.append(msgspec.structs.replace(twin, metadata=msgspec.structs.replace(twin.metadata, uid=namespace)))
        groups.append(group("job", namespace=namespace))
    nodes = []
    for name in ("n1", "n2"):
        made = node(name, cpu="10")
        status = msgspec.structs.replace(made.status, capacity={"cpu": capacity, "memory": "32Gi"})
        nodes.append(msgspec.structs.replace(made, status=status))
    usage = {
        name: NodeUsage(cpu_percent=cpu, memory_percent=20, measured=NOW) for name, cpu in (("n1", 75), ("n2", 20))
    }
    return opened(*nodes, *groups, *twins, plugins=["rescheduling"], usage=usage, now=NOW)


def moved(there: World, *uids: str) -> list[str]:
    """The UIDs of the pods that leave, asked about some."""
    ids = {task.id for job in there.session.jobs.all() for task in job.tasks.values() if task.id in uids}
    return [str(move.task.id) for move in moves_of(STRATEGY, loads_of(there.session, ids, is_measured=True))]


def test_a_pod_is_known_by_its_uid() -> None:
    """The one of namespace b was named; its namesake of namespace a stays."""
    assert moved(world(), "b") == ["b"]


def test_what_a_pod_frees_is_a_part_of_what_is_allocatable() -> None:
    """2 of 10 CPU bring 75% below 60%, though the machine has 20, of which they were a tenth."""
    assert moved(world(capacity="20"), "a", "b") == ["a"]
