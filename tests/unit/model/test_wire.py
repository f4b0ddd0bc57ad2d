"""Objects decode as the API sends them, and one broken object costs no other."""

import msgspec
import pytest

from pyroclast.model.errors import CacheError, ObjectError
from pyroclast.model.wire import (
    EMPTY,
    Broken,
    Decoder,
    Pod,
    PodGroup,
    StatusEvent,
    WatchEvent,
    micro_time,
    time_text,
    unix_seconds,
)

POD = (
    b'{"kind":"Pod","metadata":{"name":"web","namespace":"shop","uid":"u1","resourceVersion":"7","unknown":1},'
    b'"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":1,"memory":"1Gi"}},'
    b'"ports":[{"hostPort":80,"hostIP":"10.0.0.1"}]}]},"status":{"podIP":"10.1.0.1"}}'
)
BROKEN = POD.replace(b'"cpu":1', b'"cpu":[]').replace(b"web", b"bad")


def pods() -> Decoder[Pod]:
    """Make the decoder under test."""
    return Decoder("Pod", Pod)


def test_fields_are_spelled_as_the_api_spells_them() -> None:
    """Abbreviations such as IP keep their capitals; unknown fields are dropped; numbers are quantities."""
    pod = pods().decode(POD)

    assert pod.status.pod_ip == "10.1.0.1"
    assert pod.spec.containers[0].ports[0].host_ip == "10.0.0.1"
    assert pod.spec.containers[0].resources.requests == {"cpu": 1, "memory": "1Gi"}
    assert pod.metadata.key == "shop/web"


def test_absent_maps_are_shared() -> None:
    """All absent maps are the one empty mapping, and it is not encoded."""
    pod = pods().decode(POD)

    assert pod.metadata.labels is EMPTY
    assert b"labels" not in msgspec.json.encode(pod)


def test_encoding_and_decoding_are_inverse() -> None:
    """An object survives a round trip."""
    pod = pods().decode(POD)

    assert pods().decode(msgspec.json.encode(pod)) == pod


def test_null_means_absent() -> None:
    """A null is no wrong type: the field is absent."""
    pod = pods().decode(POD.replace(b'"unknown":1', b'"labels":null,"creationTimestamp":null'))

    assert pod.metadata.creation_timestamp == ""


def test_the_nulls_of_every_pod_do_not_cost_the_slow_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers send a null probe time in each condition."""
    monkeypatch.setattr("pyroclast.model.wire.decoding.without_nulls", None)
    condition = b'"conditions":[{"type":"Ready","status":"True","lastProbeTime":null}],'

    pod = pods().decode(POD.replace(b'"podIP"', condition + b'"podIP"'))

    assert pod.status.conditions[0].type == "Ready"


def test_a_broken_item_is_fenced_from_its_list() -> None:
    """The bad object is named with its field; the good one is there."""
    page = pods().page(b'{"metadata":{"resourceVersion":"9","continue":"x"},"items":[' + BROKEN + b"," + POD + b"]}")

    assert [pod.metadata.name for pod in page.items] == ["web"]
    assert [(broken.error.name, broken.error.path) for broken in page.broken] == [
        ("shop/bad", "spec.containers[0].resources.requests[...]")
    ]
    assert page.broken[0].metadata.uid == "u1"
    assert (page.resource_version, page.continue_token) == ("9", "x")


def test_a_list_of_null_is_empty() -> None:
    """Go encodes an empty list as null at times."""
    assert pods().page(b'{"metadata":{},"items":null}').items == []


def test_what_is_no_list_is_an_error() -> None:
    """A proxy's page is not a list."""
    with pytest.raises(CacheError):
        pods().page(b"<html>")


def test_watch_events_decode() -> None:
    """An event has its type and object; a bookmark has a version alone."""
    event = pods().event(b'{"type":"ADDED","object":' + POD + b"}")
    bookmark = pods().event(b'{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"12"}}}')

    assert isinstance(event, WatchEvent)
    assert (event.type, event.object.metadata.name) == ("ADDED", "web")
    assert isinstance(bookmark, WatchEvent)
    assert bookmark.object.metadata.resource_version == "12"


def test_an_error_event_is_a_status() -> None:
    """An expired watch says so in a Status."""
    event = pods().event(b'{"type":"ERROR","object":{"kind":"Status","status":"Failure","code":410,"metadata":{}}}')

    assert isinstance(event, StatusEvent)
    assert event.object.code == 410


def test_an_event_with_a_broken_object_is_fenced() -> None:
    """Its identity and its type are known."""
    event = pods().event(b'{"type":"MODIFIED","object":' + BROKEN + b"}")

    assert isinstance(event, Broken)
    assert (event.type, event.metadata.key) == ("MODIFIED", "shop/bad")


def test_a_line_cut_in_its_middle_is_an_error() -> None:
    """Half an event is never taken for a whole one."""
    with pytest.raises(CacheError):
        pods().event(b'{"type":"ADDED","object":{"metadata":{"na')


def test_broken_values_name_kind_object_and_field() -> None:
    """Objects from YAML are checked the same way."""
    with pytest.raises(ObjectError, match=r"PodGroup shop/train: spec.minMember: .*int"):
        Decoder("PodGroup", PodGroup).convert(
            {"metadata": {"name": "train", "namespace": "shop"}, "spec": {"minMember": "two"}}
        )


def test_times_are_read_and_written() -> None:
    """Both kinds of time read as seconds; zones count; an absent time is 0."""
    assert unix_seconds("2026-01-01T00:00:00Z") == 1767225600
    assert unix_seconds("2026-01-01T01:00:00.250000+01:00") == 1767225600.25
    assert unix_seconds("") == 0
    assert micro_time(1767225600.25) == "2026-01-01T00:00:00.250000Z"
    assert time_text(1767225600.9) == "2026-01-01T00:00:00Z"


def test_a_time_without_a_zone_is_refused() -> None:
    """Local times are never guessed."""
    with pytest.raises(ValueError, match="no time zone"):
        unix_seconds("2026-01-01T00:00:00")


@pytest.mark.parametrize("levels", [900, 5_000, 100_000])
@pytest.mark.parametrize("containers", [b"[]", b"5"], ids=["sound", "broken"])
def test_deep_nesting_costs_no_other_object(levels: int, containers: bytes) -> None:
    """A field that is not ours may be nested as deep as the API server lets it; what else stands there is read."""
    deep = b'[{"a":"]\\"}"},' * levels + b"1" + b"]" * levels
    odd = b'{"metadata":{"name":"odd"},"spec":{"containers":%b,"extra":%b},"status":{"podIP":"10.1.0.2"}}'
    odd %= (containers, deep)
    page = pods().page(b'{"metadata":{"resourceVersion":"9"},"items":[%b,%b]}' % (odd, POD))
    event = pods().event(b'{"type":"ADDED","object":%b}' % odd)

    names = [item.metadata.name for item in page.items] + [broken.metadata.name for broken in page.broken]
    assert sorted(names) == ["odd", "web"]
    assert page.resource_version == "9"
    if containers == b"[]":
        assert isinstance(event, WatchEvent)
        assert event.object.status.pod_ip == "10.1.0.2"
    else:
        assert isinstance(event, Broken)


def test_a_deep_object_that_was_cut_is_no_json() -> None:
    """As a stream that ends in the middle of a line."""
    with pytest.raises(CacheError):
        pods().event(b'{"type":"ADDED","object":{"spec":{"extra":' + b"[" * 5000)
