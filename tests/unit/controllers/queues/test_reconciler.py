"""Queues open, close and count on a server, with controllers killed at any time."""

from typing import Any

import pytest
from prometheus_client import REGISTRY

from pyroclast.controllers.queues.reconciler import build
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.kube.api.resources import COMMANDS, POD_GROUPS, QUEUES
from tests.unit.controllers.ground import Ground, SetClock

QUEUE = QUEUES.collection()
GROUPS = POD_GROUPS.collection("default")
COMMAND = COMMANDS.collection("default")


def controllers(ground: Ground, **options: Any) -> Operator:
    """The controller alone."""
    operator = ground.operator()
    build(operator, ControllerOptions(**options))
    return operator


async def make_queue(ground: Ground, name: str, parent: str = "root") -> dict[str, Any]:
    """Create a queue."""
    spec = {"parent": parent} if parent else {}
    made: dict[str, Any] = await ground.post(
        QUEUE, {"apiVersion": QUEUES.api_version, "kind": "Queue", "metadata": {"name": name}, "spec": spec}
    )
    return made


async def make_group(ground: Ground, name: str, queue: str, phase: str = "Pending") -> None:
    """Create a group in a queue."""
    await ground.post(
        GROUPS,
        {
            "apiVersion": POD_GROUPS.api_version,
            "kind": "PodGroup",
            "metadata": {"name": name},
            "spec": {"queue": queue, "minMember": 1},
            **({"status": {"phase": phase}} if phase else {}),
        },
    )


async def command(ground: Ground, action: str, queue: str, *, uid: str = "") -> dict[str, Any]:
    """Ask for an action, as vcctl does."""
    target = await ground.get(f"{QUEUE}/{queue}")
    reference = {
        "apiVersion": QUEUES.api_version,
        "kind": "Queue",
        "name": queue,
        "uid": uid or target["metadata"]["uid"],
    }
    made: dict[str, Any] = await ground.post(
        COMMAND,
        {
            "apiVersion": COMMANDS.api_version,
            "kind": "Command",
            "metadata": {"generateName": f"{queue}-{action.lower()}-"},
            "action": action,
            "target": reference,
        },
    )
    return made


async def until(ground: Ground, queue: str, state: str) -> dict[str, Any]:
    """Wait until a queue is in a state; return it."""
    found: dict[str, Any] = {}

    async def is_there() -> bool:
        nonlocal found
        found = await ground.get(f"{QUEUE}/{queue}")
        return bool(found.get("status", {}).get("state") == state)

    await ground.soon(is_there)
    return found


async def until_obeyed(ground: Ground) -> None:
    """Wait until no command is left."""

    async def is_empty() -> bool:
        return await ground.names(COMMAND) == []

    await ground.soon(is_empty)


async def test_a_new_queue_is_open_below_the_root(ground: Ground) -> None:
    """State and parent are written where they lack."""
    async with ground.working(controllers(ground)):
        await make_queue(ground, "root", parent="")
        await make_queue(ground, "q", parent="")
        queue = await until(ground, "q", "Open")
        root = await until(ground, "root", "Open")

    assert queue["spec"]["parent"] == "root"
    assert "parent" not in root["spec"]


async def test_a_queue_that_admission_refuses_is_kept_all_the_same(ground: Ground) -> None:
    """It was created while no webhook answered: its owner gets one event, and it opens and closes like any other."""
    ground.emulator.faults.add(effect="error", resource="queues", verb="patch", subresource="", code=403, count=1)
    async with ground.working(controllers(ground)):
        await make_queue(ground, "q", parent="")
        queue = await until(ground, "q", "Open")
        assert "parent" not in queue["spec"]
        await command(ground, "CloseQueue", "q")
        await until(ground, "q", "Closed")

        async def is_told() -> bool:
            events = await ground.get("/api/v1/namespaces/default/events")
            return ("Invalid", "injected by the test") in [(e["reason"], e["message"]) for e in events["items"]]

        await ground.soon(is_told)
        await ground.patch(f"{QUEUE}/q", {"spec": {"weight": 2}})

        async def is_below_the_root() -> bool:
            return bool((await ground.get(f"{QUEUE}/q"))["spec"].get("parent") == "root")

        await ground.soon(is_below_the_root)


async def test_a_queue_closes_when_its_last_gang_is_gone(ground: Ground) -> None:
    """Vector 11: closing, closed, open again."""
    async with ground.working(controllers(ground)):
        await make_queue(ground, "root", parent="")
        await make_queue(ground, "q")
        await make_group(ground, "g", "q")
        await until(ground, "q", "Open")
        await command(ground, "CloseQueue", "q")
        await until(ground, "q", "Closing")
        await until_obeyed(ground)
        await ground.delete(f"{GROUPS}/g")
        await until(ground, "q", "Closed")
        await command(ground, "OpenQueue", "q")
        await until(ground, "q", "Open")
        await until_obeyed(ground)

        async def is_told() -> bool:
            events = await ground.get("/api/v1/namespaces/default/events")
            return ("q", "CloseQueue", "Close queue succeed") in [
                (event["involvedObject"]["name"], event["reason"], event["message"]) for event in events["items"]
            ]

        await ground.soon(is_told)


async def test_a_queue_that_is_created_again_closes_with_the_gangs_that_it_finds(ground: Ground) -> None:
    """volcano#5960: a gang outlives its queue; a queue of the same name is Closing until that gang is gone."""
    async with ground.working(controllers(ground)):
        await make_queue(ground, "root", parent="")
        await make_queue(ground, "phoenix")
        await make_group(ground, "long", "phoenix", "Running")
        first = await until(ground, "phoenix", "Open")
        await ground.delete(f"{QUEUE}/phoenix")
        await make_queue(ground, "phoenix")
        second = await until(ground, "phoenix", "Open")
        assert first["metadata"]["uid"] != second["metadata"]["uid"]
        await command(ground, "CloseQueue", "phoenix")
        await until(ground, "phoenix", "Closing")
        await ground.patch(f"{QUEUE}/phoenix", {"spec": {"weight": 3}})
        closing = await until(ground, "phoenix", "Closing")
        await ground.delete(f"{GROUPS}/long")
        await until(ground, "phoenix", "Closed")

    assert closing["spec"]["weight"] == 3


async def test_a_tree_closes_and_opens_from_the_top(ground: Ground) -> None:
    """Vector 12, three levels deep; a child that was closed by hand stays closed."""
    async with ground.working(controllers(ground)):
        await make_queue(ground, "root", parent="")
        await make_queue(ground, "top")
        await make_queue(ground, "middle", "top")
        await make_queue(ground, "leaf", "middle")
        await make_queue(ground, "by-hand", "top")
        for name in ("top", "middle", "leaf", "by-hand"):
            await until(ground, name, "Open")
        await command(ground, "CloseQueue", "by-hand")
        await until(ground, "by-hand", "Closed")

        await command(ground, "CloseQueue", "top")
        leaf = await until(ground, "leaf", "Closed")
        assert leaf["metadata"]["annotations"] == {"volcano.sh/closed-by-parent": "true"}

        await command(ground, "OpenQueue", "top")
        leaf = await until(ground, "leaf", "Open")
        await until(ground, "middle", "Open")
        by_hand = await until(ground, "by-hand", "Closed")

        async def is_noted() -> bool:
            found = await ground.get(f"{QUEUE}/leaf")
            return bool(found["metadata"]["annotations"] == {"volcano.sh/closed-by-parent": "false"})

        await ground.soon(is_noted)
    assert "annotations" not in by_hand["metadata"]


async def test_a_child_opens_after_its_parent_even_if_its_command_is_older(ground: Ground) -> None:
    """The command waits for the parent."""
    async with ground.working(controllers(ground)):
        await make_queue(ground, "root", parent="")
        await make_queue(ground, "p")
        await make_queue(ground, "c", "p")
        await until(ground, "c", "Open")
        await command(ground, "CloseQueue", "c")
        await until(ground, "c", "Closed")
        await command(ground, "CloseQueue", "p")
        await until(ground, "p", "Closed")
        await command(ground, "OpenQueue", "c")
        await command(ground, "OpenQueue", "p")
        await until(ground, "c", "Open")
        await until_obeyed(ground)


async def test_a_command_waits_on_when_the_clock_is_set(ground: Ground) -> None:
    """An hour forwards is no reason to give it up."""
    clock = SetClock()
    build(operator := ground.operator(clock), ControllerOptions())
    async with ground.working(operator):
        await make_queue(ground, "root", parent="")
        await make_queue(ground, "p")
        await make_queue(ground, "c", "p")
        await until(ground, "c", "Open")
        await command(ground, "CloseQueue", "p")
        await until(ground, "c", "Closed")
        await until_obeyed(ground)
        await command(ground, "OpenQueue", "c")
        await ground.soon(lambda: len(operator.store(COMMANDS).values()) == 1)
        await operator.idle()
        clock.ahead = 3600.0
        await make_group(ground, "g", "c")

        async def is_looked_at() -> bool:
            return bool((await ground.get(f"{QUEUE}/c"))["status"].get("pending") == 1)

        await ground.soon(is_looked_at)
        assert len(await ground.names(COMMAND)) == 1
        await command(ground, "OpenQueue", "p")
        await until(ground, "c", "Open")
        await until_obeyed(ground)


async def test_the_newest_command_counts(ground: Ground) -> None:
    """Several that were written between reconciliations are one."""
    await make_queue(ground, "root", parent="")
    await make_queue(ground, "q")
    for action in ("CloseQueue", "OpenQueue", "CloseQueue", "AbortJob"):
        await command(ground, action, "q")
    async with ground.working(controllers(ground)):
        await until(ground, "q", "Closed")
        await until_obeyed(ground)

    assert (await ground.get(f"{QUEUE}/q"))["status"]["state"] == "Closed"


async def test_a_command_for_a_queue_that_was_replaced_has_no_effect(ground: Ground) -> None:
    """Its UID says which was meant."""
    async with ground.working(controllers(ground)):
        await make_queue(ground, "root", parent="")
        await make_queue(ground, "q")
        await until(ground, "q", "Open")
        await command(ground, "CloseQueue", "q", uid="another")
        await until_obeyed(ground)

    assert (await ground.get(f"{QUEUE}/q"))["status"]["state"] == "Open"


async def test_commands_are_left_alone_where_they_are_not_obeyed(ground: Ground) -> None:
    """Feature gate QueueCommandSync."""
    async with ground.working(operator := controllers(ground, obeys_queue_commands=False)):
        await make_queue(ground, "root", parent="")
        await make_queue(ground, "q")
        await command(ground, "CloseQueue", "q")
        await until(ground, "q", "Open")
        await operator.queues["queue"].idle()

    assert len(await ground.names(COMMAND)) == 1


async def test_what_a_queue_holds_is_counted(ground: Ground) -> None:
    """In its status and as gauges that go with it."""

    def gauge(phase: str) -> float | None:
        return REGISTRY.get_sample_value(f"volcano_queue_pod_group_{phase}_count", {"queue_name": "counted"})

    async with ground.working(controllers(ground)):
        await make_queue(ground, "root", parent="")
        await make_queue(ground, "counted")
        for number, phase in enumerate(("Pending", "", "Inqueue", "Running", "Completed", "Unknown")):
            await make_group(ground, f"g{number}", "counted", phase)

        async def is_counted() -> bool:
            status = (await ground.get(f"{QUEUE}/counted")).get("status", {})
            return [status.get(field) for field in ("pending", "inqueue", "running", "completed", "unknown")] == [
                2,
                1,
                1,
                1,
                1,
            ]

        await ground.soon(is_counted)
        assert [gauge(phase) for phase in ("pending", "inqueue", "running", "completed", "unknown")] == [2, 1, 1, 1, 1]
        await ground.patch(f"{GROUPS}/g0", {"status": {"phase": "Inqueue"}})
        await ground.soon(lambda: (gauge("pending"), gauge("inqueue")) == (1, 2))
        await ground.delete(f"{QUEUE}/counted")
        await ground.soon(lambda: gauge("pending") is None)


async def test_what_the_scheduler_writes_is_kept(ground: Ground) -> None:
    """Both write into one status."""
    async with ground.working(controllers(ground)):
        await make_queue(ground, "root", parent="")
        await make_queue(ground, "q")
        await until(ground, "q", "Open")
        await ground.patch(f"{QUEUE}/q/status", {"status": {"allocated": {"cpu": "4"}}})
        await command(ground, "CloseQueue", "q")
        queue = await until(ground, "q", "Closed")

    assert queue["status"]["allocated"] == {"cpu": "4"}


@pytest.mark.parametrize("writes", [1, 2, 3])
async def test_killed_after_any_write_the_end_is_the_same(ground: Ground, writes: int) -> None:
    """Processes that end after one, two or three writes, one after another, close and open a whole tree."""
    await make_queue(ground, "root", parent="")
    for name, parent in (("top", "root"), ("middle", "top"), ("leaf", "middle")):
        await make_queue(ground, name, parent)

    async def until_rest(state: str) -> None:
        while await ground.live_and_die(lambda operator: build(operator, ControllerOptions()), writes=writes):
            pass
        queues = [await ground.get(f"{QUEUE}/{name}") for name in ("top", "middle", "leaf")]
        assert [queue["status"]["state"] for queue in queues] == [state] * 3
        assert await ground.names(COMMAND) == []

    await until_rest("Open")
    await command(ground, "CloseQueue", "top")
    await until_rest("Closed")
    await command(ground, "OpenQueue", "top")
    await until_rest("Open")
