"""Tables: what kubectl shows of each kind."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.emulator.tables.ages import age_text, duration_text
from pyroclast.emulator.tables.jsonpaths import JsonPathError, find
from pyroclast.emulator.tables.tablecells import BUILT_IN
from pyroclast.emulator.tables.tables import table_columns, table_row

NOW = "2026-01-01T01:00:00Z"
CREATED = {"name": "x", "creationTimestamp": "2026-01-01T00:00:00Z"}
WORDS = st.sampled_from(
    ["metadata", "name", "spec", "status", "containers", "containerStatuses", "state", "terminated", "conditions"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=15,
)


def shown(group: str, resource: str, obj: dict[str, Any]) -> dict[str, Any]:
    """An object's cells by the titles of their columns."""
    columns = table_columns(group, resource, None)
    return dict(zip([column["name"] for column in columns], table_row(obj, columns, NOW), strict=True))


def pod(**status: Any) -> dict[str, Any]:
    """A pod of two containers with this status."""
    return {
        "metadata": CREATED,
        "spec": {"containers": [{"name": "a"}, {"name": "b"}], "nodeName": "n1"},
        "status": {"phase": "Running", **status},
    }


def container(name: str, *, ready: bool = False, restarts: int = 0, **state: Any) -> dict[str, Any]:
    """A container status."""
    return {"name": name, "ready": ready, "restartCount": restarts, "state": state}


def test_pods_are_shown_as_by_kubectl() -> None:
    """A running pod: ready containers, restarts with their age, and the wide columns."""
    cells = shown(
        "",
        "pods",
        pod(
            podIPs=[{"ip": "10.0.0.1"}],
            containerStatuses=[
                container("a", ready=True, running={}),
                container("b", running={}, restarts=2)
                | {"lastState": {"terminated": {"finishedAt": "2026-01-01T00:55:00Z"}}},
            ],
        ),
    )

    assert cells == {
        "Name": "x",
        "Ready": "1/2",
        "Status": "Running",
        "Restarts": "2 (5m ago)",
        "Age": "60m",
        "IP": "10.0.0.1",
        "Node": "n1",
        "Nominated Node": "<none>",
        "Readiness Gates": "<none>",
    }


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ({"phase": "Pending"}, "Pending"),
        ({"phase": "Failed", "reason": "OutOfcpu"}, "OutOfcpu"),
        (
            {
                "phase": "Pending",
                "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}],
            },
            "SchedulingGated",
        ),
        ({"containerStatuses": [container("a", waiting={"reason": "CrashLoopBackOff"})]}, "CrashLoopBackOff"),
        (
            {
                "phase": "Succeeded",
                "containerStatuses": [container("a", terminated={"reason": "Completed", "exitCode": 0})],
            },
            "Completed",
        ),
        ({"phase": "Failed", "containerStatuses": [container("a", terminated={"exitCode": 3})]}, "ExitCode:3"),
        (
            {
                "conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [
                    container("a", terminated={"reason": "Completed", "exitCode": 0}),
                    container("b", ready=True, running={}),
                ],
            },
            "Running",
        ),
        ({"phase": "Pending", "initContainerStatuses": [container("i", running={})]}, "Init:0/0"),
        (
            {
                "phase": "Pending",
                "initContainerStatuses": [container("i", terminated={"exitCode": 1, "reason": "Error"})],
            },
            "Init:Error",
        ),
    ],
)
def test_a_pods_status_is_the_most_telling_word(status: dict[str, Any], word: str) -> None:
    """Reasons of containers, gates and the kubelet come before the phase."""
    assert shown("", "pods", pod(**status))["Status"] == word


def test_a_pod_being_deleted_is_terminating() -> None:
    """Deletion shows until the pod has ended."""
    running = pod()
    running["metadata"] = CREATED | {"deletionTimestamp": NOW}
    ended = pod(phase="Succeeded")
    ended["metadata"] = running["metadata"]

    assert shown("", "pods", running)["Status"] == "Terminating"
    assert shown("", "pods", ended)["Status"] == "Succeeded"


def test_nodes_show_status_roles_and_version() -> None:
    """A cordoned control plane node."""
    cells = shown(
        "",
        "nodes",
        {
            "metadata": CREATED | {"labels": {"node-role.kubernetes.io/control-plane": ""}},
            "spec": {"unschedulable": True},
            "status": {
                "conditions": [{"type": "Ready", "status": "True"}],
                "nodeInfo": {"kubeletVersion": "v1.36.1"},
                "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
            },
        },
    )

    assert cells["Status"] == "Ready,SchedulingDisabled"
    assert cells["Roles"] == "control-plane"
    assert cells["Version"] == "v1.36.1"
    assert cells["Internal-IP"] == "10.0.0.1"
    assert cells["OS-Image"] == "<unknown>"


def test_events_show_last_seen_and_object() -> None:
    """The last time counts; the object is its kind and name."""
    cells = shown(
        "",
        "events",
        {
            "metadata": {"name": "e"},
            "type": "Warning",
            "reason": "FailedScheduling",
            "message": "no room\n",
            "involvedObject": {"kind": "Pod", "name": "p"},
            "firstTimestamp": "2026-01-01T00:00:00Z",
            "lastTimestamp": "2026-01-01T00:59:50Z",
            "count": 7,
            "source": {"component": "scheduler"},
        },
    )

    assert cells["Last Seen"] == "10s"
    assert cells["Object"] == "pod/p"
    assert cells["Message"] == "no room"
    assert cells["Count"] == 7
    assert cells["Source"] == "scheduler"


def test_events_with_event_time_alone_are_dated_too() -> None:
    """An event of the newer kind has neither first nor last time."""
    assert shown("", "events", {"eventTime": "2026-01-01T00:59:00.000000Z"})["Last Seen"] == "60s"


@pytest.mark.parametrize(
    ("group", "resource", "obj", "cells"),
    [
        ("", "namespaces", {"status": {"phase": "Active"}}, {"Status": "Active"}),
        ("", "configmaps", {"data": {"a": ""}, "binaryData": {"b": ""}}, {"Data": 2}),
        (
            "",
            "services",
            {"spec": {"type": "NodePort", "clusterIP": "10.0.0.1", "ports": [{"port": 80, "nodePort": 3000}]}},
            {"Cluster-IP": "10.0.0.1", "External-IP": "<none>", "Port(s)": "80:3000/TCP", "Selector": "<none>"},
        ),
        (
            "apps",
            "deployments",
            {
                "spec": {
                    "replicas": 3,
                    "selector": {
                        "matchLabels": {"a": "b"},
                        "matchExpressions": [{"key": "c", "operator": "In", "values": ["e", "d"]}],
                    },
                    "template": {"spec": {"containers": [{"name": "m", "image": "i"}]}},
                },
                "status": {"readyReplicas": 2, "updatedReplicas": 3},
            },
            {"Ready": "2/3", "Up-to-date": 3, "Available": 0, "Images": "i", "Selector": "a=b,c in (d,e)"},
        ),
        ("apps", "statefulsets", {"status": {"readyReplicas": 1}}, {"Ready": "1/1"}),
        (
            "batch",
            "jobs",
            {
                "spec": {"completions": 2},
                "status": {
                    "succeeded": 2,
                    "startTime": "2026-01-01T00:00:00Z",
                    "completionTime": "2026-01-01T00:00:30Z",
                    "conditions": [{"type": "Complete", "status": "True"}],
                },
            },
            {"Status": "Complete", "Completions": "2/2", "Duration": "30s"},
        ),
        ("coordination.k8s.io", "leases", {"spec": {"holderIdentity": "h"}}, {"Holder": "h"}),
        (
            "scheduling.k8s.io",
            "priorityclasses",
            {"value": 5},
            {"Value": 5, "Global-Default": False, "PreemptionPolicy": "PreemptLowerPriority"},
        ),
        (
            "policy",
            "poddisruptionbudgets",
            {"spec": {"minAvailable": "50%"}, "status": {"disruptionsAllowed": 1}},
            {"Min Available": "50%", "Max Unavailable": "N/A", "Allowed Disruptions": 1},
        ),
        (
            "",
            "persistentvolumeclaims",
            {
                "spec": {"volumeName": "v", "storageClassName": "s"},
                "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]},
            },
            {"Status": "Bound", "Capacity": "1Gi", "Access Modes": "RWO", "StorageClass": "s"},
        ),
        (
            "storage.k8s.io",
            "storageclasses",
            {
                "metadata": {"name": "s", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
                "provisioner": "p",
            },
            {"Name": "s (default)", "Provisioner": "p", "VolumeBindingMode": "Immediate"},
        ),
        (
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            {"metadata": CREATED},
            {"Name": "x", "Created At": "2026-01-01T00:00:00Z"},
        ),
        (
            "",
            "resourcequotas",
            {"status": {"hard": {"cpu": "2", "limits.cpu": "4"}, "used": {"cpu": "1"}}},
            {"Request": "cpu: 1/2", "Limit": "limits.cpu: 0/4"},
        ),
    ],
)
def test_built_in_kinds(group: str, resource: str, obj: dict[str, Any], cells: dict[str, Any]) -> None:
    """The columns that are peculiar to a kind."""
    assert cells.items() <= shown(group, resource, obj).items()


def test_unknown_kinds_show_name_and_age() -> None:
    """Without columns of its own a kind has these two."""
    assert shown("example.com", "things", {"metadata": CREATED}) == {"Name": "x", "Age": "60m"}


def test_custom_columns_are_read_by_json_path() -> None:
    """Each type has its form; what is absent stays empty."""
    columns = table_columns(
        "example.com",
        "queues",
        [
            {"name": "Weight", "type": "integer", "jsonPath": ".spec.weight"},
            {"name": "State", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
            {"name": "Parent", "type": "string", "jsonPath": ".spec.parent", "priority": 1},
            {"name": "Since", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
            {"name": "Open", "type": "boolean", "jsonPath": ".spec.open"},
            {"name": "Broken", "type": "string", "jsonPath": ".spec[["},
            {"name": "First", "type": "string", "jsonPath": ".status.conditions[*].type"},
        ],
    )
    obj = {
        "metadata": CREATED,
        "spec": {"weight": 3, "open": True},
        "status": {"conditions": [{"type": "X", "status": "no"}, {"type": "Ready", "status": "yes"}]},
    }

    assert table_row(obj, columns, NOW) == ["x", 3, "yes", None, "60m", True, None, "X"]
    assert [column["priority"] for column in columns] == [0, 0, 0, 1, 0, 0, 0, 0]


def test_columns_go_over_the_wire_as_plain_definitions() -> None:
    """A column is encoded with the five fields of a definition and nothing else."""
    (column, _age) = msgspec.json.decode(msgspec.json.encode(table_columns("", "unknown", None)))

    assert column == {
        "name": "Name",
        "type": "string",
        "format": "name",
        "description": "Name of the object.",
        "priority": 0,
    }


@pytest.mark.parametrize(
    ("path", "values"),
    [
        (".a.b", [1]),
        ("{.a.b}", [1]),
        (".list[0].n", [1]),
        (".list[-1].n", [2]),
        (".list[*].n", [1, 2]),
        (".list[0:1].n", [1]),
        (".list[?(@.n>1)].k", ["y"]),
        (".list[?(@.k=='x')].n", [1]),
        (".labels.a\\.b/c", ["v"]),
        (".labels['a.b/c']", ["v"]),
        ("..b", [1]),
        (".absent.x", []),
        (".a[0]", []),
    ],
)
def test_json_paths(path: str, values: list[Any]) -> None:
    """Every form that printer columns use."""
    obj = {"a": {"b": 1}, "list": [{"n": 1, "k": "x"}, {"n": 2, "k": "y"}], "labels": {"a.b/c": "v"}}

    assert find(obj, path) == values


def test_a_broken_json_path_is_an_error() -> None:
    """What cannot be read is named."""
    with pytest.raises(JsonPathError, match="cannot be read"):
        find({}, ".a[")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (119, "119s"),
        (125, "2m5s"),
        (600, "10m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 120, "3h2m"),
        (9 * 3600 + 120, "9h"),
        (49 * 3600, "2d1h"),
        (48 * 3600, "2d"),
        (10 * 86400, "10d"),
        (800 * 86400, "2y70d"),
        (9 * 365 * 86400, "9y"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    """Two units while they matter, one when they do not."""
    assert duration_text(seconds) == text


def test_an_age_without_a_moment_is_unknown() -> None:
    """An absent or odd time stamp has no age."""
    assert age_text(None, NOW) == "<unknown>"
    assert age_text("yesterday", NOW) == "<unknown>"


@given(st.sampled_from(sorted(BUILT_IN)), st.dictionaries(WORDS, JSON, max_size=3))
def test_odd_objects_have_rows_too(key: tuple[str, str], obj: dict[str, Any]) -> None:
    """Whatever stands where, a row has as many cells as there are columns."""
    columns = table_columns(*key, None)

    assert len(table_row(obj, columns, NOW)) == len(columns)
