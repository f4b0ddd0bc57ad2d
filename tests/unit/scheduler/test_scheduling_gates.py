"""Scheduling gates: whose gate goes, how, and that nothing waits for it."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from pyroclast.kube.api.errors import ApiError
from pyroclast.model import wire
from pyroclast.model.api.names import QUEUE_ALLOCATION_GATE
from pyroclast.model.ids import JobId
from pyroclast.model.report import CycleReport
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import Task, TaskStatus
from pyroclast.scheduler.daemon.scheduling_gates import GateRemover, gated_tasks, remove_gate


def task(name: str, *gates: str, opted_in: bool = True) -> Task:
    """Make a task with gates."""
    annotations = {QUEUE_ALLOCATION_GATE: "true"} if opted_in else {}
    pod = wire.Pod(
        metadata=wire.ObjectMeta(name=name, namespace="ns", uid=name, annotations=annotations),
        spec=wire.PodSpec(scheduling_gates=tuple(wire.PodSchedulingGate(name=gate) for gate in gates)),
    )
    made = SimpleNamespace(
        id=name, key=f"ns/{name}", namespace="ns", name=name, gated=bool(gates), status=TaskStatus.PENDING, pod=pod
    )
    return cast("Task", made)


def test_gates_go_that_a_cycle_lifted() -> None:
    """Pods that it saw, in their order."""
    tasks = {each.id: each for each in (task("a", QUEUE_ALLOCATION_GATE), task("b", QUEUE_ALLOCATION_GATE), task("c"))}
    snapshot = cast("Snapshot", SimpleNamespace(jobs={JobId("ns/job"): SimpleNamespace(tasks=tasks)}))

    for lifted in (("b", "gone"), ()):
        report = cast("CycleReport", SimpleNamespace(gates_lifted=lifted))
        assert [each.name for each in gated_tasks(snapshot, report)] == [name for name in lifted if name != "gone"]


async def test_removal_deletes_that_gate_alone() -> None:
    """The patch names the pod by UID and the gate by name."""
    sent: dict[str, Any] = {}

    class Client:
        async def request_json(self, method: str, path: str, **options: Any) -> None:
            sent.update(method=method, path=path, **options)

    await remove_gate(cast("Any", Client()), task("a", QUEUE_ALLOCATION_GATE))

    assert sent["path"] == "/api/v1/namespaces/ns/pods/a"
    assert sent["body"] == {
        "metadata": {"uid": "a"},
        "spec": {"schedulingGates": [{"$patch": "delete", "name": QUEUE_ALLOCATION_GATE}]},
    }


async def test_failed_removal_may_be_offered_again() -> None:
    """A refusal of the server is logged; the next cycle offers the pod anew."""
    tried: list[str] = []

    async def refuse(each: Task) -> None:
        tried.append(each.name)
        raise ApiError(500, "InternalError", "no")

    remover = GateRemover(refuse, workers=1)
    remover.start()
    for _ in range(2):
        remover.offer([task("a", QUEUE_ALLOCATION_GATE)])
        await asyncio.wait_for(remover._waiting.join(), 30)
    await remover.stop()

    assert tried == ["a", "a"]


async def test_pod_that_waits_already_is_not_offered_twice() -> None:
    """Cycles are faster than removals; each pod waits once."""
    remover = GateRemover(remove_nothing, workers=1)
    remover.offer(
        [task("a", QUEUE_ALLOCATION_GATE), task("a", QUEUE_ALLOCATION_GATE), task("b", QUEUE_ALLOCATION_GATE)]
    )

    assert remover._waiting.qsize() == 2


async def test_full_waiting_list_leaves_the_rest_to_the_next_cycle() -> None:
    """Two hundred removals may wait for a worker; offering more neither waits nor fails."""
    remover = GateRemover(remove_nothing, workers=1)
    remover.offer([task(f"p{number}", QUEUE_ALLOCATION_GATE) for number in range(300)])

    assert remover._waiting.qsize() == 200


async def remove_nothing(_: Task) -> None:
    """Do nothing."""


async def test_a_surprise_with_one_gate_does_not_keep_the_others() -> None:
    """The only worker goes on."""
    removed: list[str] = []
    done = asyncio.Event()

    async def remove(each: Task) -> None:
        if each.name == "bad":
            raise RuntimeError("surprise")
        removed.append(each.name)
        done.set()

    remover = GateRemover(remove, workers=1)
    remover.start()
    remover.offer([task("bad", QUEUE_ALLOCATION_GATE), task("good", QUEUE_ALLOCATION_GATE)])
    async with asyncio.timeout(30):
        await done.wait()
    await remover.stop()

    assert removed == ["good"]
