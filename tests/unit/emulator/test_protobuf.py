"""Protobuf bodies, as real clients send them."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.emulator.requests.protobuf import UnsupportedProtobuf, decode
from pyroclast.emulator.schemas.shapes import shape_of

SENT_BY_KUBECTL = {
    "create namespace n1": (
        "6b3873000a0f0a02763112094e616d657370616365121a0a120a026e3112001a0022002a0032003800420012001a020a001a002200",
        {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "n1"}, "spec": {}, "status": {}},
    ),
    "create configmap c1 --from-literal=a=b --from-literal=c=d": (
        (
            "6b3873000a0f0a0276311209436f6e6669674d617012240a120a02633112001a0022002a0032003800420012060a01611201621206"
            "0a01631201641a002200"
        ),
        {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "c1"}, "data": {"a": "b", "c": "d"}},
    ),
    "create priorityclass p1 --value=1000 --global-default --description=hi --preemption-policy=Never": (
        (
            "6b3873000a250a147363686564756c696e672e6b38732e696f2f7631120d5072696f72697479436c61737312240a120a02703112001a"
            "0022002a0032003800420010e8071801220268692a054e657665721a002200"
        ),
        {
            "kind": "PriorityClass",
            "apiVersion": "scheduling.k8s.io/v1",
            "metadata": {"name": "p1"},
            "value": 1000,
            "globalDefault": True,
            "description": "hi",
            "preemptionPolicy": "Never",
        },
    ),
    "create priorityclass p2 --value=-5": (
        (
            "6b3873000a250a147363686564756c696e672e6b38732e696f2f7631120d5072696f72697479436c61737312390a120a02703212001a"
            "0022002a0032003800420010fbffffffffffffffff01180022002a14507265656d70744c6f7765725072696f726974791a002200"
        ),
        {
            "kind": "PriorityClass",
            "apiVersion": "scheduling.k8s.io/v1",
            "metadata": {"name": "p2"},
            "value": -5,
            "preemptionPolicy": "PreemptLowerPriority",
        },
    ),
    "create secret generic s1 --from-literal=k=v": (
        (
            "6b3873000a0c0a0276311206536563726574121e0a120a02733112001a0022002a0032003800420012060a016b1201761a001a002200"
        ),
        {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s1"}, "data": {"k": "dg=="}},
    ),
    "create quota q1 --hard=cpu=1,memory=1G,pods=2 --scopes=BestEffort": (
        (
            "6b3873000a130a027631120d5265736f7572636551756f7461124d0a120a02713112001a0022002a0032003800420012350a0a0a0363"
            "707512030a01310a0e0a066d656d6f727912040a0231470a0b0a04706f647312030a0132120a426573744566666f72741a001a002200"
        ),
        {
            "kind": "ResourceQuota",
            "apiVersion": "v1",
            "metadata": {"name": "q1"},
            "spec": {"hard": {"cpu": "1", "memory": "1G", "pods": "2"}, "scopes": ["BestEffort"]},
            "status": {},
        },
    ),
    "create pdb pd --selector=app=x --min-available=50%": (
        (
            "6b3873000a200a09706f6c6963792f76311213506f6444697372757074696f6e42756467657412390a120a02706412001a0022002a00"
            "32003800420012170a09080110001a03353025120a0a080a036170701201781a0a080018002000280030001a002200"
        ),
        {
            "kind": "PodDisruptionBudget",
            "apiVersion": "policy/v1",
            "metadata": {"name": "pd"},
            "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"app": "x"}}},
            "status": {},
        },
    ),
    "create pdb pd2 --selector=app=x,env=y --max-unavailable=2": (
        (
            "6b3873000a200a09706f6c6963792f76311213506f6444697372757074696f6e42756467657412410a130a0370643212001a0022002a"
            "0032003800420012"
            "1e12140a080a036170701201780a080a03656e761201791a06080010021a001a0a08001800200028003000"
            "1a002200"
        ),
        {
            "kind": "PodDisruptionBudget",
            "apiVersion": "policy/v1",
            "metadata": {"name": "pd2"},
            "spec": {"selector": {"matchLabels": {"app": "x", "env": "y"}}, "maxUnavailable": 2},
            "status": {},
        },
    ),
}


def message(*parts: tuple[int, int | str | bytes]) -> bytes:
    """A protobuf message of numbers and texts (or messages)."""
    encoded = b""
    for number, value in parts:
        if isinstance(value, int):
            encoded += varint(number << 3) + varint(value % 2**64)
        else:
            data = value.encode() if isinstance(value, str) else value
            encoded += varint(number << 3 | 2) + varint(len(data)) + data
    return encoded


def varint(value: int) -> bytes:
    """A number as protobuf writes it."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def body(api_version: str, kind: str, raw: bytes) -> bytes:
    """An object in its envelope."""
    return b"k8s\x00" + message((1, message((1, api_version), (2, kind))), (2, raw), (3, ""), (4, ""))


@pytest.mark.parametrize("command", SENT_BY_KUBECTL)
def test_what_kubectl_creates_is_read(command: str) -> None:
    """The very bytes of the command give the object that its JSON would."""
    sent, obj = SENT_BY_KUBECTL[command]

    assert decode(bytes.fromhex(sent)) == obj


def test_events_of_go_recorders_are_read() -> None:
    """Times, references and counts of an event."""
    raw = message(
        (1, message((1, "e"), (3, "ns"))),
        (2, message((1, "Pod"), (2, "ns"), (3, "p"))),
        (3, "Scheduled"),
        (4, "assigned"),
        (5, message((1, "sched"))),
        (6, message((1, 1767225600))),
        (8, 1),
        (9, "Normal"),
        (10, message((1, 1767225600), (2, 123456789))),
    )

    assert decode(body("v1", "Event", raw)) == {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {"name": "e", "namespace": "ns"},
        "involvedObject": {"kind": "Pod", "namespace": "ns", "name": "p"},
        "reason": "Scheduled",
        "message": "assigned",
        "source": {"component": "sched"},
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "count": 1,
        "type": "Normal",
        "eventTime": "2026-01-01T00:00:00.123456Z",
    }


def test_evictions_and_bindings_are_read() -> None:
    """What drains and schedulers written in Go send."""
    metadata = message((1, "p"), (3, "ns"))

    eviction = decode(body("policy/v1", "Eviction", message((1, metadata), (2, message((1, 0))))))
    binding = decode(body("v1", "Binding", message((1, metadata), (2, message((1, "Node"), (3, "n1"))))))

    assert eviction["deleteOptions"] == {"gracePeriodSeconds": 0}
    assert binding["target"] == {"kind": "Node", "name": "n1"}


def test_delete_options_are_read_under_any_version() -> None:
    """Their version is that of the client's group."""
    raw = message((1, 30), (4, "Background"), (2, message((1, "uid"))))

    assert decode(body("apps/v1", "DeleteOptions", raw)) == {
        "kind": "DeleteOptions",
        "apiVersion": "apps/v1",
        "gracePeriodSeconds": 30,
        "propagationPolicy": "Background",
        "preconditions": {"uid": "uid"},
    }


def test_empty_values_count_only_where_json_would_send_them() -> None:
    """An optional zero that was set is kept, one that merely is Go's default falls away."""
    container = message((1, "c"), (2, ""), (16, 0))
    spec = message((2, container), (4, 0), (11, 0))

    assert decode(body("v1", "Pod", message((2, spec))))["spec"] == {
        "containers": [{"name": "c"}],
        "terminationGracePeriodSeconds": 0,
    }


def test_fields_unknown_to_the_table_are_passed_over() -> None:
    """A newer client's field does no harm."""
    raw = message((1, message((1, "n"))), (99, "new"), (98, 5))

    assert decode(body("v1", "Namespace", raw))["metadata"] == {"name": "n"}


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"{}",
        b"k8s\x00",
        b"k8s\x00\x0a\xff",
        body("v1", "Nothing", b""),
        body("v1", "Pod", b"\x0a\x05a"),
        body("v1", "Pod", b"\x0b"),
        body("v1", "Pod", message((1, 5))),
        body("v1", "Pod", message((1, message((1, b"\xff"))))),
    ],
)
def test_what_cannot_be_read_is_unsupported(broken: bytes) -> None:
    """Unknown kinds and broken bytes are one error, which asks for JSON."""
    with pytest.raises(UnsupportedProtobuf):
        decode(broken)


@given(st.sampled_from(["Pod", "Node", "Event", "Secret"]), st.binary(max_size=60))
def test_odd_bytes_never_break(kind: str, raw: bytes) -> None:
    """Whatever stands in the message, the outcome is a JSON object or an unsupported body."""
    with contextlib.suppress(UnsupportedProtobuf):
        json.dumps(decode(body("v1", kind, raw)))


NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)


@given(st.dictionaries(NAMES, NAMES, max_size=3), st.dictionaries(NAMES, NAMES, max_size=3))
def test_maps_of_texts_are_read_whole(labels: dict[str, str], data: dict[str, str]) -> None:
    """Each pair is a message of its own, in any alphabet."""

    def pairs(number: int, values: dict[str, str]) -> list[tuple[int, Any]]:
        return [(number, message((1, key), (2, value))) for key, value in values.items()]

    raw = message((1, message(*pairs(11, labels))), *pairs(2, data))
    obj = decode(body("v1", "ConfigMap", raw))

    assert obj["metadata"].get("labels", {}) == labels
    assert obj.get("data", {}) == data


def test_every_shape_of_the_table_resolves() -> None:
    """No type refers to one that is missing; keys by which lists merge are fields of their items."""
    seen = set()
    waiting = [
        shape for shape in (shape_of("v1", "Pod"), shape_of("apps/v1", "Deployment"), shape_of("v1", "Node")) if shape
    ]
    assert len(waiting) == 3
    while waiting:
        shape = waiting.pop()
        seen.add(shape.name)
        for entry in shape.fields.values():
            inner = entry.shape
            if inner is None:
                continue
            assert set(entry.list_keys) <= set(inner.fields)
            assert not entry.merge_key or entry.merge_key in inner.fields
            if inner.name not in seen:
                waiting.append(inner)
    assert {"Container", "NodeAffinity", "DeploymentStrategy", "NodeSystemInfo"} <= seen
