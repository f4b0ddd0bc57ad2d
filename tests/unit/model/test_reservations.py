"""Rules of Reservations as values: bounds of what pods and Reservations may say, ends, and amounts."""

import json
from typing import Any

import msgspec
import pytest

from pyroclast.kube.api.resources import RESERVATIONS
from pyroclast.model import wire
from pyroclast.model.errors import ObjectError
from pyroclast.model.ids import NodeName
from pyroclast.model.required_rules import RESERVATION_AFFINITY
from pyroclast.model.reservations.affinity import MOST_TERMS, read_demand
from pyroclast.model.reservations.names import EXACT_MATCH, KEPT_BACK, RESIZE_ALLOCATABLE, RESTRICTED_OPTIONS
from pyroclast.model.reservations.owners import MOST_OWNERS
from pyroclast.model.reservations.reading import life_of, read_reservation
from pyroclast.model.reservations.reserve_pods import reserve_pod
from pyroclast.model.reservations.status import available, noted_uid
from tests.reservations import reservation


def decoded(**fields: Any) -> wire.Reservation:
    """Return a Reservation of the server."""
    return RESERVATIONS.decoder.convert(reservation(**fields))


def nested(depth: int) -> dict[str, Any]:
    """Return mappings inside each other."""
    made: dict[str, Any] = {}
    for _ in range(depth):
        made = {"a": made}
    return made


TERMS: dict[str, Any] = {
    "requiredDuringSchedulingIgnoredDuringExecution": {"reservationSelectorTerms": [{}] * (MOST_TERMS + 1)}
}


@pytest.mark.parametrize(
    ("key", "text", "fault"),
    [
        (RESERVATION_AFFINITY, "{", "annotation scheduling.koordinator.sh/reservation-affinity: "),
        (RESERVATION_AFFINITY, "[]", "annotation scheduling.koordinator.sh/reservation-affinity: "),
        (RESERVATION_AFFINITY, "\ud800", "annotation scheduling.koordinator.sh/reservation-affinity: "),
        (RESERVATION_AFFINITY, '{"x":' + "[" * 16_000, "it is nested too deeply"),
        (RESERVATION_AFFINITY, " " * 20_000, "20000 characters, at most 16384 are supported"),
        (RESERVATION_AFFINITY, json.dumps(TERMS), "101 entries, at most 100 are supported"),
        (RESERVATION_AFFINITY, json.dumps({"tolerations": [{}] * 101}), "101 entries, at most 100 are supported"),
        (EXACT_MATCH, json.dumps({"resourceNames": ["cpu"] * 101}), "101 entries, at most 100 are supported"),
    ],
)
def test_annotations_beyond_the_bounds_are_refused(key: str, text: str, fault: str) -> None:
    """The text has the annotation and the bound."""
    pod = wire.Pod(metadata=wire.ObjectMeta(name="a", annotations={key: text}))

    with pytest.raises(ValueError, match=fault):
        read_demand(pod)


def test_too_many_owners_match_no_pod() -> None:
    """The fault is reported."""
    faults: list[ObjectError] = []
    rules = read_reservation(decoded(node="n1", owners=[{}] * (MOST_OWNERS + 1)), faults.append)

    assert not rules.owners.match(wire.Pod(metadata=wire.ObjectMeta(name="a")))
    assert [fault.path for fault in faults] == ["spec.owners"]


@pytest.mark.parametrize(
    ("ttl", "expires", "end"),
    [
        ("1h", "", 3600),
        ("1h", "2026-01-01T00:30:00Z", 1800),
        ("1h", "2026-01-01T02:00:00Z", 3600),
        ("0", "2026-01-01T00:30:00Z", None),
        ("", "", 86400),
    ],
)
def test_ends(ttl: str, expires: str, end: float | None) -> None:
    """The earlier end counts, a ttl of 0 disables both, and the default is a day (R38)."""
    begins = wire.unix_seconds("2026-01-01T00:00:00Z")
    life = life_of(decoded(ttl=ttl, expires=expires))

    assert life == (None if end is None else begins + end, "")


@pytest.mark.parametrize(
    ("ttl", "expires", "end", "path"),
    [
        ("1d", "", 86400, "spec.ttl"),
        ("x" * 1000, "", 86400, "spec.ttl"),
        ("1d", "2026-01-01T00:30:00Z", 1800, "spec.ttl"),
        ("1h", "tomorrow", 3600, "spec.expires"),
        ("1h", "2026-01-01", 3600, "spec.expires"),
        ("400000000h", "", 86400, "spec.ttl"),
    ],
)
def test_a_life_that_cannot_be_parsed_is_bounded(ttl: str, expires: str, end: float, path: str) -> None:
    """A ttl is a day then, and an end is ignored; the fault names the field, in at most a few hundred characters."""
    begins = wire.unix_seconds("2026-01-01T00:00:00Z")
    life = life_of(decoded(ttl=ttl, expires=expires))

    assert life.ends == begins + end
    assert life.fault.startswith(f"{path}: ")
    assert len(life.fault) < 400


def test_resized_amounts_replace_those_of_the_template() -> None:
    """When it becomes Available (R15)."""
    resize = {RESIZE_ALLOCATABLE: json.dumps({"resources": {"cpu": "1"}})}
    status = available(decoded(cpu=2, resources={"memory": "1Gi"}, annotations=resize), NodeName("n1"), 0.0)

    assert status.allocatable == {"cpu": "1", "memory": "1Gi"}


def test_the_pod_that_stands_for_it_overlays_labels_and_has_the_highest_priority() -> None:
    """Unless the template or a label gives another one (R13)."""
    made = reserve_pod(decoded(labels={"a": "1"}, template_metadata={"labels": {"a": "0", "b": "2"}}))
    labelled = reserve_pod(decoded(labels={"koordinator.sh/priority": "7"}))
    own = reserve_pod(decoded(template={"priority": 5}, labels={"koordinator.sh/priority": "7"}))

    assert made.metadata.labels == {"a": "1", "b": "2"}
    assert (made.metadata.name, made.metadata.namespace) == ("uid-r", "default")
    assert [each.spec.priority for each in (made, labelled, own)] == [2**31 - 1, 7, 5]


@pytest.mark.parametrize(
    ("text", "uid"),
    [
        ('{"uid":"u"}', "u"),
        ("{", ""),
        ("", ""),
        ('{"uid":"u"}' + " " * 2000, ""),
        ('{"x":' + "[" * 1000, ""),
        ("\ud800", ""),
    ],
)
def test_a_note_of_a_pod_is_read_within_its_bound(text: str, uid: str) -> None:
    """Longer texts name nothing."""
    assert noted_uid(text) == uid


@pytest.mark.parametrize("key", [KEPT_BACK, RESTRICTED_OPTIONS])
def test_a_deeply_nested_annotation_of_a_reservation_is_a_fault(key: str) -> None:
    """The rest of the Reservation is read."""
    faults: list[ObjectError] = []
    rules = read_reservation(decoded(node="n1", annotations={key: '{"x":' + "[" * 60_000}), faults.append)

    assert rules.allocatable == {"cpu": 2000}
    assert [str(fault) for fault in faults] == [f"Reservation r: metadata.annotations[{key}]: it is nested too deeply"]


@pytest.mark.parametrize(
    ("template", "fault"),
    [
        ({"priority": 2**70}, "11805916207174113034... is not a 64-bit integer"),
        ({"tolerations": [{"tolerationSeconds": -(2**80)}]}, "-1208925819614629174... is not a 64-bit integer"),
        ({"affinity": nested(5000)}, "it is nested too deeply"),
    ],
)
def test_a_template_that_no_pod_could_have_is_a_fault(template: dict[str, Any], fault: str) -> None:
    """The API server accepts any template."""
    wanted = decoded()
    spec = msgspec.structs.replace(wanted.spec, template={"spec": template})

    with pytest.raises(ObjectError, match=fault):
        reserve_pod(msgspec.structs.replace(wanted, spec=spec))
