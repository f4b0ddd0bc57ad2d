"""The server: limits, refusals in clear texts, and queues that are looked at twice."""

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import aiohttp
import pytest
import trustme
from aiohttp import web

from pyroclast.controllers.admission.cluster import AdmissionCluster
from pyroclast.controllers.admission.handlers import AdmissionPolicy
from pyroclast.controllers.admission.limits import SMALL_BODY_BYTES, ClientConnections, RequestBodies, listen
from pyroclast.controllers.admission.lookups import Lookups, QueuesByName
from pyroclast.controllers.admission.options import AdmissionOptions
from pyroclast.controllers.admission.process import Admission
from pyroclast.controllers.admission.server import LARGEST_BODY_BYTES, Server
from pyroclast.kube.api.resources import ELASTIC_QUOTA_PROFILES, ELASTIC_QUOTAS
from pyroclast.model.elastic.names import NAMESPACES, QUOTA_NAME, TREE_ID
from pyroclast.model.errors import ConfigError
from tests.elastic_quotas import elastic_quota
from tests.unit.controllers.admission.objects import Json, job, queue_json
from tests.unit.controllers.ground import Ground

JOBS = {"group": "batch.volcano.sh", "version": "v1alpha1", "resource": "jobs"}


@dataclass
class Asking:
    """The user of a request, as the API server sends it."""

    address: str
    session: aiohttp.ClientSession

    async def raw(self, path: str, body: bytes, content_type: str = "application/json") -> tuple[int, str]:
        """Post bytes; return status and text."""
        headers = {"Content-Type": content_type}
        async with self.session.post(f"{self.address}{path}", data=body, headers=headers) as reply:
            return reply.status, await reply.text()

    async def ask(self, path: str, **request: Any) -> Json:
        """Ask properly; return the response."""
        envelope = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u", **request}}
        status, text = await self.raw(path, json.dumps(envelope).encode())
        assert status == 200, text
        response: Json = json.loads(text)["response"]
        return response


@asynccontextmanager
async def asking(ground: Ground, **options: Any) -> AsyncIterator[Asking]:
    """Admission at work on a server in memory."""
    chosen = AdmissionOptions(address="127.0.0.1:0", namespace="default", extra_names=("127.0.0.1",), **options)
    admission = Admission(ground.client, chosen)
    running = asyncio.create_task(admission.run())
    try:
        await ground.soon(lambda: running.done() or admission.trouble() is None)
        secret = await ground.client.request_json("GET", "/api/v1/namespaces/default/secrets/pyroclast-admission")
        trusted = ssl.create_default_context(cadata=decoded(secret["data"]["ca.crt"]))
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trusted)) as session:
            yield Asking(f"https://127.0.0.1:{admission.port}", session)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def decoded(text: str) -> str:
    """What stands in a Secret."""
    return base64.b64decode(text).decode()


async def create_queue(ground: Ground, name: str, **spec: Any) -> None:
    """Make a queue."""
    body = queue_json(name, **spec)
    await ground.client.request_json("POST", "/apis/scheduling.volcano.sh/v1beta1/queues", body=body)


async def test_questions_are_answered(ground: Ground) -> None:
    """Over TLS, with the certificate that was made; probes beside."""
    await create_queue(ground, "default")
    async with asking(ground) as api:
        refused = await api.ask("/jobs/validate", operation="CREATE", object=job(queue="nowhere"), resource=JOBS)
        allowed = await api.ask("/jobs/validate", operation="CREATE", object=job(), resource=JOBS)
        async with (
            api.session.get(f"{api.address}/readyz") as ready,
            api.session.get(f"{api.address}/healthz") as alive,
        ):
            assert (ready.status, alive.status) == (200, 200)

    assert "unable to find job queue" in refused["status"]["message"]
    assert allowed == {"uid": "u", "allowed": True}


@pytest.mark.parametrize("name", ["kube-apiserver", "somebody"])
async def test_a_client_without_the_expected_name_is_forbidden(ground: Ground, tmp_path: Path, name: str) -> None:
    """Its certificate is of the authority all the same; without one there is no connection."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.crt")
    options = {"client_ca_file": str(tmp_path / "ca.crt"), "client_names": ("kube-apiserver",)}
    async with asking(ground, **options) as api:
        assert isinstance(api.session.connector, aiohttp.TCPConnector)
        with pytest.raises((aiohttp.ClientError, ConnectionError)):
            await api.raw("/queues/validate", b"{}")
        trusted = api.session.connector._ssl
        assert isinstance(trusted, ssl.SSLContext)
        authority.issue_cert(common_name=name).configure_cert(trusted)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trusted)) as session:
            status, text = await Asking(api.address, session).raw("/queues/validate", b"{}")

    assert status == (400 if name == "kube-apiserver" else 403), text


class Lagging(AdmissionCluster):
    """A watch that has seen no queue yet."""

    async def lookups(self) -> Lookups:
        """Know nothing."""
        return QueuesByName([])


class Broken(AdmissionCluster):
    """A fault of ours."""

    async def lookups(self) -> Lookups:
        """Fail."""
        raise ZeroDivisionError("secret detail")


@asynccontextmanager
async def plain(cluster: AdmissionCluster, **options: Any) -> AsyncIterator[Asking]:
    """A server alone, without TLS."""
    server = Server(cluster, AdmissionPolicy(), **options)
    await server.start("127.0.0.1", 0, None)
    try:
        async with aiohttp.ClientSession() as session:
            yield Asking(f"http://127.0.0.1:{server.port}", session)
    finally:
        await server.stop()


async def test_a_queue_that_was_not_seen_yet_is_looked_for(ground: Ground) -> None:
    """The watch lags: the refusal is checked against the API server itself."""
    await create_queue(ground, "quick")
    async with plain(Lagging(ground.client)) as api:
        allowed = await api.ask("/jobs/validate", operation="CREATE", object=job(queue="quick"), resource=JOBS)
        refused = await api.ask("/jobs/validate", operation="CREATE", object=job(queue="gone"), resource=JOBS)

    assert (allowed["allowed"], refused["allowed"]) == (True, False)


async def test_without_an_api_server_the_rest_is_judged(ground: Ground) -> None:
    """The answer has a warning that queues were not checked."""
    ground.emulator.faults.add(resource="queues", code=503)
    async with plain(AdmissionCluster(ground.client)) as api:
        answer = await api.ask("/jobs/validate", operation="CREATE", object=job(queue="quick"), resource=JOBS)

    assert answer["allowed"] is True
    assert "the queues could not be read" in answer["warnings"][0]


@pytest.mark.parametrize(
    ("body", "content_type", "status", "words"),
    [
        (b"{", "application/json", 400, "the body is not JSON"),
        (b"{}", "application/json", 400, "expected AdmissionReview of admission.k8s.io/v1"),
        (b"{}", "text/plain", 415, "got text/plain, expected application/json"),
        (b" " * (LARGEST_BODY_BYTES + 1), "application/json", 413, "the body is larger than"),
    ],
)
async def test_what_is_no_question(ground: Ground, body: bytes, content_type: str, status: int, words: str) -> None:
    """Clear texts with the right status."""
    async with asking(ground) as api:
        got, text = await api.raw("/jobs/validate", body, content_type)
        other = await api.raw("/nothing", b"{}")

    assert got == status
    assert words in text
    assert other[0] == 404


async def test_large_objects_are_taken(ground: Ground) -> None:
    """Both versions of the largest object that the API server takes."""
    large = job()
    large["metadata"]["annotations"] = {"a": "x" * (3 * 2**20)}
    async with asking(ground) as api:
        answer = await api.ask("/jobs/validate", operation="UPDATE", object=large, oldObject=large, resource=JOBS)

    assert answer["allowed"] is True


async def test_a_question_that_does_not_end_is_given_up(ground: Ground) -> None:
    """A connection that says half of it is not waited for."""

    async def half() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(30)

    async with plain(AdmissionCluster(ground.client), body_seconds=0.1) as api:
        headers = {"Content-Type": "application/json"}
        async with api.session.post(f"{api.address}/jobs/validate", data=half(), headers=headers) as reply:
            assert reply.status == 408


async def test_a_fault_of_ours_shows_no_traceback(ground: Ground) -> None:
    """It is a 500, so that the failure policy decides; the log has the rest."""
    async with plain(Broken(ground.client)) as api:
        body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u"}}
        status, text = await api.raw("/jobs/validate", json.dumps(body).encode())

    assert (status, text) == (500, "admission failed; its log says why\n")


async def test_pods_get_the_fields_of_their_group(ground: Ground, tmp_path: Path) -> None:
    """The file is read at the start."""
    file = tmp_path / "groups.yaml"
    file.write_text("resourceGroups: [{resourceGroup: gpu, schedulerName: other}]")
    pod = {"metadata": {"annotations": {"volcano.sh/resource-group": "gpu"}}, "spec": {}}
    resource = {"group": "", "version": "v1", "resource": "pods"}
    async with asking(ground, resource_groups_file=str(file)) as api:
        answer = await api.ask("/pods/mutate", operation="CREATE", object=pod, resource=resource)

    assert json.loads(decoded(answer["patch"])) == [{"op": "add", "path": "/spec/schedulerName", "value": "other"}]


@contextmanager
def refused(words: str) -> Iterator[None]:
    """The block ends with a fault of configuration."""
    with pytest.raises(ConfigError) as caught:
        yield
    assert words in str(caught.value)


def test_names_are_written_as_certificates_have_them() -> None:
    """Otherwise a certificate would look wrong for ever."""
    options = AdmissionOptions(extra_names=("https://[0:0::1]:8443/x", "10.0.0.1", "https://a.b:8443"))

    assert options.names[-3:] == ("::1", "10.0.0.1", "a.b")


def test_options_that_cannot_work_are_refused(ground: Ground, tmp_path: Path) -> None:
    """Each with what was got and what was expected."""
    with refused("admission path: got '/x', expected one of /jobs/mutate"):
        AdmissionOptions(paths=("/x",))
    with refused("tls-cert-file and tls-private-key-file: expected both or none"):
        AdmissionOptions(tls_cert_file="a")
    with refused("admission address: got 'here', expected host:port or :port"):
        AdmissionOptions(address="here")
    with refused("webhook-url: got 'https://', expected a DNS name, an address, or a URL"):
        AdmissionOptions(extra_names=("https://", "::1", "https://[::1]:8443/x", "https://a.b:8443", "a.b"))
    with refused("max-queue-depth: got 0, expected at least 1"):
        AdmissionOptions(max_queue_depth=0)
    with refused("No such file"):
        Admission(ground.client, AdmissionOptions(resource_groups_file=str(tmp_path / "none")))


@pytest.mark.parametrize(
    ("quota", "namespace", "is_narrowed"),
    [
        ("team", "default", True),
        ("nobody", "default", False),
        ("", "default", False),
        ("", "miners", True),
        ("", "listed", True),
        ("plain", "miners", False),
    ],
)
async def test_pods_of_a_tree_of_quotas_get_its_nodes(
    ground: Ground, quota: str, namespace: str, is_narrowed: bool
) -> None:
    """Quotas by name, by namespace, or by a list; a profile sets the nodes."""
    listed = {NAMESPACES: '["listed"]'}
    for made in (
        elastic_quota("team", tree="gpus", annotations=listed, namespace="default"),
        elastic_quota("plain", namespace="default"),
        elastic_quota("miners", tree="gpus", namespace="miners"),
    ):
        where = made["metadata"]["namespace"]
        if where != "default":
            await ground.post("/api/v1/namespaces", {"metadata": {"name": where}})
        await ground.post(ELASTIC_QUOTAS.collection(where), made)
    spec = {"quotaName": "root", "nodeSelector": {"matchLabels": {"pool": "gpu"}}}
    metadata = {"name": "gpus", "labels": {TREE_ID: "gpus"}}
    head = {"apiVersion": "quota.koordinator.sh/v1alpha1", "kind": "ElasticQuotaProfile"}
    await ground.post(ELASTIC_QUOTA_PROFILES.collection("default"), {**head, "metadata": metadata, "spec": spec})
    pod = {"metadata": {"labels": {QUOTA_NAME: quota} if quota else {}}, "spec": {"schedulerName": "volcano"}}
    resource = {"group": "", "version": "v1", "resource": "pods"}
    cluster = AdmissionCluster(ground.client)
    following = asyncio.create_task(cluster.run())
    await ground.soon(lambda: cluster.nodes_of_tree("team", "") is not None)

    async with plain(cluster) as api:
        answer = await api.ask("/pods/mutate", operation="CREATE", object=pod, namespace=namespace, resource=resource)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)

    assert ("patch" in answer) is is_narrowed
    if is_narrowed:
        (patch,) = json.loads(base64.b64decode(answer["patch"]))
        assert (patch["path"], "pool" in json.dumps(patch["value"])) == ("/spec/affinity", True)


class Body:
    """A body that comes in pieces of 64 KiB; `read` counts what was taken of it."""

    def __init__(self, pieces: int) -> None:
        self.read, self._pieces, self.content = 0, pieces, self

    async def iter_any(self) -> AsyncIterator[bytes]:
        """Give the pieces."""
        for _ in range(self._pieces):
            self.read += 2**16
            yield b" " * 2**16
            await asyncio.sleep(0)
        await asyncio.Event().wait()  # the end never comes


async def turns(count: int) -> None:
    """Let others on the loop have their turns."""
    for _ in range(count):
        await asyncio.sleep(0)


async def test_of_large_questions_a_few_are_held_at_a_time() -> None:
    """Sixty callers that send large bodies and do not end them hold a few in memory; the rest waits unread."""
    bodies, asked = RequestBodies(), [Body(100) for _ in range(60)]

    async def ask(body: Body) -> None:
        async with AsyncExitStack() as held:
            await bodies.read(cast("web.Request", body), held)

    tasks = [asyncio.create_task(ask(body)) for body in asked]
    await turns(500)
    assert sum(body.read for body in asked) <= 4 * 100 * 2**16 + 56 * (SMALL_BODY_BYTES + 2**16)

    for task in tasks[:4]:
        task.cancel()
    await turns(500)
    assert sum(body.read == 100 * 2**16 for body in asked) == 8, [body.read for body in asked]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_idle_connections_give_way_to_new_ones() -> None:
    """A caller that opens many connections excludes no other."""

    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        return web.Response(text="here")

    server = web.Server(answer)
    listener = await listen(server, "127.0.0.1", 0, None, client_connections=ClientConnections(), most=8)
    port = listener.sockets[0].getsockname()[1]
    idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(40)]
    await asyncio.sleep(0.05)
    async with (
        aiohttp.ClientSession() as session,
        asyncio.timeout(30),
        session.get(f"http://127.0.0.1:{port}/") as reply,
    ):
        assert await reply.text() == "here"
    assert len(server.connections) <= 8

    for _, writer in idle:
        writer.close()
    listener.close()
    await server.shutdown()


async def test_a_connection_that_asks_is_kept_before_those_that_do_not() -> None:
    """The API server keeps its connections open, and others open many meanwhile."""
    client_connections = ClientConnections()

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        client_connections.note(request.protocol)
        return web.Response(text=str(id(request.protocol)))

    server = web.Server(answer)
    listener = await listen(server, "127.0.0.1", 0, None, client_connections=client_connections, most=8)
    port = listener.sockets[0].getsockname()[1]

    async def ask(session: aiohttp.ClientSession) -> str:
        async with asyncio.timeout(30), session.get(f"http://127.0.0.1:{port}/") as reply:
            return await reply.text()

    async with aiohttp.ClientSession() as session:
        connection = await ask(session)
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(40)]
        await asyncio.sleep(0.05)
        assert await ask(session) == connection

    for _, writer in idle:
        writer.close()
    listener.close()
    await server.shutdown()
