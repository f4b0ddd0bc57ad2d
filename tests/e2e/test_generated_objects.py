"""Objects made from our schemas: what they allow is taken, what they forbid is refused in the same words everywhere.

The words stand here once, made from the limit that was broken, so that the two servers are held to one expectation.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from pyroclast.model.api.definitions import KubernetesObject
from pyroclast.model.api.kinds import KINDS
from tests.contract.objects import Schema, exclusive_members, objects
from tests.e2e.cluster import Cluster
from tests.e2e.rawhttp import Answer, Client
from tools.custom_resources.definitions import definition_of

MADE = 12
"""Objects of each kind that are sent as hypothesis makes them."""


def made_objects(kind: type[KubernetesObject]) -> list[dict[str, Any]]:
    """Make some objects of a kind, the same in every run."""
    made: list[dict[str, Any]] = []

    @settings(
        max_examples=MADE,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(objects(definition_of(kind)))
    def collect(each: dict[str, Any]) -> None:
        made.append(each)

    collect()
    return made


ASK_ONLY = "dryRun=All&fieldValidation=Strict"


def collection(kind: type[KubernetesObject]) -> str:
    """Return the path of a kind's objects."""
    definition = kind.definition
    place = "namespaces/default/" if definition.is_namespaced else ""
    return f"/apis/{definition.api_version}/{place}{definition.plural}"


def create(client: Client, kind: type[KubernetesObject], body: dict[str, Any], query: str = ASK_ONLY) -> Answer:
    """Create an object, or ask whether it would be taken."""
    head = {"apiVersion": kind.definition.api_version, "kind": kind.definition.kind}
    return client.send("POST", f"{collection(kind)}?{query}", {**head, **body})


def write_status(client: Client, kind: type[KubernetesObject], name: str, body: dict[str, Any]) -> Answer:
    """Ask whether a status would be taken, by an object that is there."""
    path = f"{collection(kind)}/{name}/status?{ASK_ONLY}"
    return client.send("PATCH", path, body, as_type="application/merge-patch+json")


def schema_of(kind: type[KubernetesObject]) -> Schema:
    """Return the schema of a kind's objects."""
    (version,) = definition_of(kind)["spec"]["versions"]
    schema: Schema = version["schema"]["openAPIV3Schema"]
    return schema


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_the_schema_allows_is_taken(cluster_with_crds: Cluster, kind: type[KubernetesObject]) -> None:
    """No object that hypothesis makes by our reading of a schema is refused."""
    client = Client(cluster_with_crds)

    for sent in made_objects(kind):
        answer = create(client, kind, sent)
        assert answer.code == 201, (answer.body.get("message"), json.dumps(sent))


# --- what is forbidden -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong:
    """A value that a schema forbids, and what is said of it."""

    path: tuple[str, ...]
    """Names of members; `[]` is the one item of a list, `{}` the member `key` of a map."""
    value: Any
    words: str
    """All but the field."""
    missing: str = ""
    """The member of the value that should be there."""

    @property
    def field(self) -> str:
        """The field as servers name it."""
        parts = (*self.path, self.missing) if self.missing else self.path
        return "".join({"[]": "[0]", "{}": ".key"}.get(part, f".{part}") for part in parts).removeprefix(".")


def wrong_values(schema: Schema, path: tuple[str, ...] = ()) -> Iterator[Wrong]:
    """List one wrong value for each limit of a schema and of its parts."""
    shown = Wrong(path=path, value=None, words="").field
    for keyword, make in BREAKERS.items():
        if keyword in schema and schema.get("format") != "date-time":
            value, words = make(schema[keyword])
            yield Wrong(path=path, value=value, words=words.format(path=shown))
    yield from wrong_types(schema, path, shown)
    for name in schema.get("required", ()):
        rest = {key: value for key, value in smallest(schema).items() if key != name}
        yield Wrong(path=path, value=rest, words="Required value", missing=name)
    for name, part in schema.get("properties", {}).items():
        if path or name not in {"apiVersion", "kind", "metadata"}:
            yield from wrong_values(part, (*path, name))
    if "items" in schema:
        yield from wrong_values(schema["items"], (*path, "[]"))
    if "additionalProperties" in schema:
        yield from wrong_values(schema["additionalProperties"], (*path, "{}"))


def wrong_types(schema: Schema, path: tuple[str, ...], shown: str) -> Iterator[Wrong]:
    """List a value of another type than the schema's, and a moment that is none."""
    kind, is_moment = schema.get("type", "integer,string"), schema.get("format") == "date-time"
    if not path or "enum" in schema:
        return  # what is told of an object without a kind, or of a value that breaks two rules, is another matter
    value, found = ("never", '"never"') if is_moment else (True, '"boolean"') if kind != "boolean" else (5, '"integer"')
    wanted = "date-time" if is_moment else schema.get("format", kind)
    told = '""' if "format" in schema and not is_moment else found
    yield Wrong(
        path=path, value=value, words=f"Invalid value: {told}: {shown} in body must be of type {wanted}: {told}"
    )


def in_body(value: Any, detail: str) -> tuple[Any, str]:
    """Return a value and what is said of it."""
    shown = json.dumps(value, separators=(",", ":")).replace("{", "{{").replace("}", "}}")
    return value, f"Invalid value: {shown}: {{path}} in body {detail.replace('{', '{{').replace('}', '}}')}"


BREAKERS: dict[str, Callable[[Any], tuple[Any, str]]] = {
    "minimum": lambda least: in_body(least - 1, f"should be greater than or equal to {least}"),
    "maximum": lambda most: in_body(most + 1, f"should be less than or equal to {most}"),
    "minLength": lambda least: in_body("", f"should be at least {least} chars long"),
    "maxLength": lambda most: ("a" * (most + 1), f"Too long: may not be more than {most} bytes"),
    "pattern": lambda pattern: in_body(":", f"should match '{pattern}'"),
    "enum": lambda allowed: (
        "astray",
        'Unsupported value: "astray": supported values: ' + ", ".join(f'"{value}"' for value in allowed),
    ),
}
"""For each keyword: from its value to a wrong value and what is said of that."""


def with_wrong(schema: Schema, wrong: Wrong) -> dict[str, Any]:
    """Return the smallest object that has a wrong value in its place."""
    body = least(schema, wrong.path, wrong.value)
    assert isinstance(body, dict)
    return body


def least(schema: Schema, path: tuple[str, ...], value: Any) -> Any:
    """Return the smallest value that has another at a path below it."""
    if not path:
        return value
    (first, *rest) = path
    if first == "[]":
        return [least(schema["items"], tuple(rest), value)]
    if first == "{}":
        return {"key": least(schema["additionalProperties"], tuple(rest), value)}
    members = smallest(schema, without_choice=True)
    return {**members, first: least(schema["properties"][first], tuple(rest), value)}


def smallest(schema: Schema, *, without_choice: bool = False) -> Any:
    """Return the smallest value that a schema allows."""
    if schema.get("type") == "object":
        needed = set(schema.get("required", ()))
        if not without_choice:
            needed |= set(exclusive_members(schema)[:1])
        return {name: smallest(schema["properties"][name]) for name in sorted(needed)}
    if schema.get("type") == "array":
        return [smallest(schema["items"])] * schema.get("minItems", 0)
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("format") == "date-time":
        return "2026-01-02T03:04:05Z"
    return {"string": "a", "integer": max(schema.get("minimum", 1), 1), "boolean": True}[schema["type"]]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_the_schema_forbids_is_refused(cluster_with_crds: Cluster, kind: type[KubernetesObject]) -> None:
    """Each limit of each field is reported in the same words, with its field, value and limit."""
    client, schema = Client(cluster_with_crds), schema_of(kind)
    held = {**smallest(schema), "metadata": {"name": "limits"}}
    assert create(client, kind, held, query="fieldValidation=Strict").code == 201

    told, expected = {}, {}
    for wrong in wrong_values(schema):
        body, words = with_wrong(schema, wrong), wrong.words
        if wrong.path[:1] == ("status",) and kind.definition.has_status_subresource:
            answer = write_status(client, kind, "limits", {"status": body["status"]})
            words = words.replace(f"{wrong.field} in body", f"{wrong.field[len('status.') :]} in body")
        else:
            answer = create(client, kind, {**body, "metadata": {"name": "bad"}})
        assert answer.code == 422, (wrong, answer.body)
        causes = [f"{cause['field']}: {cause['message']}" for cause in answer.body["details"]["causes"]]
        told[wrong.field, repr(wrong.value)] = causes[0]
        expected[wrong.field, repr(wrong.value)] = f"{wrong.field}: {words}"

    assert told == expected
