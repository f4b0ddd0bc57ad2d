"""Watches over HTTP: replay, filters, bookmarks, the end of history."""

from pyroclast.emulator.run import Emulator
from tests.unit.emulator.wire import MERGE, PODS, Client, pod


async def test_a_watch_resumes_where_a_list_ended(client: Client) -> None:
    """Events after the list's revision come, older ones do not."""
    await client.post(PODS, pod("a"))
    version = (await client.get(PODS)).body["metadata"]["resourceVersion"]
    await client.post(PODS, pod("b"))

    async with client.watch(f"{PODS}?resourceVersion={version}") as events:
        await client.bind("a")
        assert await events.names(2) == [("ADDED", "b"), ("MODIFIED", "a")]


async def test_objects_enter_and_leave_a_selection(client: Client) -> None:
    """A label that starts to match shows as ADDED, one that stops as DELETED with the old state."""
    async with client.watch(f"{PODS}?labelSelector=tier%3Dgold&resourceVersion=1") as events:
        await client.post(PODS, pod("a"))
        for tier in ("gold", "lead"):
            await client.send("PATCH", f"{PODS}/a", {"metadata": {"labels": {"tier": tier}}}, kind=MERGE)
        (first, entered), (second, left) = await events.take(2)

    assert (first, second) == ("ADDED", "DELETED")
    assert entered["metadata"]["labels"] == left["metadata"]["labels"] == {"tier": "gold"}
    assert int(left["metadata"]["resourceVersion"]) > int(entered["metadata"]["resourceVersion"])


async def test_finished_pods_leave_a_watch_of_the_living(client: Client) -> None:
    """The scheduler's field selector: an ended pod arrives as DELETED."""
    selector = "status.phase!%3DSucceeded,status.phase!%3DFailed"
    async with client.watch(f"/api/v1/pods?fieldSelector={selector}&resourceVersion=1") as events:
        await client.post(PODS, pod("a"))
        await client.send("PATCH", f"{PODS}/a/status", {"status": {"phase": "Succeeded"}}, kind=MERGE)
        assert await events.names(2) == [("ADDED", "a"), ("DELETED", "a")]


async def test_initial_events_end_with_a_bookmark(client: Client) -> None:
    """WatchList: what exists, then the annotated bookmark, then changes."""
    await client.post(PODS, pod("a"))
    query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    async with client.watch(f"{PODS}?{query}") as events:
        (first, _), (second, mark) = await events.take(2)

    assert (first, second) == ("ADDED", "BOOKMARK")
    assert mark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_bookmarks_come_by_themselves(emulator: Emulator, client: Client) -> None:
    """A quiet watch learns the newest revision, whatever made it."""
    async with client.watch(f"{PODS}?resourceVersion=1&allowWatchBookmarks=true") as events:
        await client.post("/api/v1/nodes", {"metadata": {"name": "n1"}})
        marks = [body["metadata"]["resourceVersion"] for _, body in await events.take(2)]

    assert marks[-1] == str(emulator.store.revision)


async def test_a_compacted_revision_is_gone(emulator: Emulator, client: Client) -> None:
    """The stream begins, and says 410 in its first event."""
    await client.post(PODS, pod("a"))
    emulator.store.compact()

    async with client.watch(f"{PODS}?resourceVersion=1") as events:
        ((kind, body),) = await events.take()

    assert (kind, body["code"], body["reason"]) == ("ERROR", 410, "Expired")


async def test_a_watch_ends_after_its_timeout(client: Client) -> None:
    """`timeoutSeconds` closes the stream cleanly."""
    async with client.watch(f"{PODS}?resourceVersion=1&timeoutSeconds=1") as events:
        assert await events.response.content.read() == b""


async def test_tables_are_watched_too(client: Client) -> None:
    """Kubectl's watch gets rows."""
    client.session.headers["Accept"] = "application/json;as=Table;g=meta.k8s.io;v=v1"
    async with client.watch(f"{PODS}?resourceVersion=1") as events:
        await client.post(PODS, pod("a"))
        ((_, table),) = await events.take()

    assert table["kind"] == "Table"
    assert table["rows"][0]["cells"][0] == "a"
