"""Lists in pages, and watches: what a reflector builds on, the same on the emulator and on a real server."""

import base64
import json
from collections.abc import Iterator
from itertools import count
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.rawhttp import Client

MERGE = "application/merge-patch+json"

numbers = count(1)


@pytest.fixture(scope="module", autouse=True)
def nodes(cluster: Cluster) -> Iterator[None]:
    """The nodes that pods are bound to."""
    with Client(cluster).nodes("node-a"):
        yield


@pytest.fixture
def client(cluster: Cluster) -> Client:
    """The administrator, speaking JSON."""
    return Client(cluster)


@pytest.fixture
def pods(client: Client) -> Iterator[str]:
    """The path of the pods of a new namespace; the namespace is deleted when the test is over."""
    namespace = f"watches-{next(numbers)}"
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    assert client.send("POST", "/api/v1/namespaces", manifest).code == 201
    yield f"/api/v1/namespaces/{namespace}/pods"
    client.send("DELETE", f"/api/v1/namespaces/{namespace}")


def make_pod(client: Client, pods: str, name: str, **labels: str) -> None:
    """Make a pod that no scheduler takes up."""
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"schedulerName": "nobody", "containers": [{"name": "main", "image": "busybox"}]},
    }
    assert client.send("POST", pods, manifest).code == 201


def bind(client: Client, pods: str, name: str) -> None:
    """Place a pod on a node."""
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name},
        "target": {"kind": "Node", "name": "node-a"},
    }
    assert client.send("POST", f"{pods}/{name}/binding", binding).code == 201


def label(client: Client, pods: str, name: str, **labels: str | None) -> None:
    """Set labels of a pod; None takes one away."""
    assert client.send("PATCH", f"{pods}/{name}", {"metadata": {"labels": labels}}, as_type=MERGE).code == 200


def version_of(client: Client, pods: str) -> str:
    """Return the resource version of a list, from which a watch goes on."""
    return str(client.send("GET", pods).body["metadata"]["resourceVersion"])


def names(items: list[dict[str, Any]]) -> list[str]:
    """Return the names of listed objects, in their order."""
    return [item["metadata"]["name"] for item in items]


def shown(events: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, str]]:
    """Return type and name of events, bookmarks left out: a server may send those whenever it likes."""
    return [(kind, item["metadata"]["name"]) for kind, item in events if kind != "BOOKMARK"]


def test_a_list_comes_in_pages(client: Client, pods: str) -> None:
    """Pages are in the order of names and say how many items are left; the last has no token."""
    for name in ("c", "a", "e", "b", "d"):
        make_pod(client, pods, name)

    first = client.send("GET", f"{pods}?limit=2").body
    second = client.send("GET", f"{pods}?{urlencode({'limit': 2, 'continue': first['metadata']['continue']})}").body
    third = client.send("GET", f"{pods}?{urlencode({'limit': 2, 'continue': second['metadata']['continue']})}").body

    assert [names(page["items"]) for page in (first, second, third)] == [["a", "b"], ["c", "d"], ["e"]]
    assert [page["metadata"].get("remainingItemCount") for page in (first, second, third)] == [3, 1, None]
    assert "continue" not in third["metadata"]


def test_pages_are_of_one_moment(client: Client, pods: str) -> None:
    """What is made and deleted between two pages does not show in the second."""
    for name in ("a", "b", "c"):
        make_pod(client, pods, name)
    first = client.send("GET", f"{pods}?limit=1").body

    make_pod(client, pods, "b2")
    client.send("DELETE", f"{pods}/c")
    rest = client.send("GET", f"{pods}?{urlencode({'continue': first['metadata']['continue']})}").body

    assert names(rest["items"]) == ["b", "c"]
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def token(text: str) -> str:
    """Return base64 without padding, as continue tokens are."""
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


NO_VERSION = "server does not recognize this encoded version "
OF_VERSION = "(version meta.k8s.io/v1)"
FIELD = "json: cannot unmarshal {} into Go struct field continueToken.{} of type {}"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("!!!", "illegal base64 data at input byte 0"),
        ("YQYQY", "illegal base64 data at input byte 4"),
        ("YWI=", "illegal base64 data at input byte 3"),
        (token("hello"), "invalid character 'h' looking for beginning of value"),
        (token("{} x"), "invalid character 'x' after top-level value"),
        (token('{"v":"me'), "unexpected end of JSON input"),
        (token('{"v" 1}'), "invalid character '1' after object key"),
        (token('{"v":1 2}'), "invalid character '2' after object key:value pair"),
        (token("[1 2]"), "invalid character '2' after array element"),
        (token('{"v":"\\u12g4"}'), "invalid character 'g' in \\u hexadecimal character escape"),
        (token("[]"), "json: cannot unmarshal array into Go value of type storage.continueToken"),
        (token('{"v":1}'), FIELD.format("number", "v", "string")),
        (token('{"rv":1.5}'), FIELD.format("number 1.5", "rv", "int64")),
        (token('{"start":{},"rv":"1"}'), FIELD.format("object", "start", "string")),
        (token("null"), NO_VERSION),
        (token('{"v":"v2"}'), f"{NO_VERSION}v2"),
        (token('{"v":"meta.k8s.io/v1"}'), f"incorrect encoded start resourceVersion {OF_VERSION}"),
        (token('{"v":"meta.k8s.io/v1","rv":1}'), f"encoded start key empty {OF_VERSION}"),
        (token('{"v":"meta.k8s.io/v1","rv":1,"start":"../a"}'), "../a"),
    ],
)
def test_a_continue_token_that_is_none_is_refused(client: Client, given: str, why: str) -> None:
    """The words of the parser that failed: base64, JSON, or the list."""
    answer = client.send("GET", f"/api/v1/namespaces/default/pods?{urlencode({'limit': 2, 'continue': given})}")

    assert answer.refusal == (400, "BadRequest", f"invalid continue token: continue key is not valid: {why}")


def test_a_continue_token_names_the_first_key_and_no_future(client: Client, pods: str) -> None:
    """A page begins at the key itself; a revision that is still to come is a timeout, a negative one is now."""
    for name in ("a", "b"):
        make_pod(client, pods, name)
    fields = {"v": "meta.k8s.io/v1", "rv": -1, "start": "b"}

    page = client.send("GET", f"{pods}?{urlencode({'continue': token(json.dumps(fields))})}").body
    assert names(page["items"]) == ["b"]
    later = client.send("GET", f"{pods}?{urlencode({'continue': token(json.dumps({**fields, 'rv': 10**12}))})}")
    code, reason, message = later.refusal
    assert (code, reason) == (504, "Timeout")
    assert message.startswith(f"Timeout: Too large resource version: {10**12}, current: ")


def test_pages_of_cluster_wide_objects(client: Client) -> None:
    """They have no namespace in their keys."""
    prefix = f"paged-{next(numbers)}"
    for name in ("a", "b", "c"):
        body = {"metadata": {"name": f"{prefix}-{name}", "labels": {"pages": prefix}}}
        client.send("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", **body})
    query = {"limit": 2, "labelSelector": f"pages={prefix}"}

    first = client.send("GET", f"/api/v1/nodes?{urlencode(query)}").body
    going_on = {**query, "continue": first["metadata"]["continue"]}
    rest = client.send("GET", f"/api/v1/nodes?{urlencode(going_on)}").body
    client.send("DELETE", f"/api/v1/nodes?{urlencode({'labelSelector': query['labelSelector']})}")

    assert [names(page["items"]) for page in (first, rest)] == [[f"{prefix}-a", f"{prefix}-b"], [f"{prefix}-c"]]
    assert json.loads(base64.urlsafe_b64decode(first["metadata"]["continue"] + "==="))["start"] == f"/{prefix}-b\0"


def test_items_of_a_list_do_not_say_what_they_are(client: Client, pods: str) -> None:
    """Kind and version stand once, on the list."""
    make_pod(client, pods, "a")

    listed = client.send("GET", pods).body

    assert (listed["kind"], listed["apiVersion"]) == ("PodList", "v1")
    assert not {"kind", "apiVersion"} & listed["items"][0].keys()


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({"labelSelector": "tier=gold"}, ["a"]),
        ({"labelSelector": "tier!=gold"}, ["b", "c"]),
        ({"labelSelector": "tier in (gold,silver)"}, ["a", "b"]),
        ({"labelSelector": "!tier"}, ["c"]),
        ({"fieldSelector": "spec.nodeName="}, ["b", "c"]),
        ({"fieldSelector": "spec.nodeName=node-a"}, ["a"]),
        ({"fieldSelector": "metadata.name=b,status.phase!=Failed"}, ["b"]),
        ({"fieldSelector": "spec.schedulerName=nobody", "labelSelector": "tier"}, ["a", "b"]),
    ],
)
def test_selectors(client: Client, pods: str, selector: dict[str, str], expected: list[str]) -> None:
    """Labels and fields select; a label that is missing differs from every value."""
    make_pod(client, pods, "a", tier="gold")
    make_pod(client, pods, "b", tier="silver")
    make_pod(client, pods, "c")
    bind(client, pods, "a")

    assert names(client.send("GET", f"{pods}?{urlencode(selector)}").body["items"]) == expected


def test_a_watch_goes_on_from_a_list(client: Client, pods: str) -> None:
    """Nothing between list and watch is lost, and each event has the object as it then was."""
    make_pod(client, pods, "before")
    version = version_of(client, pods)

    make_pod(client, pods, "a")
    bind(client, pods, "a")
    label(client, pods, "a", tier="gold")
    events = client.watch(pods, resourceVersion=version)

    assert shown(events) == [("ADDED", "a"), ("MODIFIED", "a"), ("MODIFIED", "a")]
    assert [item["spec"].get("nodeName") for _, item in events] == [None, "node-a", "node-a"]
    assert [item["metadata"].get("labels", {}) for _, item in events] == [{}, {}, {"tier": "gold"}]
    versions = [int(item["metadata"]["resourceVersion"]) for _, item in events]
    assert versions == sorted(set(versions))


def test_a_pod_is_marked_before_it_goes(client: Client, pods: str) -> None:
    """Even a pod that goes at once is first seen with its deletion time, then deleted at a version of its own."""
    make_pod(client, pods, "a")
    version = version_of(client, pods)

    client.send("DELETE", f"{pods}/a")
    events = client.watch(pods, resourceVersion=version)

    assert shown(events) == [("MODIFIED", "a"), ("DELETED", "a")]
    marked, deleted = (item["metadata"] for _, item in events)
    assert (marked["deletionGracePeriodSeconds"], marked["generation"]) == (0, 2)
    assert marked["deletionTimestamp"] == deleted["deletionTimestamp"]
    assert int(deleted["resourceVersion"]) > int(marked["resourceVersion"])


def test_a_watch_of_one_namespace_sees_no_other(client: Client, pods: str) -> None:
    """Events of other namespaces stay away."""
    version = version_of(client, pods)

    client.send("DELETE", "/api/v1/namespaces/default/pods/elsewhere")
    make_pod(client, "/api/v1/namespaces/default/pods", "elsewhere")
    make_pod(client, pods, "here")

    assert shown(client.watch(pods, resourceVersion=version)) == [("ADDED", "here")]


def test_a_pod_leaves_a_field_selector(client: Client, pods: str) -> None:
    """A watch of pods without a node sees a bound pod as deleted."""
    version = version_of(client, pods)

    make_pod(client, pods, "a")
    bind(client, pods, "a")
    events = client.watch(pods, resourceVersion=version, fieldSelector="spec.nodeName=")

    assert shown(events) == [("ADDED", "a"), ("DELETED", "a")]


def test_a_pod_enters_and_leaves_a_label_selector(client: Client, pods: str) -> None:
    """Changes of labels come as additions and deletions, with the object as it was when it last matched."""
    make_pod(client, pods, "a")
    version = version_of(client, pods)

    label(client, pods, "a", tier="gold")
    label(client, pods, "a", other="yes")
    label(client, pods, "a", tier=None)
    events = client.watch(pods, resourceVersion=version, labelSelector="tier=gold")

    assert shown(events) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    assert events[2][1]["metadata"]["labels"] == {"tier": "gold", "other": "yes"}


def test_a_watch_may_begin_with_what_is_there(client: Client, pods: str) -> None:
    """Initial events end with a bookmark that says so; its version is where the watch goes on."""
    make_pod(client, pods, "a")
    make_pod(client, pods, "b")
    version = version_of(client, pods)

    events = client.watch(
        pods, sendInitialEvents="true", resourceVersionMatch="NotOlderThan", allowWatchBookmarks="true"
    )

    assert [(kind, item["metadata"].get("name")) for kind, item in events[:3]] == [
        ("ADDED", "a"),
        ("ADDED", "b"),
        ("BOOKMARK", None),
    ]
    bookmark = events[2][1]
    assert bookmark["kind"] == "Pod"
    assert bookmark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(bookmark["metadata"]["resourceVersion"]) >= int(version)


def test_a_watch_without_a_version_begins_with_what_is_there(client: Client, pods: str) -> None:
    """Without a resource version, existing objects come as additions."""
    make_pod(client, pods, "a")

    assert shown(client.watch(pods)) == [("ADDED", "a")]


def test_a_version_to_come_is_refused(client: Client, pods: str) -> None:
    """A list at a version that the server has not reached is not made up."""
    code, reason, message = client.send("GET", f"{pods}?resourceVersion=99999999999").refusal

    assert (code, reason) == (504, "Timeout")
    assert message.startswith("Timeout: Too large resource version: 99999999999, current: ")
