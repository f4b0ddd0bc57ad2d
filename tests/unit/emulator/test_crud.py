"""Creating, replacing, patching and listing objects of any kind."""

import asyncio

import pytest

from tests.unit.emulator.wire import MERGE, NODES, PODS, Client, pod

MAPS = "/api/v1/namespaces/default/configmaps"


async def test_names_are_generated_apart(client: Client) -> None:
    """`generateName` gives a fresh name each time."""
    made = await asyncio.gather(*(client.post(MAPS, {"metadata": {"generateName": "x-"}}) for _ in range(20)))

    names = {answer.body["metadata"]["name"] for answer in made}
    assert len(names) == 20
    assert all(name.startswith("x-") and len(name) == 7 for name in names)


async def test_a_stale_replacement_conflicts(client: Client) -> None:
    """Optimistic concurrency, in the server's words."""
    old = (await client.post(MAPS, {"metadata": {"name": "a"}, "data": {"k": "1"}})).body
    await client.send("PATCH", f"{MAPS}/a", {"data": {"k": "2"}}, kind=MERGE)

    assert (await client.send("PUT", f"{MAPS}/a", old)).refusal == (
        409,
        "Conflict",
        (
            'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
            "please apply your changes to the latest version and try again"
        ),
    )


async def test_a_change_of_nothing_keeps_the_revision(client: Client) -> None:
    """A write that says what is there makes no event."""
    made = (await client.post(MAPS, {"metadata": {"name": "a"}, "data": {"k": "1"}})).body

    same = (await client.send("PATCH", f"{MAPS}/a", {"data": {"k": "1"}}, kind=MERGE)).body

    assert same["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_a_dry_run_leaves_nothing(client: Client) -> None:
    """The answer shows what would be; the object is not there."""
    assert (await client.post(f"{MAPS}?dryRun=All", {"metadata": {"name": "a"}})).code == 201
    assert (await client.get(f"{MAPS}/a")).refusal == (404, "NotFound", 'configmaps "a" not found')


async def test_a_lease_is_won_by_one(client: Client) -> None:
    """The second of two holders that replace the same version gets 409."""
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    lease = (await client.post(path, {"metadata": {"name": "l"}, "spec": {"holderIdentity": ""}})).body
    claims = [{**lease, "spec": {"holderIdentity": holder}} for holder in ("a", "b")]

    codes = [answer.code for answer in [await client.send("PUT", f"{path}/l", claim) for claim in claims]]

    assert codes == [200, 409]


async def test_both_faces_of_events_are_one(client: Client) -> None:
    """What is written through `events.k8s.io` is read in the core group, by its names."""
    event = {
        "metadata": {"name": "e"},
        "regarding": {"kind": "Pod", "name": "a"},
        "note": "Successfully assigned",
        "reason": "Scheduled",
        "type": "Normal",
        "reportingController": "volcano",
    }
    new = "/apis/events.k8s.io/v1/namespaces/default/events"
    await client.post(new, event)

    selector = "involvedObject.name%3Da"
    (item,) = (await client.get(f"/api/v1/namespaces/default/events?fieldSelector={selector}")).body["items"]

    assert (item["message"], item["involvedObject"]["name"]) == ("Successfully assigned", "a")
    assert (await client.get(f"{new}/e")).body["note"] == "Successfully assigned"


async def test_lists_take_selectors_and_pages(client: Client) -> None:
    """Labels, fields and limit together."""
    for number in range(4):
        await client.post(PODS, pod(f"p{number}", labels={"odd": str(number % 2)}))
    await client.bind("p1")
    odd = (await client.get(f"{PODS}?labelSelector=odd%3D1&limit=1")).body
    free = (await client.get(f"{PODS}?fieldSelector=spec.nodeName%3D")).body

    assert [item["metadata"]["name"] for item in odd["items"]] == ["p1"]
    rest = (await client.get(f"{PODS}?labelSelector=odd%3D1&limit=1&continue={odd['metadata']['continue']}")).body
    assert [item["metadata"]["name"] for item in rest["items"]] == ["p3"]
    assert [item["metadata"]["name"] for item in free["items"]] == ["p0", "p2", "p3"]


async def test_metadata_alone_can_be_listed(client: Client) -> None:
    """PartialObjectMetadataList, as garbage collectors ask for it."""
    await client.post(PODS, pod("a"))
    client.session.headers["Accept"] = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

    listed = (await client.get(PODS)).body

    assert listed["kind"] == "PartialObjectMetadataList"
    assert set(listed["items"][0]) == {"kind", "apiVersion", "metadata"}


async def test_a_collection_is_deleted_by_selector(client: Client) -> None:
    """Only what matches goes."""
    for name, tier in (("a", "x"), ("b", "y")):
        await client.post(MAPS, {"metadata": {"name": name, "labels": {"tier": tier}}})

    await client.send("DELETE", f"{MAPS}?labelSelector=tier%3Dx")

    assert [item["metadata"]["name"] for item in (await client.get(MAPS)).body["items"]] == ["b"]


async def test_nodes_register_with_their_status(client: Client) -> None:
    """The kubelet's way; later the status has its own door."""
    node = {"metadata": {"name": "n1"}, "status": {"capacity": {"cpu": "4"}}}
    assert (await client.post(NODES, node)).body["status"] == {"capacity": {"cpu": "4"}}

    changed = await client.send("PATCH", f"{NODES}/n1", {"status": {"capacity": {"cpu": "9"}}}, kind=MERGE)

    assert changed.body["status"] == {"capacity": {"cpu": "4"}}


@pytest.mark.parametrize(
    ("method", "path", "code", "reason"),
    [
        ("GET", "/api/v1/unheard", 404, "NotFound"),
        ("POST", f"{PODS}/a", 405, "MethodNotAllowed"),
        ("POST", "/api/v1/pods", 405, "MethodNotAllowed"),
        ("POST", "/api/v1/namespaces/nowhere/configmaps", 404, "NotFound"),
        ("GET", f"{PODS}?limit=x", 400, "BadRequest"),
        ("GET", f"{PODS}?resourceVersion=x", 400, "BadRequest"),
        ("GET", f"{PODS}?resourceVersion=99999", 504, "Timeout"),
        ("GET", f"{PODS}?resourceVersionMatch=Exact", 422, "Invalid"),
        ("GET", f"{PODS}?fieldSelector=spec.unheard%3D1", 400, "BadRequest"),
        ("GET", f"{PODS}?continue=nonsense", 400, "BadRequest"),
    ],
)
async def test_wrong_requests_are_refused(client: Client, method: str, path: str, code: int, reason: str) -> None:
    """A Status with the right code and reason."""
    body = {"metadata": {"name": "a"}} if method == "POST" else None

    assert (await client.send(method, path, body)).refusal[:2] == (code, reason)


async def test_tokens_are_not_made(client: Client) -> None:
    """One of them would open nothing here; the subresource is not there, and discovery does not name it."""
    account = "/api/v1/namespaces/default/serviceaccounts/robot"
    await client.post("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "robot"}})

    refused = await client.post(f"{account}/token", {"kind": "TokenRequest", "spec": {}})

    assert refused.refusal == (404, "NotFound", "the server could not find the requested resource")
    served = {line["name"] for line in (await client.get("/api/v1")).body["resources"]}
    assert "serviceaccounts" in served
    assert "serviceaccounts/token" not in served


async def test_broken_bodies_are_refused(client: Client) -> None:
    """Text that is no JSON, and forms that are not read."""
    for kind, code in (("application/json", 400), ("text/plain", 415)):
        headers = {"Content-Type": kind}
        async with client.session.post(client.url + MAPS, data=b"{nonsense", headers=headers) as response:
            assert response.status == code


async def test_only_json_and_yaml_are_written(client: Client) -> None:
    """406 for other wishes."""
    async with client.session.get(client.url + MAPS, headers={"Accept": "text/html"}) as response:
        assert response.status == 406
    async with client.session.get(client.url + MAPS, headers={"Accept": "application/yaml"}) as response:
        assert "kind: ConfigMapList" in await response.text()


async def test_unknown_fields_of_a_pod_are_refused_when_asked(client: Client) -> None:
    """Strict as kubectl asks it, with a warning where it asks for one."""
    wrong = pod("a", contianers=[])
    strict = await client.post(f"{PODS}?fieldValidation=Strict", wrong)
    warned = await client.post(f"{PODS}?fieldValidation=Warn", wrong)

    assert strict.refusal[2] == (
        'Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec.contianers"'
    )
    assert warned.headers["Warning"] == '299 - "unknown field \\"spec.contianers\\""'
    assert "contianers" not in warned.body["spec"]
