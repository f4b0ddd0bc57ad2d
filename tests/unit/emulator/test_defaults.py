"""What the server fills in of services, secrets, volumes and Jobs."""

import ipaddress

from tests.unit.emulator.wire import MERGE, Client, Object

CORE = "/api/v1/namespaces/default"
JOBS = "/apis/batch/v1/namespaces/default/jobs"


async def made(client: Client, path: str, body: Object) -> Object:
    """Create an object; return it as it stands then."""
    answer = await client.post(path, body)
    assert answer.code == 201, answer.body
    found: Object = answer.body
    return found


async def test_a_service_keeps_the_address_that_it_is_given(client: Client) -> None:
    """Each has one of its own; a manifest that names none may be put once more."""
    manifest = {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}
    spec = (await made(client, f"{CORE}/services", manifest))["spec"]
    other = (await made(client, f"{CORE}/services", {**manifest, "metadata": {"name": "b"}}))["spec"]
    again = (await client.send("PUT", f"{CORE}/services/a", manifest)).body["spec"]

    assert spec["type"] == "ClusterIP"
    assert spec["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    assert spec["clusterIPs"] == [spec["clusterIP"]]
    assert ipaddress.ip_address(spec["clusterIP"]) in ipaddress.ip_network("10.96.0.0/12")
    assert spec["clusterIP"] != other["clusterIP"]
    assert again == spec


async def test_services_without_an_address(client: Client) -> None:
    """Headless ones say so; names of others have none."""
    headless = await made(client, f"{CORE}/services", {"metadata": {"name": "h"}, "spec": {"clusterIP": "None"}})
    outside = {"metadata": {"name": "o"}, "spec": {"type": "ExternalName", "externalName": "example.com"}}

    assert headless["spec"]["clusterIPs"] == ["None"]
    assert "clusterIP" not in (await made(client, f"{CORE}/services", outside))["spec"]


async def test_text_of_a_secret_becomes_data(client: Client) -> None:
    """On creation and on change; it is never read back."""
    secret = await made(client, f"{CORE}/secrets", {"metadata": {"name": "s"}, "stringData": {"a": "b"}})
    changed = await client.send("PATCH", f"{CORE}/secrets/s", {"stringData": {"c": "d"}}, kind=MERGE)

    assert (secret["type"], secret["data"]) == ("Opaque", {"a": "Yg=="})
    assert changed.body["data"] == {"a": "Yg==", "c": "ZA=="}
    assert "stringData" not in changed.body


async def test_a_claim_waits_to_be_bound(client: Client) -> None:
    """Whatever status its maker writes."""
    claim = {"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOnce"]}, "status": {"phase": "Bound"}}
    found = await made(client, f"{CORE}/persistentvolumeclaims", claim)

    assert (found["status"], found["spec"]["volumeMode"]) == ({"phase": "Pending"}, "Filesystem")


async def test_a_job_selects_its_pods_by_its_uid(client: Client) -> None:
    """Unless its user chose the selector; one that is put once more keeps it."""
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    manifest = {"metadata": {"name": "j"}, "spec": {"template": template}}
    job = await made(client, JOBS, manifest)
    mine = {"manualSelector": True, "selector": {"matchLabels": {"mine": "1"}}}
    own = await made(client, JOBS, {"metadata": {"name": "k"}, "spec": {"template": template, **mine}})
    again = (await client.send("PUT", f"{JOBS}/j", manifest)).body

    labels = job["spec"]["template"]["metadata"]["labels"]
    assert job["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert labels["batch.kubernetes.io/job-name"] == "j"
    assert (job["spec"]["completions"], job["spec"]["parallelism"]) == (1, 1)
    assert own["spec"]["selector"] == mine["selector"]
    assert again["spec"]["selector"] == job["spec"]["selector"]
