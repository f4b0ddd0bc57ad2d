"""Capacity and a plain rule by recursion say the same of queues, pods and victims, by chance."""

from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclast.framework.preemption.victim_order import in_order
from pyroclast.model.ids import QueueName
from pyroclast.model.resources import UNLIMITED
from tests.differential.capacity import ALL, NEVER, Declared, PlainPod, PlainQueue, declared
from tests.drawing import examples
from tests.unit.plugins.capacity import holding
from tests.unit.plugins.policies import World, group, node, opened, pod, queue

ALIKE = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
SEEDS = st.integers(0, 2**32)
SPELLED = {"cpu": "cpu", "memory": "memory", "gpu": "nvidia.com/gpu", "pods": "pods"}
UNITS = {"cpu": 1000, "memory": 2**30, "gpu": 1, "pods": 1}


def written(amounts: dict[str, int]) -> dict[str, str]:
    """As a resource list: whole CPUs, GiB, devices and pods."""
    return {SPELLED[what]: f"{amount}Gi" if what == "memory" else str(amount) for what, amount in amounts.items()}


def as_queue(each: PlainQueue) -> Any:
    """The Queue object."""
    return queue(
        each.name,
        priority=each.priority,
        parent=each.parent,
        deserved=written(each.deserved),
        capability=written(each.capability),
        guarantee=written(each.guarantee),
    )


def as_pod(each: PlainPod) -> list[Any]:
    """The pod and its group."""
    asked = {what: amount for what, amount in written(each.request).items() if what in ("cpu", "memory")}
    gpu = {"gpu": str(each.request["gpu"])} if "gpu" in each.request else {}
    requested: dict[str, Any] = {"cpu": "", "memory": "", **asked, **gpu}
    return [
        group(each.name, queue=each.queue),
        pod(each.name, job=each.name, on="n" if each.is_placed else "", **requested),
    ]


def world(plain: Declared) -> World:
    """A session with capacity alone."""
    option = {
        "name": "capacity",
        "enableHierarchy": plain.in_tree,
        "arguments": {"ancestorReclaimLevel": plain.levels},
    }
    return opened(
        node("n", cpu="12", memory="12Gi", gpu="6"),
        *map(as_queue, plain.queues.values()),
        *(each for made in plain.pods for each in as_pod(made)),
        plugins=[option],
    )


@ALIKE
@given(SEEDS)
def test_same_books(seed: int) -> None:
    """Allocated, deserved, limit and share of each queue, in a tree or side by side."""
    plain = declared(Random(seed))
    there = world(plain)
    rows = {what: there.session.resources.rows.get(SPELLED[what]) for what in ALL}
    for name in plain.queues:
        book = holding(there).usage[QueueName(name)]
        for what, row in rows.items():
            if row is None:
                continue
            limit = plain.limit(name, what)
            if what != "pods":
                known = NEVER if book.limit[row] >= UNLIMITED // 2 else book.limit[row]
                assert known == limit * UNITS[what], (name, what)
            assert book.allocated[row] == plain.allocated(name, what) * UNITS[what], (name, what)
            assert book.deserved[row] == (plain.deserved(name, what) or 0) * UNITS[what], (name, what)
        assert book.share == plain.share(name), name


@ALIKE
@given(SEEDS)
def test_same_answers(seed: int) -> None:
    """May a pod be placed, may its queue take room for it, who may go, and who is served first."""
    plain = declared(Random(seed))
    there = world(plain)
    held = holding(there)
    placed = {each.name: each for each in plain.pods if each.is_placed}
    for each in plain.pods:
        if each.is_placed:
            continue
        own, task = there.queue(each.queue), there.task(each.name)
        assert (held.allocatable(own, task) is None) is plain.allocatable(each), each
        assert (held.headroom(own, task) > 0) is plain.allocatable(each), each
        assert (held.preemptive(own, [task]) is None) is plain.preemptive(each), each
        others = [other for other in placed.values() if other.queue != each.queue]
        ordered = in_order(there.session, there.job(each.name), there.tasks(*(other.name for other in others)))
        expected = plain.victims(each, [placed[victim.name] for victim in ordered])
        assert [victim.name for victim in held.reclaimable(task, ordered)[0]] == expected, each
    leaves = sorted({each.queue for each in plain.pods})
    for left in leaves:
        for right in leaves:
            expected_order = plain.goes_first(left, right) if left != right else 0
            if expected_order:
                is_first = held.rank(there.queue(left)) < held.rank(there.queue(right))
                assert is_first is (expected_order < 0), (left, right)
