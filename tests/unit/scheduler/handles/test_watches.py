"""Kinds that plugins watch are in the snapshot, within limits, and follow the declarations."""

import pytest

from pyroclast.kube.reflector import ObjectLimit
from pyroclast.model.watched import WatchedKind
from pyroclast.scheduler.handles import handles, watches
from tests.unit.cache.conftest import WatchedCluster
from tests.unit.scheduler.handles.conftest import LICENCES, Handled


async def test_objects_are_in_the_snapshot_and_follow_changes(handled: Handled) -> None:
    """In the order of their names, as plain objects, and a change makes a new snapshot."""
    await handled.licence("b", seats=2)
    await handled.licence("a", seats=1)
    await handled.watch(LICENCES)
    before = handled.cluster.cache.state.snapshot()

    assert [each["spec"] for each in before.objects.of(LICENCES).values()] == [{"seats": 1}, {"seats": 2}]
    await handled.licence("c")
    await handled.delete("a")
    await handled.soon(lambda: handled.names == ["b", "c"])
    assert handled.cluster.cache.state.generation > before.generation
    assert list(before.objects.of(LICENCES)) == ["a", "b"]


async def test_a_kind_that_is_not_declared_any_more_leaves_the_snapshot(handled: Handled) -> None:
    """And comes back with the declaration."""
    await handled.licence("a")
    await handled.watch(LICENCES)
    assert handled.names == ["a"]

    await handled.watch()
    assert handled.names == []
    await handled.watch(LICENCES)
    assert handled.names == ["a"]


async def test_only_selected_objects_are_watched(handled: Handled) -> None:
    """Labels and namespaces select them; each selection is a kind of its own."""
    for name in ("a", "b"):
        await handled.cluster.world.post(
            f"/api/v1/namespaces/{'default' if name == 'a' else 'kube-system'}/configmaps",
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"app": name}}},
        )
    maps = {"version": "v1", "resource": "configmaps", "kind": "ConfigMap"}
    by_label = WatchedKind(**maps, labels={"app": "b"})  # type: ignore[arg-type]  # the others are texts
    by_namespace = WatchedKind(**maps, namespace="default")  # type: ignore[arg-type]  # likewise
    await handled.watch(by_label, by_namespace)
    objects = handled.cluster.cache.state.snapshot().objects

    assert list(objects.of(by_label)) == ["kube-system/b"]
    assert "default/a" in objects.of(by_namespace)
    assert "kube-system/b" not in objects.of(by_namespace)
    assert objects.of(by_label)["kube-system/b"]["apiVersion"] == "v1"


async def test_a_kind_that_the_server_lacks_is_empty(watched: WatchedCluster) -> None:
    """It is watched once it is there."""
    handled = Handled(watched)
    await handled.watch(LICENCES)

    assert handled.names == []
    assert handled.events == []


async def test_a_refused_kind_is_reported_once_with_the_missing_rule(
    handled: Handled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In an event that names the plugin. Cycles do not wait for it for long."""
    monkeypatch.setattr(handles, "_PATIENCE_SECONDS", 0.01)
    handled.cluster.world.faults.add(effect="error", code=403, resource="licences")
    await handled.watch(LICENCES)
    await handled.soon(lambda: bool(dict(handled.handles._watches.troubles())))
    for _ in range(3):
        handled.handles.report()

    ((reason, message),) = handled.events
    assert reason == "WatchFailed"
    assert "plugin seats watches licences.v1.example.com" in message
    assert '{apiGroups: ["example.com"], resources: [licences], verbs: [list, watch]}' in message


async def test_a_kind_beyond_its_limit_is_reported(handled: Handled, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest is held, and the number of objects is a metric."""
    small = ObjectLimit(objects=2, bytes=1 << 20, size=lambda each: each.size)
    monkeypatch.setattr(watches, "LIMIT", small)
    for name in "abc":
        await handled.licence(name)
    await handled.watch(LICENCES)

    assert handled.names == ["a", "b"]
    assert handled.events[0][0] == "WatchFailed"
    assert "only 2 objects" in handled.events[0][1]
    assert handled.metrics.value("pyroclast_plugin_watched_objects", LICENCES.name) == 2


async def test_the_state_with_watched_kinds_can_be_rebuilt(handled: Handled) -> None:
    """The audit finds no difference, and finds one if there is one."""
    await handled.licence("a")
    await handled.watch(LICENCES)

    assert await handled.cluster.cache.audit() == []
    rebuilt = handled.cluster.cache.state.copy_of_objects()()
    assert list(rebuilt.snapshot().objects.of(LICENCES)) == ["a"]
