"""Nothing of an object is lost between decoding it and sending it again."""

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclast.model.api.definitions import KubernetesObject
from pyroclast.model.api.kinds import KINDS
from tests.contract.objects import Schema, objects
from tools.custom_resources.definitions import definition_of


def schema_of(kind: type[KubernetesObject]) -> Schema:
    """Return the schema of a kind's objects."""
    (version,) = definition_of(kind)["spec"]["versions"]
    schema: Schema = version["schema"]["openAPIV3Schema"]
    return schema


def there_and_back(kind: type[KubernetesObject], sent: dict[str, Any]) -> Any:
    """Decode an object and encode it again."""
    decoded = msgspec.json.decode(msgspec.json.encode(sent), type=kind)
    return msgspec.json.decode(msgspec.json.encode(decoded.as_json()))


def meaning(value: Any, schema: Schema) -> Any:
    """Leave out optional members that say what their absence says: the default, else nothing at all."""
    if isinstance(value, list):
        return [meaning(item, schema["items"]) for item in value]
    if not isinstance(value, dict) or schema.get("x-kubernetes-preserve-unknown-fields"):
        return value
    if "additionalProperties" in schema:
        return {key: meaning(member, schema["additionalProperties"]) for key, member in value.items()}
    parts, required = schema.get("properties", {}), schema.get("required", ())
    said = {key: meaning(member, parts.get(key, {})) for key, member in value.items()}
    return {
        key: member
        for key, member in said.items()
        if key in required or member not in (parts.get(key, {}).get("default", ""), "", 0, [], {})
    }


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_every_field_survives(kind: type[KubernetesObject], data: st.DataObject) -> None:
    """Whatever the schema allows comes out as it went in, but for optional members at their default."""
    sent = data.draw(objects(definition_of(kind)))

    assert meaning(there_and_back(kind, sent), schema_of(kind)) == meaning(sent, schema_of(kind))


ZEROS = [
    ("Job", "spec.ttlSecondsAfterFinished", 0),
    ("Job", "spec.minSuccess", 0),
    ("Job", "spec.networkTopology.highestTierAllowed", 0),
    ("CronJob", "spec.startingDeadlineSeconds", 0),
    ("CronJob", "spec.timeZone", ""),
    ("PodGroup", "spec.minResources", {}),
    ("PodGroup", "spec.networkTopology.highestTierAllowed", 0),
    ("Queue", "spec.reclaimable", False),
    ("HyperNode", "spec.tier", 0),
    ("NodeShard", "spec.nodesDesired", []),
]
"""Fields of which nothing is something else than absence: kind, path, and the value that says nothing."""

NEEDED: dict[str, dict[str, Any]] = {
    "CronJob": {"schedule": "@daily", "jobTemplate": {}},
    "ElasticQuotaProfile": {"quotaName": "root", "nodeSelector": {}},
    "HyperNode": {"tier": 1},
}
"""What a spec must have beside them."""


@pytest.mark.parametrize(("kind", "path", "value"), ZEROS)
def test_absent_fields_are_not_reported(kind: str, path: str, value: object) -> None:
    """A 0, a false and an empty text that the user wrote are kept, where absence means another thing."""
    (struct,) = (each for each in KINDS if each.definition.kind == kind)
    (_, *rest) = path.split(".")
    spec = NEEDED.get(kind, {}) | _nested(rest, value)

    came = there_and_back(struct, {"metadata": {"name": "made"}, "spec": spec})

    for part in path.split("."):
        came = came[part]
    assert came == value


def _nested(path: list[str], value: object) -> dict[str, Any]:
    (first, *rest) = path
    return {first: _nested(rest, value) if rest else value}


def test_a_minimum_of_zero_differs_from_an_absent_minimum() -> None:
    """`minAvailable: 0` of a task is kept; absent it means all replicas."""
    (job,) = (kind for kind in KINDS if kind.definition.kind == "Job")

    came = there_and_back(job, {"metadata": {"name": "made"}, "spec": {"tasks": [{"name": "a", "minAvailable": 0}]}})

    assert came["spec"]["tasks"] == [{"name": "a", "minAvailable": 0}]


@pytest.mark.parametrize("kind", KINDS)
def test_limits_are_not_checked_while_decoding(kind: type[KubernetesObject]) -> None:
    """An object from before a limit came is read: words and numbers out of bounds are values, not faults."""
    wrong = {"phase": "Sleeping", "state": "Ajar", "minMember": -1, "weight": 0, "minAvailable": -3}
    spec = NEEDED.get(kind.definition.kind, {"nodesDesired": []})
    sent = {"metadata": {"name": "made"}, "spec": {**wrong, **spec}}

    assert msgspec.json.decode(msgspec.json.encode(sent), type=kind).metadata.name == "made"
