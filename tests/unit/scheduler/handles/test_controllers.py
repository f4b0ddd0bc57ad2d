"""Controllers of plugins run while the process leads; their failures affect one object."""

import asyncio
import threading
from collections import Counter
from typing import Any

import pytest

from pyroclast.controllers.runtime.metrics import RECONCILES
from pyroclast.controllers.runtime.writer import NotLeadingError
from pyroclast.framework.extension.contract import PluginController, ReconcileRequest
from pyroclast.scheduler.handles import controllers
from tests.unit.scheduler.handles.conftest import LICENCES, Handled


class Counted:
    """Counts the calls for each object."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.last: dict[str, ReconcileRequest] = {}

    async def reconcile(self, request: ReconcileRequest) -> None:
        """Count a call."""
        self.calls[request.name] += 1
        self.last[request.name] = request


async def test_all_objects_are_reconciled_and_then_those_that_change(handled: Handled) -> None:
    """A deleted one has no object."""
    await handled.licence("a", seats=1)
    counted = Counted()
    handled.handles.controllers.lead()
    await handled.control(counted.reconcile)
    await handled.soon(lambda: counted.calls["a"] == 1)
    request = counted.last["a"]
    assert request.object is not None
    assert (request.namespace, request.object["spec"]) == ("", {"seats": 1})
    assert list(request.objects(LICENCES)) == ["a"]

    await handled.licence("b")
    await handled.soon(lambda: counted.calls["b"] == 1)
    await handled.delete("a")
    await handled.soon(lambda: counted.last["a"].object is None)


async def test_controllers_run_only_while_the_process_leads(handled: Handled) -> None:
    """They are stopped with the leader, and a metric shows it."""
    await handled.licence("a")
    counted = Counted()
    await handled.control(counted.reconcile)
    handled.handles.report()
    assert handled.handles.controllers.running == ()

    handled.handles.controllers.lead()
    await handled.soon(lambda: counted.calls["a"] == 1)
    handled.handles.report()
    assert handled.metrics.value("pyroclast_plugin_controller_running", "seats", "count") == 1
    await handled.handles.controllers.retire()
    handled.handles.report()
    assert handled.metrics.value("pyroclast_plugin_controller_running", "seats", "count") is None
    await handled.licence("b")
    await handled.soon(lambda: handled.names == ["a", "b"])
    assert counted.calls["b"] == 0


async def test_a_process_that_leads_already_starts_no_second_controller(handled: Handled) -> None:
    """The controllers run once."""
    handled.handles.controllers.lead()
    await handled.control(Counted().reconcile)
    handled.handles.controllers.lead()

    assert handled.handles.controllers.running == (("seats", "count"),)


async def test_a_controller_writes_through_its_api(handled: Handled) -> None:
    """Reads, creates, patches the status, and deletes."""
    await handled.licence("a")
    found: dict[str, Any] = {}

    async def reconcile(request: ReconcileRequest) -> None:
        if request.name != "a" or request.object is None:
            return
        await request.api.merge(LICENCES, request.object, {"status": {"used": 3}}, subresource="status")
        for _ in range(2):  # as after a kill
            found["created"] = await request.api.create(LICENCES, {"metadata": {"name": "b"}})
        found["none"] = await request.api.read(LICENCES, "", "c")
        found["deleted"] = [await request.api.delete(LICENCES, found["created"]) for _ in range(2)]

    handled.handles.controllers.lead()
    await handled.control(reconcile)
    await handled.soon(lambda: "deleted" in found)

    assert (await handled.read("a"))["status"] == {"used": 3}
    assert (found["created"]["metadata"]["name"], found["none"], found["deleted"]) == ("b", None, [True, False])


async def test_a_stopped_controller_cannot_write(handled: Handled) -> None:
    """Not with a request that it kept, nor when another process may lead."""
    await handled.licence("a")
    counted = Counted()
    handled.handles.controllers.lead()
    await handled.control(counted.reconcile)
    await handled.soon(lambda: counted.calls["a"] == 1)
    api = counted.last["a"].api

    handled.is_leader = False
    with pytest.raises(NotLeadingError):
        await api.create(LICENCES, {"metadata": {"name": "b"}})
    handled.is_leader = True
    await handled.handles.controllers.retire()
    with pytest.raises(NotLeadingError):
        await api.create(LICENCES, {"metadata": {"name": "b"}})


@pytest.mark.parametrize("name", ["../pods", "A", "a/b"])
async def test_a_namespace_that_is_no_namespace_is_refused(handled: Handled, name: str) -> None:
    """It would lead to another path."""
    await handled.licence("a")
    counted = Counted()
    handled.handles.controllers.lead()
    await handled.control(counted.reconcile)
    await handled.soon(lambda: counted.calls["a"] == 1)

    with pytest.raises(ValueError, match="namespace"):
        await counted.last["a"].api.create(LICENCES, {"metadata": {"name": "b", "namespace": name}})


class BadTextError(Exception):
    """An exception whose text raises."""

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("failure", "text"),
    [
        (ValueError("no seats"), "ValueError: no seats"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (asyncio.CancelledError(), "CancelledError"),
        (TimeoutError("slow"), "TimeoutError: slow"),
        (BadTextError(), "BadTextError: (its text raises RuntimeError)"),
    ],
)
async def test_a_failure_is_reported_once_and_affects_one_object(
    handled: Handled, failure: BaseException, text: str
) -> None:
    """The others are reconciled, and the object is tried again until it succeeds."""
    for name in ("bad", "good"):
        await handled.licence(name)
    calls: Counter[str] = Counter()
    before = RECONCILES.labels("seats/count", "failed")._value.get()

    async def reconcile(request: ReconcileRequest) -> None:
        calls[request.name] += 1
        if request.name == "bad" and calls["bad"] < 4:
            raise failure

    handled.handles.controllers.lead()
    await handled.control(reconcile)
    await handled.soon(lambda: calls["bad"] == 4 and calls["good"] == 1)

    assert RECONCILES.labels("seats/count", "failed")._value.get() == before + 3
    ((reason, message),) = handled.events
    assert reason == "PluginFailed"
    assert message.startswith(f"controller count of plugin seats failed at bad: {text}")


@pytest.mark.parametrize("answer", [-1, "5", float("nan"), True])
async def test_a_wrong_answer_is_a_failure(handled: Handled, answer: Any) -> None:
    """Only seconds or None are answers."""
    await handled.licence("a")

    async def reconcile(_: ReconcileRequest) -> Any:
        return answer

    handled.handles.controllers.lead()
    await handled.control(reconcile)
    await handled.soon(lambda: bool(handled.events))

    assert "expected seconds or None" in handled.events[0][1]


async def test_a_call_that_lasts_too_long_is_cancelled(handled: Handled, monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts as a failure."""
    monkeypatch.setattr(controllers, "MOST_SECONDS", 0.01)
    await handled.licence("a")

    async def reconcile(_: ReconcileRequest) -> None:
        await asyncio.Event().wait()

    handled.handles.controllers.lead()
    await handled.control(reconcile)
    await handled.soon(lambda: bool(handled.events))

    assert "it did not return in 0.01 s" in handled.events[0][1]


async def test_a_controller_that_ignores_its_cancellation_does_not_hold_up_the_process(handled: Handled) -> None:
    """It is left behind, and cannot write any more."""
    await handled.licence("a")
    begun, released = threading.Event(), threading.Event()

    async def reconcile(_: ReconcileRequest) -> None:
        begun.set()
        while not released.is_set():
            try:
                await asyncio.sleep(0.001)
            except asyncio.CancelledError:
                continue

    handled.handles.controllers.lead()
    await handled.control(reconcile)
    await handled.soon(begun.is_set)
    await asyncio.wait_for(handled.handles.controllers.retire(), 30)
    assert handled.handles.controllers.running == ()
    released.set()


async def test_a_call_that_blocks_its_thread_stops_the_controllers_of_its_plugin_alone(
    handled: Handled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon and the controllers of other plugins continue. Other declarations start the plugin again."""
    monkeypatch.setattr(controllers, "MOST_SECONDS", 0.01)
    monkeypatch.setattr(controllers, "_BLOCKED_SECONDS", 0.01)
    await handled.licence("a")
    released, counted = threading.Event(), Counted()

    async def reconcile(_: ReconcileRequest) -> None:
        released.wait()

    handled.handles.controllers.lead()
    await handled.control(reconcile, others={"rooms": counted.reconcile})
    await handled.soon(lambda: handled.handles.controllers.running == (("rooms", "count"),))
    await handled.licence("b")
    await handled.soon(lambda: counted.calls["b"] == 1)
    messages = [message for _, message in handled.events]
    assert "a call blocks the thread of plugin seats, so its controllers are stopped: count" in messages

    again = Counted()
    await handled.control(again.reconcile)
    await handled.soon(lambda: again.calls["a"] == 1)
    released.set()


async def test_code_of_a_controller_runs_in_a_thread_of_its_plugin(handled: Handled) -> None:
    """Its requests are sent by the event loop of the daemon."""
    await handled.licence("a")
    threads: set[str] = set()
    found: list[Any] = []

    async def reconcile(request: ReconcileRequest) -> None:
        threads.add(threading.current_thread().name)
        found.append(await request.api.read(LICENCES, "", "a"))

    handled.handles.controllers.lead()
    await handled.control(reconcile)
    await handled.soon(lambda: bool(found))

    assert threads == {"plugin-seats"}
    assert found[0]["metadata"]["name"] == "a"


async def test_calls_beyond_the_burst_are_slowed_down(handled: Handled) -> None:
    """A controller that asks for the next call at once gets ten calls a second in the long run."""
    pace = controllers._Pace(handled.cluster.clock)
    begun = handled.cluster.clock.now
    for _ in range(300):
        await pace.take()

    assert handled.cluster.clock.now - begun == pytest.approx(20.0)


async def test_a_deleted_object_is_given_up_after_ten_failures(
    handled: Handled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else bounds the number of deleted objects."""
    monkeypatch.setattr(controllers, "_MOST_TRIES_AT_DELETED", 3)
    await handled.licence("a")
    calls: Counter[bool] = Counter()

    async def reconcile(request: ReconcileRequest) -> None:
        calls[request.object is None] += 1
        if request.object is None:
            raise ValueError

    handled.handles.controllers.lead()
    await handled.control(reconcile)
    await handled.soon(lambda: calls[False] == 1)
    await handled.delete("a")
    (running,) = handled.handles.controllers._running
    await handled.soon(lambda: calls[True] == 4 and not running.failing)
    assert running.queue is not None
    queue = running.queue
    await handled.soon(lambda: queue.failures(("", "a")) == 0)


async def test_other_declarations_replace_the_controllers(handled: Handled) -> None:
    """As after a reload of the configuration or of the file of a plugin."""
    await handled.licence("a")
    first, second = Counted(), Counted()
    handled.handles.controllers.lead()
    await handled.control(first.reconcile)
    await handled.soon(lambda: first.calls["a"] == 1)
    await handled.control(second.reconcile)
    await handled.soon(lambda: second.calls["a"] == 1)
    await handled.licence("b")
    await handled.soon(lambda: second.calls["b"] == 1)

    assert first.calls == {"a": 1}


async def test_controllers_that_are_replaced_twice_at_once_run_once(handled: Handled) -> None:
    """The last declarations count, also if the controllers before them are still being stopped."""
    running, reconcile = handled.handles.controllers, Counted().reconcile
    running.lead()
    await handled.control(reconcile)
    first, last = (
        {f"{plugin}/count": (plugin, PluginController(name="count", kind=LICENCES, reconcile=reconcile))}
        for plugin in ("first", "last")
    )
    await asyncio.gather(running.replace(first), running.replace(last))

    assert running.running == (("last", "count"),)
