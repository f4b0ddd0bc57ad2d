"""Custom resources: a posted definition is served, with all it says."""

import copy

import pytest

from tests.unit.emulator.wire import MERGE, Client, Object

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LAMPS = "/apis/example.com/v1/namespaces/default/lamps"
OLD_LAMPS = "/apis/example.com/v1beta1/namespaces/default/lamps"
SCHEMA: Object = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["watts"],
            "properties": {
                "watts": {"type": "integer", "minimum": 1},
                "colour": {"type": "string", "default": "white"},
                "count": {"type": "integer"},
            },
        },
        "status": {"type": "object", "properties": {"lit": {"type": "boolean"}, "count": {"type": "integer"}}},
    },
}
SCALE = {"specReplicasPath": ".spec.count", "statusReplicasPath": ".status.count"}


def version(name: str, *, storage: bool) -> Object:
    """One version of the definition."""
    schema = {"openAPIV3Schema": copy.deepcopy(SCHEMA)}
    subresources = {"status": {}, "scale": SCALE}
    return {"name": name, "served": True, "storage": storage, "schema": schema, "subresources": subresources}


def definition() -> Object:
    """A definition of lamps, in two versions."""
    names = {"plural": "lamps", "kind": "Lamp"}
    versions = [version("v1", storage=True), version("v1beta1", storage=False)]
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    return {"metadata": {"name": "lamps.example.com"}, "spec": spec}


def lamp(name: str = "desk", **spec: object) -> Object:
    """A lamp."""
    return {"apiVersion": "example.com/v1", "kind": "Lamp", "metadata": {"name": name}, "spec": {"watts": 9, **spec}}


@pytest.fixture
async def lamps(client: Client) -> Client:
    """A client of a server that knows lamps."""
    assert (await client.post(DEFINITIONS, definition())).code == 201
    return client


async def test_a_definition_is_established(lamps: Client) -> None:
    """Names completed and accepted."""
    body = (await lamps.get(f"{DEFINITIONS}/lamps.example.com")).body

    assert body["status"]["acceptedNames"]["listKind"] == "LampList"
    assert {one["type"]: one["status"] for one in body["status"]["conditions"]} == {
        "NamesAccepted": "True",
        "Established": "True",
    }


async def test_defaults_are_set_and_unknown_fields_warned_of(lamps: Client) -> None:
    """The answer is pruned and completed; a warning names what was dropped."""
    answer = await lamps.post(LAMPS, lamp(glow=3))

    assert answer.body["spec"] == {"watts": 9, "colour": "white"}
    assert answer.headers["Warning"] == '299 - "unknown field \\"spec.glow\\""'


async def test_strict_validation_refuses_unknown_fields(lamps: Client) -> None:
    """`fieldValidation=Strict`, as kubectl sends it."""
    code, reason, message = (await lamps.post(f"{LAMPS}?fieldValidation=Strict", lamp(glow=3))).refusal

    assert (code, reason) == (400, "BadRequest")
    assert message.endswith('strict decoding error: unknown field "spec.glow"')


async def test_the_schema_is_enforced(lamps: Client) -> None:
    """On create and on change."""
    assert (await lamps.post(LAMPS, lamp(watts=0))).refusal[:2] == (422, "Invalid")
    await lamps.post(LAMPS, lamp())
    refused = await lamps.send("PATCH", f"{LAMPS}/desk", {"spec": {"watts": "many"}}, kind=MERGE)
    assert refused.body["details"]["causes"][0]["field"] == "spec.watts"


async def test_status_and_specification_are_apart(lamps: Client) -> None:
    """A status sent with the object is dropped; the subresource changes nothing else; generations count."""
    made = (await lamps.post(LAMPS, {**lamp(), "status": {"lit": True}})).body
    assert "status" not in made

    change = {"spec": {"watts": 1}, "status": {"lit": True}}
    lit = (await lamps.send("PATCH", f"{LAMPS}/desk/status", change, kind=MERGE)).body
    assert (lit["spec"]["watts"], lit["status"], lit["metadata"]["generation"]) == (9, {"lit": True}, 1)
    brighter = (await lamps.send("PATCH", f"{LAMPS}/desk", change, kind=MERGE)).body
    assert (brighter["spec"]["watts"], brighter["metadata"]["generation"]) == (1, 2)


async def test_a_lamp_is_scaled(lamps: Client) -> None:
    """The scale subresource reads and writes the paths of the definition."""
    await lamps.post(LAMPS, lamp(count=1))

    scaled = (await lamps.send("PATCH", f"{LAMPS}/desk/scale", {"spec": {"replicas": 4}}, kind=MERGE)).body

    assert (scaled["kind"], scaled["spec"]["replicas"]) == ("Scale", 4)
    assert (await lamps.get(f"{LAMPS}/desk")).body["spec"]["count"] == 4


async def test_versions_share_their_objects(lamps: Client) -> None:
    """What is made in one version is seen in the other, under its name."""
    await lamps.post(LAMPS, lamp())

    assert (await lamps.get(f"{OLD_LAMPS}/desk")).body["apiVersion"] == "example.com/v1beta1"
    (item,) = (await lamps.get(OLD_LAMPS)).body["items"]
    assert (item["apiVersion"], item["kind"]) == ("example.com/v1beta1", "Lamp")


async def test_the_objects_go_with_their_definition(lamps: Client) -> None:
    """Watches see them go, then the kind is unknown."""
    await lamps.post(LAMPS, lamp())
    async with lamps.watch(f"{LAMPS}?resourceVersion=1") as events:
        await events.take()
        await lamps.send("DELETE", f"{DEFINITIONS}/lamps.example.com")
        assert await events.names(1) == [("DELETED", "desk")]
        assert await events.response.content.read() == b""

    assert (await lamps.get(LAMPS)).code == 404


async def test_a_misnamed_definition_is_refused(client: Client) -> None:
    """The name must be plural and group."""
    wrong = definition()
    wrong["metadata"]["name"] = "lights.example.com"

    code, _, message = (await client.post(DEFINITIONS, wrong)).refusal

    assert code == 422
    assert 'must be spec.names.plural+"."+spec.group' in message


@pytest.mark.parametrize(
    ("group", "approved", "message"),
    [
        ("lights.example.com", None, None),
        ("notk8s.io", None, None),
        ("lights.k8s.io", "https://example.com/decided", None),
        ("lights.k8s.io", "unapproved, for a trial", None),
        ("k8s.io", None, "protected groups must have approval annotation"),
        ("lights.k8s.io", None, "protected groups must have approval annotation"),
        ("lights.kubernetes.io", None, "protected groups must have approval annotation"),
        ("lights.k8s.io", "yes", 'with either a URL or a reason starting with "unapproved"'),
    ],
)
async def test_groups_of_kubernetes_are_protected(
    client: Client, group: str, approved: str | None, message: str | None
) -> None:
    """A definition of a kind of a protected group needs the approval annotation; a real server refuses it otherwise."""
    posted = definition()
    posted["metadata"] = {"name": f"lamps.{group}"}
    posted["spec"]["group"] = group
    if approved is not None:
        posted["metadata"]["annotations"] = {"api-approved.kubernetes.io": approved}

    answer = await client.post(DEFINITIONS, posted)

    assert answer.code == (201 if message is None else 422), answer.body
    assert message is None or message in answer.body["message"]
