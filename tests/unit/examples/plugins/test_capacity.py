"""The example of docs/plugins/capacity.md."""

from typing import Any

from pyroclast.model import wire
from tests.unit.examples.page import assert_tells
from tests.unit.plugins.capacity import holding
from tests.unit.plugins.policies import GIB, World, group, node, opened, pod, queue

DEVICES = "deviceclass/gpu.example.com"


def world(*objects: Any, tree: bool = False, level: int = 0) -> World:
    """A session with capacity alone."""
    option = {"name": "capacity", "enableHierarchy": tree, "arguments": {"ancestorReclaimLevel": level}}
    root = [queue("root")] if tree else []
    return opened(node("n", cpu="100", memory="100Gi"), *root, *objects, plugins=[option])


def job(name: str, own: str, cpu: int, memory: int = 1, on: str = "") -> list[Any]:
    """A group with one pod, of GiB of memory."""
    return [group(name, queue=own), pod(name, job=name, cpu=str(cpu), memory=f"{memory}Gi", on=on)]


def share(deserved: tuple[int, int] | None, cpu: int, memory: int) -> str:
    """The share of a queue."""
    amounts = {} if deserved is None else {"cpu": str(deserved[0]), "memory": f"{deserved[1]}Gi"}
    there = world(queue("q", deserved=amounts), *job("a", "q", cpu, memory, on="n"))
    return f"{holding(there).usage[there.queue('q').name].share:g}"


def row(deserved: tuple[int, int], cpu: int, memory: int) -> str:
    """A line of the table."""
    return f"| {deserved[0]} / {deserved[1]} | {cpu} / {memory} | {share(deserved, cpu, memory)} |"


def limits() -> tuple[int, int]:
    """CPUs and GiB that one of two queues with guarantees may have."""
    below = (queue(name, parent="top", guarantee={"cpu": "4", "memory": "3Gi"}) for name in ("left", "right"))
    there = world(queue("top", capability={"cpu": "6", "memory": "4Gi"}), *below, tree=True)
    cpu, memory = holding(there).usage[there.queue("left").name].limit[:2]
    return cpu // 1000, memory // GIB


def goes(level: int) -> bool:
    """Whether a task goes whose queue and its parent have more than they deserve, and its grandparent less."""
    tree = [
        queue(f"{name}-{side}", parent=parent and f"{parent}-{side}", deserved={"cpu": amount})
        for side, amounts in (("a", ("2", "2", "2")), ("b", ("3", "1", "1")))
        for name, parent, amount in zip(("grand", "parent", "queue"), ("", "grand", "parent"), amounts, strict=True)
    ]
    there = world(*tree, *job("mine", "queue-a", 2), *job("theirs", "queue-b", 2, on="n"), tree=True, level=level)
    chosen, _ = holding(there).reclaimable(there.task("mine"), there.tasks("theirs"))
    return bool(chosen)


def claim(name: str, count: int) -> wire.ResourceClaim:
    """A claim for so many devices."""
    exactly = wire.ExactDeviceRequest(device_class_name="gpu.example.com", count=count)
    devices = wire.DeviceClaim(requests=(wire.DeviceRequest(name="r", exactly=exactly),))
    return wire.ResourceClaim(
        metadata=wire.ObjectMeta(name=name, namespace="ns", uid=name), spec=wire.ResourceClaimSpec(devices=devices)
    )


def fits(count: int, most: int = 2, *, shared: bool = False) -> bool:
    """Whether a pod that claims devices may be placed beside one that has a device."""
    claims = ("held", "new")

    def using(name: str, of: str, on: str = "") -> wire.Pod:
        named = (wire.PodResourceClaim(name=of, resource_claim_name=of),)
        return pod(name, job=name, on=on, cpu="", memory="", spec={"resource_claims": named})

    there = world(
        queue("q", capability={DEVICES: str(most)}),
        *map(claim, claims, (1, count)),
        *(group(name, queue="q") for name in ("a", "b")),
        using("a", "held", on="n"),
        using("b", "held" if shared else "new"),
    )
    return holding(there).allocatable(there.queue("q"), there.task("b")) is None


def test_the_page() -> None:
    """Shares, limits below one queue, ancestors, and devices."""
    assert share(None, 1, 1) == share((0, 0), 1, 1)
    assert [goes(level) for level in (0, 1, 2)] == [True, True, False]
    assert [fits(1), fits(2), fits(9, most=1, shared=True)] == [True, False, True]
    cpu, gib = limits()

    assert_tells(
        "plugins/capacity",
        f"| none, or 0 / 0 | 1 / 1 | {share(None, 1, 1)} |",
        row((2, 2), 1, 1),
        row((2, 2), 3, 2),
        row((2, 4), 1, 3),
        "A queue of 6 CPU / 4 GiB stands above two with guarantees of 4 CPU / 3 GiB: "
        f"each may have {cpu} CPU / {gib} GiB.",
        "The queue of a victim and its parent have 2 CPU and deserve 1, the grandparent deserves 3.",
        "With `ancestorReclaimLevel` 0 and 1 the task can be evicted, with 2 it stays.",
        f"With `{DEVICES}: 2` and one device claimed, a pod that claims 1 fits, one that claims 2 does not,",
    )
